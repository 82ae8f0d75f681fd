/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_tune measures the methods of collectives against each other and writes
 * rules for RCX_TUNING. It uses internals of the library: prices, and which
 * algorithms fit.
 *
 *   main.c     the command line; the loop over points
 *   measure.c  candidates of a point, and their times
 *   file.c     rules, and their file
 *   times.c    the file of all times
 *   map.c      a picture of the methods that the rules choose
 */
#ifndef RCX_TOOLS_RCX_TUNE_RCX_TUNE_H
#define RCX_TOOLS_RCX_TUNE_RCX_TUNE_H

#include "core/sched/tuning.h"
#include "rcx_perf/rcx_perf.h"

enum {
    TUNE_CANDIDATES = 192,
    TUNE_ROUNDS = 32,
    TUNE_ROOTS = 16,
    TUNE_SIZES = 64,
    TUNE_METHOD = 128
};

struct tune_options {
    const char *path;  /* file of rules; NULL: none is written */
    const char *svg;   /* file of the picture; NULL: none is drawn */
    const char *times; /* file to append all times to; NULL: none */
    bool again;    /* also measure collectives that the file has rules for */
    bool variants; /* also try parameters with values other than the usual
                         ones */
    size_t least, most;
    unsigned factor;
    int rounds;
    double seconds; /* of a candidate in a round */
    double ratio;   /* most price of a candidate over the lowest price */
    bool colls[RCX_COLL_COUNT];
};

/* A method at a point. */
struct tune_candidate {
    char method[TUNE_METHOD]; /* as rcx_request_method() prints it */
    char rule[TUNE_METHOD];   /* as written in a rule, valid for other sizes as
                                 well */
    rcx_request_t *requests[TUNE_ROOTS]; /* one for each root */
    int roots;                           /* 1: the collective has no root */
    double times[TUNE_ROUNDS], seconds;  /* of rounds, and their median */
    int rounds;                          /* number of rounds that have been
                                           timed */
    bool is_out;                         /* excluded from further rounds */
};

/* A collective and a size. */
struct tune_point {
    const struct perf_coll *coll;
    size_t bytes; /* of the vector, or of a block */
    struct tune_candidate candidates[TUNE_CANDIDATES];
    int count; /* the first candidate is RCX's choice */
    int best;
};

struct tune_job {
    struct tune_options options;
    rcx_context_t *context;
    rcx_comm_t *world;
    rcx_comm_t *comms[TUNE_CANDIDATES]; /* one for each candidate; NULL: not
                                           created yet */
    int rank, size, nodes, per_node;
    char *in, *out;
};

/* Store the sizes to measure, the shortest first, and return their number. A
 * barrier has one size. */
int tune_sizes(const struct tune_job *job, const struct perf_coll *coll,
               size_t sizes[TUNE_SIZES]);
/* The form of a collective with equal counts and one vector. NULL: there is
 * none. */
const struct perf_coll *tune_coll_of(enum rcx_coll row);

/* ---- Measuring ----------------------------------------------------------- */

/* The shape of a call at the point, for the choice of a method. */
struct rcx_shape tune_shape(const struct tune_job *job,
                            const struct tune_point *point);
/* Find the candidates of the point and measure them. All ranks get the same
 * times. */
rcx_status_t tune_measure(struct tune_job *job, struct tune_point *point);

/* ---- The file ------------------------------------------------------------ */

/* Whether there is no such file yet, or one of rules; else an error is
 * printed. */
bool tune_file_check(const struct tune_job *job);
/* Whether the file has rules of a collective for these numbers of ranks and
 * nodes. */
bool tune_file_has(const struct tune_job *job, const struct perf_coll *coll);
/* Replace the rules of one collective for these numbers of ranks and nodes by
 * rules for the measured points, ordered by size. False: it failed, which is
 * printed. */
bool tune_file_put(const struct tune_job *job, const struct tune_point points[],
                   int n);
/* Print the line "machine ...", of messages between nodes. False: it failed. */
bool tune_machine_print(FILE *to, const struct rcx_link *far);
bool tune_file_has_machine(const struct tune_job *job);
bool tune_file_put_machine(const struct tune_job *job,
                           const struct rcx_link *far);

/* Append the times of all candidates of a point to the file of --times. False:
 * it failed, which is printed. */
bool tune_times_put(const struct tune_job *job, const struct tune_point *point);
bool tune_times_put_machine(const struct tune_job *job,
                            const struct rcx_link *far);

/* Draw the picture of --svg. Returns the exit status. */
int tune_map(const struct tune_job *job);

#endif
