/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_perf times and checks collectives and messages. It calls the library by
 * its public header only, so its times are those that a user gets. Operands and
 * expected results of each collective come from the rows of core/sched/coll.c,
 * which is compiled in.
 *
 *   main.c     main; the rows of a run, one per vector size
 *   options.c  the command line
 *   launch.c   the rank as the launcher sets it in the environment
 *   colls.c    the table of collectives, and messages
 *   layout.c   the layout of a rank's buffers
 *   algos.c    the algorithms that --algo all tries
 *   types.c    elements: names, formats, values in memory
 *   check.c    operands, and the serial reduction that results are checked with
 *   run.c      one operation in its three forms; timing
 *   report.c   table, CSV, JSON
 */
#ifndef RCX_TOOLS_RCX_PERF_RCX_PERF_H
#define RCX_TOOLS_RCX_PERF_RCX_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rcx/rcx.h>

#include "core/sched/algo.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2 };

/* ---- Types and values ---------------------------------------------------- */

enum perf_class {
    CLASS_SIGNED,
    CLASS_UNSIGNED,
    CLASS_BOOL,
    CLASS_BYTE,
    CLASS_REAL,
    CLASS_COMPLEX,
    CLASS_PAIR,
    CLASS_STRUCT, /* a user-defined type of a char and a double */
    CLASS_EXACT   /* an exact sum, of one number */
};

/* Format of a real, of each part of a complex, of a pair's number, and of a
 * struct's double. */
enum perf_format {
    FORMAT_NONE,
    FORMAT_FLOAT16,
    FORMAT_BFLOAT16,
    FORMAT_FLOAT,
    FORMAT_DOUBLE,
    FORMAT_LONG_DOUBLE,
    FORMAT_SHORT,
    FORMAT_INT,
    FORMAT_LONG,
    FORMAT_EXACT32,
    FORMAT_EXACT64
};

struct perf_type {
    const char *name;
    rcx_datatype_t type; /* CLASS_STRUCT: 0 here, created with each context */
    enum perf_class class;
    enum perf_format format;
    size_t bytes;  /* of one element in an array */
    size_t second; /* offset of the imaginary part or the index */
};

struct perf_op {
    const char *name;
    rcx_op_t op; /* PERF_OP_USER here, created with each context */
};

enum { PERF_OP_USER = 0 };

/* The value of an element, outside of a buffer. The class determines which
 * members are used. */
struct perf_value {
    long double real, imag; /* reals, complexes; real: the number of a pair, a
                               struct's double */
    uint64_t word;          /* integers, extended to 64 bits; bool; byte; a
                               struct's char */
    int index;              /* of a pair */
};

/* Both tables end with a NULL name. */
extern const struct perf_type perf_types[];
extern const struct perf_op perf_ops[];

enum { PERF_TEXT = 96 };

/* Create the user-defined type and op if the options name them. */
struct perf_job;
rcx_status_t perf_types_create(struct perf_job *job);

void perf_value_store(const struct perf_type *t, void *at,
                      const struct perf_value *v);
struct perf_value perf_value_load(const struct perf_type *t, const void *at);
bool perf_value_equal(const struct perf_type *t, const struct perf_value *a,
                      const struct perf_value *b);
void perf_value_print(const struct perf_type *t, const struct perf_value *v,
                      char text[PERF_TEXT]);
/* The magnitude up to which the format holds every integer. */
long perf_format_exact(enum perf_format format);
/* sum / ranks in the element's precision. The 16-bit formats are rounded from
 * float. */
long double perf_format_divide(enum perf_format format, long double sum,
                               int ranks);

/* ---- Options ------------------------------------------------------------- */

/* Arguments of a call. */
struct perf_call {
    const void *in; /* NULL: the rank has no operand */
    void *out;
    size_t count;                  /* of the vector, or of each block */
    const size_t *counts, *displs; /* of blocks, or of the vectors of a list */
    size_t n;                      /* vectors of a list */
    const void *const *ins;
    void *const *outs;
    int partner; /* messages: the rank at the other end */
    bool sends;  /* messages: this rank sends, else it receives */
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    rcx_comm_t *comm;
};

