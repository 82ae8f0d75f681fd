/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_perf: times and checks the collectives. It knows the library by its
 * public header alone, so that what it says is what a user gets.
 *
 *   rcx_perf.c          main: the rows of a run, one per vector size
 *   rcx_perf_options.c  the command line
 *   rcx_perf_colls.c    the collectives: one table
 *   rcx_perf_algos.c    the algorithms that --algo all tries
 *   rcx_perf_types.c    elements: names, formats, values in memory
 *   rcx_perf_check.c    data, and the serial reduction they are checked with
 *   rcx_perf_run.c      one operation in its three forms; timing
 *   rcx_perf_report.c   table, CSV, JSON
 */
#ifndef RCX_PERF_H
#define RCX_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rcx/rcx.h>

enum { EXIT_WRONG = 1, EXIT_USAGE = 2 };

/* ---- Types and values ---------------------------------------------------- */

enum perf_class {
    CLASS_SIGNED,
    CLASS_UNSIGNED,
    CLASS_BOOL,
    CLASS_BYTE,
    CLASS_REAL,
    CLASS_COMPLEX,
    CLASS_PAIR
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
    rcx_datatype_t type;
    enum perf_class class;
    enum perf_format format;
    size_t bytes;  /* of one element in an array */
    size_t second; /* offset of the imaginary part or the index */
};

struct perf_op {
    const char *name;
    rcx_op_t op;
};

/* An element outside memory; which members count depends on the class. */
struct perf_value {
    long double real, imag; /* reals, complexes; real: the number of a pair */
    uint64_t word;          /* integers, extended to 64 bits; bool; byte */
    int index;              /* of a pair */
};

/* Both tables end with a NULL name. */
extern const struct perf_type perf_types[];
extern const struct perf_op perf_ops[];

enum { PERF_TEXT = 96 };

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
    const void *in;
    void *out;
    size_t count; /* BLOCKS_EQUAL: of a block */
    const size_t *recvcounts;
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    rcx_comm_t *comm;
};

enum perf_blocks { BLOCKS_NONE, BLOCKS_NEARLY_EQUAL, BLOCKS_EQUAL };

struct perf_coll {
    const char *name;
    const char *algos;       /* what its algorithms' symbols begin with */
    const char *variable;    /* by which the environment names the algorithm */
    bool root_gets;          /* the root alone does */
    enum perf_blocks blocks; /* into which the result is cut */
    rcx_status_t (*run)(const struct perf_call *c);
    rcx_status_t (*begin)(const struct perf_call *c, rcx_request_t **request_p);
    rcx_status_t (*prepare)(const struct perf_call *c,
                            rcx_request_t **request_p);
};

/* The table ends with a NULL name. */
extern const struct perf_coll perf_colls[];

enum perf_form { FORM_BLOCKING, FORM_NONBLOCKING, FORM_PERSISTENT };
enum perf_mode { MODE_SYNC, MODE_LOOP };
enum perf_output { OUTPUT_TABLE, OUTPUT_CSV, OUTPUT_JSON };

struct perf_options {
    const struct perf_coll *coll;
    const char *algo; /* NULL: not given; of those that --algo all tries, one */
    bool all;         /* --algo all */
    size_t min_bytes, max_bytes;
    unsigned factor;
    const struct perf_type *type;
    const struct perf_op *op;
    int root;
    bool in_place;
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
const char *perf_mode_name(enum perf_mode mode);

/* ---- A run --------------------------------------------------------------- */

struct perf_job {
    struct perf_options options;
    rcx_context_t *context;
    rcx_comm_t *comm;
    int rank, size;
    char *send, *recv;  /* max_bytes each, and a guard behind */
    char *tiles[2];     /* data for timed iterations */
    size_t *recvcounts; /* reduce_scatter: of the row at hand */
    double *times;      /* of the row's iterations */
    double *slowest;    /* rank 0: over all ranks */
    double *copies;     /* one element a rank */
    long capacity;      /* of times and slowest */
    double init_seconds,
        init_bytes; /* that rcx_init() took: the most of ranks */
    bool wrong;     /* an element was, here or anywhere */
    bool begun;     /* the report */
    bool last;      /* of the contexts */
};

enum perf_verdict { VERDICT_NONE, VERDICT_OK, VERDICT_WRONG };

/* One size: what to do, and what came out. */
struct perf_row {
    size_t count; /* elements of the vector */
    size_t bytes;
    size_t out_first; /* where this rank's result starts in the vector */
    size_t out_count;
    char method[80];
    rcx_request_t *request; /* persistent form */
    long iterations, checked;
    double median, p99, max;  /* seconds, sync: of the slowest rank's times */
    double mean, least, most; /* seconds, loop: over the ranks */
    enum perf_verdict verdict;
};

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
/* Element i of the reduction, one rank after another. */
struct perf_value perf_data_reduce(const struct perf_data *d, size_t i);

/* The checked iterations of a row: sets verdict and checked. */
rcx_status_t perf_row_check(struct perf_job *job, struct perf_row *row);

/* ---- Operations and timing ----------------------------------------------- */

enum { PERF_GUARD = 64 }; /* bytes behind each buffer that nobody writes */

/* Where this rank's operand lies. */
char *perf_operand(const struct perf_job *job);
/* The persistent request of a row, whatever the form of the run. */
rcx_status_t perf_prepare(struct perf_job *job, const struct perf_row *row,
                          rcx_request_t **request_p);
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
