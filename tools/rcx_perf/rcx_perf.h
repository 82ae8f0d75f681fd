/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_perf: times and checks collectives and messages. It calls the library by
 * its public header alone, so that what it says is what a user gets. What ranks
 * give and get it takes from the rows of core/sched/coll.c, compiled in.
 *
 *   main.c     main: the rows of a run, one per vector size
 *   options.c  the command line
 *   launch.c   what is known of the launcher
 *   colls.c    the collectives, and messages: one table
 *   layout.c   what lies where in a rank's buffers
 *   algos.c    the algorithms that --algo all tries
 *   types.c    elements: names, formats, values in memory
 *   check.c    data, and the serial reduction they are checked with
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
    CLASS_STRUCT /* a char and a double: a type of the user's */
};

/* Of a real, of the parts of a complex, of the number in a pair. */
enum perf_format {
    FORMAT_NONE,
    FORMAT_FLOAT16,
    FORMAT_BFLOAT16,
    FORMAT_FLOAT,
    FORMAT_DOUBLE,
    FORMAT_LONG_DOUBLE,
    FORMAT_SHORT,
    FORMAT_INT,
    FORMAT_LONG
};

struct perf_type {
    const char *name;
    rcx_datatype_t type; /* CLASS_STRUCT: none before there is a context */
    enum perf_class class;
    enum perf_format format;
    size_t bytes;  /* of one element in an array */
    size_t second; /* offset of the imaginary part or the index */
};

struct perf_op {
    const char *name;
    rcx_op_t op; /* PERF_OP_USER: none before there is a context */
};

enum { PERF_OP_USER = 0 };

/* An element outside memory; which members count depends on the class. */
struct perf_value {
    long double real, imag; /* reals, complexes; real: the number of a pair,
                               a struct's double */
    uint64_t word;          /* integers, extended to 64 bits; bool; byte; a
                               struct's char */
    int index;              /* of a pair */
};

/* Both tables end with a NULL name. */
extern const struct perf_type perf_types[];
extern const struct perf_op perf_ops[];

enum { PERF_TEXT = 96 };

/* Create the type and the op of the user's, where the options have them. */
struct perf_job;
rcx_status_t perf_types_create(struct perf_job *job);

void perf_value_store(const struct perf_type *t, void *at,
                      const struct perf_value *v);
struct perf_value perf_value_load(const struct perf_type *t, const void *at);
bool perf_value_equal(const struct perf_type *t, const struct perf_value *a,
                      const struct perf_value *b);
void perf_value_print(const struct perf_type *t, const struct perf_value *v,
                      char text[PERF_TEXT]);
/* Up to which magnitude the format holds every integer. */
long perf_format_exact(enum perf_format format);
/* sum / ranks, rounded once in the element's precision. */
long double perf_format_divide(enum perf_format format, long double sum,
                               int ranks);

/* ---- Options ------------------------------------------------------------- */

/* A call's arguments. */
struct perf_call {
    const void *in; /* NULL: the rank gives nothing */
    void *out;
    size_t count;                  /* of the vector, or of each block */
    const size_t *counts, *displs; /* of blocks, of vectors of a list */
    size_t n;                      /* vectors of the list */
    const void *const *ins;
    void *const *outs;
    int partner; /* messages: receiver and sender */
    bool sends;  /* this one goes there */
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    rcx_comm_t *comm;
};

enum perf_form { FORM_BLOCKING, FORM_NONBLOCKING, FORM_PERSISTENT };

struct perf_coll {
    const char *name;
    enum rcx_coll row;
    bool irregular; /* a count for each block is passed */
    rcx_status_t (*call)(const struct perf_call *c, enum perf_form form,
                         rcx_request_t **request_p);
    bool is_messages; /* of two ranks each, one way and back */
    int vectors;      /* that it takes at once, unless told otherwise; 0: it has
                         no list */
};

/* The table ends with a NULL name. */
extern const struct perf_coll perf_colls[];

enum perf_mode { MODE_SYNC, MODE_LOOP, MODE_REPORT };

/* What a mode says of a row's times. */
enum { PERF_FIGURES = 4 };
struct perf_mode_row {
    const char *name;
    const char *figures[PERF_FIGURES]; /* NULL: none */
    int typical;                       /* the figure that a bandwidth is of */
    bool has_p99;
    const char *text; /* what they are, for people */
};
extern const struct perf_mode_row perf_modes[];

enum perf_output { OUTPUT_TABLE, OUTPUT_CSV, OUTPUT_JSON };

enum { PERF_SEGMENTS = 32 };

struct perf_options {
    const struct perf_coll *coll;
    const char *algo; /* NULL: not given; of those that --algo all tries, one */
    bool all;         /* --algo all */
    size_t segments[PERF_SEGMENTS]; /* that --algo all tries */
    int segment_count;
    size_t min_bytes, max_bytes;
    unsigned factor;
    const struct perf_type *type;
    const struct perf_op *op;
    int root;
    bool in_place;
    bool uneven;
    bool gaps;
    int vectors; /* of a list; messages at once */
    enum perf_form form;
    enum perf_mode mode;
    long iterations; /* 0: as many as fit into seconds */
    long warmup;
    double seconds;
    bool check;
    long check_iterations; /* 0: as many as are cheap */
    bool inject;
    enum perf_output output;
};