enum perf_form { FORM_BLOCKING, FORM_NONBLOCKING, FORM_PERSISTENT };

struct perf_coll {
    const char *name;
    enum rcx_coll row;
    bool irregular; /* takes a count for each block */
    rcx_status_t (*call)(const struct perf_call *c, enum perf_form form,
                         rcx_request_t **request_p);
    bool is_messages; /* messages between pairs of ranks, there and back */
    int vectors;      /* default number of vectors of a list, or of concurrent
                         messages; 0: --vectors does not apply */
};

/* The table ends with a NULL name. */
extern const struct perf_coll perf_colls[];

enum perf_mode { MODE_SYNC, MODE_LOOP, MODE_REPORT };

/* Which figures a mode prints of a row's times. */
enum { PERF_FIGURES = 4 };
struct perf_mode_row {
    const char *name;
    const char *figures[PERF_FIGURES]; /* NULL: none */
    int typical;                       /* figure that gives the bandwidth */
    bool has_p99;
    const char *text; /* explanation, printed above the table */
};
extern const struct perf_mode_row perf_modes[];

enum perf_output { OUTPUT_TABLE, OUTPUT_CSV, OUTPUT_JSON };

enum { PERF_SEGMENTS = 32 };

struct perf_options {
    const struct perf_coll *coll;
    const char *algo; /* NULL: not given; --algo all: that of this context */
    bool all;         /* --algo all */
    size_t segments[PERF_SEGMENTS]; /* segment lengths for --algo all */
    int segment_count;
    size_t min_bytes, max_bytes;
    unsigned factor;
    const struct perf_type *type;
    const struct perf_op *op;
    int root;
    bool in_place;
    bool uneven;
    bool gaps;
    int vectors; /* of a list; concurrent messages */
    enum perf_form form;
    enum perf_mode mode;
    long iterations; /* 0: as many as fit into seconds */
    long warmup;
    double seconds;
    bool check;
    long check_iterations; /* 0: chosen by cost */
    bool inject;
    enum perf_output output;
};

/* The rank from the launcher's environment, known before rcx_init(); 0:
 * unknown. */
int perf_launched_rank(void);
/* Exit in a case that all ranks find. Ranks other than 0 wait for it to print,
 * if status is that of a failure, which ends the job. */
void perf_exit(int status) __attribute__((noreturn));
/* Parse the command line. Exits after a usage error, --help and --version. */
void perf_options_parse(int argc, char **argv, struct perf_options *o);
/* The name of algorithm number i of coll; NULL: there are no more. */
const char *perf_algorithm(const struct perf_coll *coll, int i);
const char *perf_form_name(enum perf_form form);
/* The name of the op; "-" if the collective has none. */
const char *perf_op_name(const struct perf_options *o);

/* ---- A run --------------------------------------------------------------- */

struct perf_job {
    struct perf_options options;
    rcx_context_t *context;
    rcx_comm_t *comm;
    int rank, size;
    rcx_datatype_t type; /* in the current context */
    rcx_op_t op;
    char *send, *recv; /* for the largest row, and a guard behind */
    char *tiles[2];    /* data for timed iterations */
    /* the blocks or vectors of the current row: lengths, offsets in buffers,
     * and offsets without gaps, followed by the sum of lengths */
    size_t *counts, *displs, *starts;
    const void **ins; /* addresses of vectors */
    void **outs;
    rcx_request_t **requests; /* of one operation */
    int segment;              /* index into the options' segments */
    double *times;            /* seconds, of the row's iterations */
    double *slowest;          /* rank 0: their maxima over ranks */
    double *copies;           /* scratch of perf_agree(), one element a rank */
    char *reports;            /* scratch of report(), one byte a rank */
    long capacity;            /* of times and slowest, in elements */
    double init_seconds,
        init_bytes; /* time and memory of rcx_init(): maxima over ranks */
    bool wrong;     /* an element was wrong, on any rank */
    bool begun;     /* the report has been begun */
    bool last;      /* this is the last context */
};

enum perf_verdict { VERDICT_NONE, VERDICT_OK, VERDICT_WRONG };

