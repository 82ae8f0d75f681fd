/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_tune: times the methods of collectives beside each other, and writes
 * rules for RCX_TUNING. It sees inside the library: prices, and what fits.
 *
 *   main.c     the command line; points one after another
 *   measure.c  the candidates of a point, in turns
 *   machine.c  what a message between nodes takes
 *   file.c     rules, and the file that they are in
 *   map.c      a picture of what the file makes of such a job
 */
#ifndef RCX_TOOLS_RCX_TUNE_RCX_TUNE_H
#define RCX_TOOLS_RCX_TUNE_RCX_TUNE_H

#include "core/sched/tuning.h"
#include "rcx_perf/rcx_perf.h"

enum {
    TUNE_CANDIDATES = 96,
    TUNE_ROUNDS = 32,
    TUNE_SIZES = 64,
    TUNE_METHOD = 128,
    TUNE_LONG = 1 << 20 /* of a message between nodes */
};

struct tune_options {
    const char *path; /* of the rules; NULL: none are written */
    const char *svg;  /* of their picture; NULL: none is drawn */
    bool again;       /* also what the file has */
    bool variants;    /* also parameters that are not the usual ones */
    size_t least, most;
    unsigned factor;
    int rounds;
    double seconds; /* of a candidate, in a round */
    double ratio;   /* to the lowest price, up to which one is tried */
    bool colls[RCX_COLL_COUNT];
};

/* A method, at a point. */
struct tune_candidate {
    char method[TUNE_METHOD]; /* as it is carried out there */
    char rule[TUNE_METHOD];   /* as a rule has it, for other sizes, too */
    rcx_request_t *request;
    double times[TUNE_ROUNDS], seconds; /* its median */
    int rounds;                         /* that it took part in */
    bool is_out;                        /* and takes in no more */
};

/* A collective and a size. */
struct tune_point {
    const struct perf_coll *coll;
    size_t bytes; /* of the vector, or of a block */
    struct tune_candidate candidates[TUNE_CANDIDATES];
    int count; /* the first one is what RCX chooses */
    int best;
};

struct tune_job {
    struct tune_options options;
    rcx_context_t *context;
    rcx_comm_t *world;
    rcx_comm_t *comms[TUNE_CANDIDATES]; /* one each, for it alone; NULL: there
                                           was no such candidate yet */
    int rank, size, nodes, per_node;
    char *in, *out;
};

/* Shortest first; a barrier has one. */
int tune_sizes(const struct tune_job *job, const struct perf_coll *coll,
               size_t sizes[TUNE_SIZES]);
/* The plain form of each collective that has methods; NULL: it has none. */
const struct perf_coll *tune_coll_of(enum rcx_coll row);

/* ---- Measuring ----------------------------------------------------------- */

/* A call of the point, as the choice of a method sees it. */
struct rcx_shape tune_shape(const struct tune_job *job,
                            const struct tune_point *point);
/* Fill in the candidates of the point with their times, on all ranks. */
rcx_status_t tune_measure(struct tune_job *job, struct tune_point *point);

/* What a message, a byte takes more between nodes; on all ranks. */
rcx_status_t tune_machine(const struct tune_job *job, double *far_alpha_p,
                          double *far_beta_p);

/* ---- The file ------------------------------------------------------------ */

/* Whether it has rules of a collective for a job of this kind. */
bool tune_file_has(const struct tune_job *job, const struct perf_coll *coll);
/* Put rules for measured points of one collective, from short to long ones, in
 * place of those that it had. False: that went wrong, and is said. */
bool tune_file_put(const struct tune_job *job, const struct tune_point points[],
                   int n);
bool tune_file_has_machine(const struct tune_job *job);
bool tune_file_put_machine(const struct tune_job *job, double far_alpha,
                           double far_beta);

/* The exit status. */
int tune_map(const struct tune_job *job);

#endif