/* Of the launcher, before the library knows; 0 where there is none. */
int perf_launched_rank(void);
/* Exit where all ranks do and rank 0 says why. */
void perf_exit(int status) __attribute__((noreturn));
/* Leaves the program where there is nothing to run. */
void perf_options_parse(int argc, char **argv, struct perf_options *o);
/* Algorithm number i of coll; NULL: there are no more. */
const char *perf_algorithm(const struct perf_coll *coll, int i);
const char *perf_form_name(enum perf_form form);
/* "-" where the collective has none. */
const char *perf_op_name(const struct perf_options *o);

/* ---- A run --------------------------------------------------------------- */

struct perf_job {
    struct perf_options options;
    rcx_context_t *context;
    rcx_comm_t *comm;
    int rank, size;
    rcx_datatype_t type; /* of the context at hand */
    rcx_op_t op;
    char *send, *recv; /* what the largest row needs, and a guard behind */
    char *tiles[2];    /* data for timed iterations */
    /* blocks of the row at hand, or vectors: their lengths, where they begin in
     * buffers, and where they would side by side, with the end of all */
    size_t *counts, *displs, *starts;
    const void **ins; /* vectors' addresses */
    void **outs;
    rcx_request_t **requests; /* of what is one operation */
    int segment;              /* which of the options' */
    double *times;            /* of the row's iterations */
    double *slowest;          /* rank 0: over all ranks */
    double *copies;           /* one element a rank */
    char *reports;            /* likewise */
    long capacity;            /* of times and slowest */
    double init_seconds,
        init_bytes; /* that rcx_init() took: the most of ranks */
    bool wrong;     /* an element was, here or anywhere */
    bool begun;     /* the report */
    bool last;      /* of the contexts */
};

enum perf_verdict { VERDICT_NONE, VERDICT_OK, VERDICT_WRONG };

/* One size: what to do, and what came out. */
struct perf_row {
    size_t count; /* elements of the vector, or of a block */
    size_t bytes;
    size_t reach; /* elements of this rank's largest buffer */
    char method[80];
    long iterations, checked;
    double figures[PERF_FIGURES]; /* seconds, as the mode has them */
    enum perf_verdict verdict;
};

/* ---- What lies where ----------------------------------------------------- */

/* What a rank gives, or gets: pieces of a buffer, in the order of ranks. */
struct perf_side {
    char *base; /* NULL: nothing */
    int pieces;
    const size_t *at, *counts; /* of each, in elements */
};
struct perf_sides {
    struct perf_side given, gotten;
    bool in_place;
};

/* A list of vectors, which are one. */
bool perf_is_list(const struct perf_coll *coll);
/* Callers say where its blocks lie, or its vectors. */
bool perf_has_places(const struct perf_coll *coll);
/* Into how many the vector is cut: blocks, vectors; 0: it is not. */
int perf_pieces(const struct perf_job *job);
/* The partner of a rank, of an even number: half of all ranks away. */
int perf_partner(const struct perf_job *job, int rank);
/* Elements of a rank's block i: all the same, or so that a third has none. */
size_t perf_block_count(const struct perf_job *job, size_t count, int rank,
                        int i);
/* Cut a row of that count into the job's blocks; returns how many elements a
 * buffer has. */
size_t perf_cut(struct perf_job *job, size_t count);
/* Those of the row that is cut. */
struct perf_sides perf_sides(const struct perf_job *job,
                             const struct perf_row *row);
struct perf_call perf_call_of(const struct perf_job *job,
                              const struct perf_row *row);
/* For the row's expect(). */
struct rcx_shape perf_shape(const struct perf_job *job,
                            const struct perf_row *row);

/* ---- Data and their check ------------------------------------------------ */

/* What every rank gives in one round; each element depends on all four. */
struct perf_data {
    const struct perf_type *type;
    rcx_op_t op;
    int ranks;
    uint64_t round;
};

void perf_data_fill(const struct perf_data *d, int rank, void *dst,
                    size_t count);
/* What is expected there: one rank's after another. */
struct perf_value perf_data_reduce(const struct perf_data *d,
                                   struct rcx_expected e);

/* The checked iterations of a row: sets verdict and checked. */
rcx_status_t perf_row_check(struct perf_job *job, struct perf_row *row);

/* ---- Operations and timing ----------------------------------------------- */

enum { PERF_GUARD = 64 }; /* bytes behind each buffer that nobody writes */

/* What one operation consists of, one after another; each of calls at once. */
int perf_turns(const struct perf_job *job);
int perf_calls(const struct perf_job *job);
/* The persistent requests of a row, whatever the form of the run; and away. */
rcx_status_t perf_prepare(struct perf_job *job, const struct perf_row *row);
rcx_status_t perf_drop(struct perf_job *job);
/* One operation in the form of the run, to its end. */
rcx_status_t perf_operate(struct perf_job *job, const struct perf_row *row);
/* Seconds, from some start on. */
double perf_now(void);
/* The largest value of all ranks, on all ranks; a barrier, too. */
rcx_status_t perf_agree(struct perf_job *job, double *value);
/* The timed iterations of a row. */
rcx_status_t perf_row_time(struct perf_job *job, struct perf_row *row);

/* ---- Reports, on rank 0 -------------------------------------------------- */

/* Rows of one algorithm, or of the first one. */
void perf_report_begin(const struct perf_job *job, const struct perf_row *rows,
                       int n);
void perf_report_row(const struct perf_job *job, const struct perf_row *row);
/* Where nothing was begun, nothing. */
void perf_report_end(const struct perf_job *job);

#endif