/* One vector size: its arguments and its results. */
struct perf_row {
    size_t count; /* elements of the vector, or of a block */
    size_t bytes;
    size_t reach; /* elements of each buffer of this rank */
    char method[80];
    long iterations, checked;
    double figures[PERF_FIGURES]; /* seconds; order as in the mode */
    enum perf_verdict verdict;
};

/* ---- Buffer layout ------------------------------------------------------- */

/* The operand or the result of a rank: pieces of a buffer, in the order of
 * ranks. */
struct perf_side {
    char *base; /* NULL: none */
    int pieces;
    const size_t *at, *counts; /* of each piece, in elements */
};
struct perf_sides {
    struct perf_side given, gotten;
    bool in_place;
};

/* Whether coll takes a list of vectors and reduces them as one. */
bool perf_is_list(const struct perf_coll *coll);
/* Whether callers pass displacements of blocks, or addresses of vectors. */
bool perf_has_places(const struct perf_coll *coll);
/* Number of blocks or vectors of an operation; 0: the vector is not divided. */
int perf_pieces(const struct perf_job *job);
/* The partner of a rank in messages, half of all ranks away. The number of
 * ranks is even. */
int perf_partner(const struct perf_job *job, int rank);
/* Elements of block i of a rank: count, or with --uneven 0, 1 or 2 times count.
 * Messages: all those for rank i. */
size_t perf_block_count(const struct perf_job *job, size_t count, int rank,
                        int i);
/* Lay out the blocks of a row of that count, in the job. Returns the elements
 * of each buffer. */
size_t perf_cut(struct perf_job *job, size_t count);
/* Operand and result of the row that perf_cut() has laid out. */
struct perf_sides perf_sides(const struct perf_job *job,
                             const struct perf_row *row);
struct perf_call perf_call_of(const struct perf_job *job,
                              const struct perf_row *row);
/* The shape that the collective's expect() takes. */
struct rcx_shape perf_shape(const struct perf_job *job,
                            const struct perf_row *row);

/* ---- Operands and their check -------------------------------------------- */

/* Parameters of the operands of all ranks in one round. Each element depends on
 * all four. */
struct perf_data {
    const struct perf_type *type;
    rcx_op_t op;
    int ranks;
    uint64_t round;
};

void perf_data_fill(const struct perf_data *d, int rank, void *dst,
                    size_t count);
/* The serial reduction: the expected element, combined in the order of
 * ranks. */
struct perf_value perf_data_reduce(const struct perf_data *d,
                                   struct rcx_expected e);

/* Run the checked iterations of a row. Sets verdict and checked. */
rcx_status_t perf_row_check(struct perf_job *job, struct perf_row *row);

/* ---- Operations and timing ----------------------------------------------- */

/* bytes behind each buffer that must stay unchanged */
enum { PERF_GUARD = 64 };

/* One operation is perf_turns() rounds in sequence, each of perf_calls()
 * concurrent calls. */
int perf_turns(const struct perf_job *job);
int perf_calls(const struct perf_job *job);
/* Create the persistent requests of a row, whatever the form of the run; and
 * free the requests. */
rcx_status_t perf_prepare(struct perf_job *job, const struct perf_row *row);
rcx_status_t perf_drop(struct perf_job *job);
/* Run one operation in the form of the run, to its end. */
rcx_status_t perf_operate(struct perf_job *job, const struct perf_row *row);
/* Seconds of the monotonic clock. */
double perf_now(void);
/* Set *value to its maximum over all ranks, on all ranks. Also a barrier. */
rcx_status_t perf_agree(struct perf_job *job, double *value);
/* Run the timed iterations of a row. Sets iterations and figures. */
rcx_status_t perf_row_time(struct perf_job *job, struct perf_row *row);

/* ---- Reports, on rank 0 -------------------------------------------------- */

/* Begin the report. rows: those of the first algorithm; they set column
 * widths. */
void perf_report_begin(const struct perf_job *job, const struct perf_row *rows,
                       int n);
void perf_report_row(const struct perf_job *job, const struct perf_row *row);
/* No effect if no report was begun. */
void perf_report_end(const struct perf_job *job);

#endif
