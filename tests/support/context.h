/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts for tests: all ranks of a job in one process, over the simulated
 * network or over UCX.
 */
#ifndef RCX_TESTS_SUPPORT_CONTEXT_H
#define RCX_TESTS_SUPPORT_CONTEXT_H

#include "lines.h"
#include "inproc.h"
#include "core/run/detect/detector.h"
#include "core/run/plan/cache.h"
#include "core/run/request/request.h"
#include "core/run/wait/progress.h"
#include "sim/network.h"

struct job {
    int size;
    rcx_context_t **contexts; /* by rank */
    struct inproc *inproc;
    struct rcx_sim *sim; /* NULL: UCX */
    bool threaded;
    struct rcx_heap heap; /* used by inproc */
    struct rcx_heap sim_heap;
};

static inline rcx_comm_t *world_of(const struct job *job, int rank)
{
    return rcx_world(job->contexts[rank]);
}

/* Set comm's state to failed; nothing is logged or announced. */
static inline void mark_failed(rcx_comm_t *comm)
{
    comm->state = RCX_COMM_FAILED;
    comm->status = RCX_ERR_COMM_FAILED;
}

struct job_options {
    const rcx_params_t *params;
    const struct rcx_tag_layout *layout; /* NULL: RCX_TAG_LAYOUT */
    bool ucx;                            /* UCX, else the simulated network */
    bool threaded; /* several threads use the simulated network */
    uint64_t seed;
};

/* Open all ranks' contexts, on this thread. Returns the first error. */
rcx_status_t job_open(struct job *job, int size,
                      const struct job_options *options);
/* Finalize all ranks and free the job. Returns the first error. Uses a thread
 * per rank, unless the simulated network is not threaded. */
rcx_status_t job_close(struct job *job);
/* Finalize the ranks, whose worlds have failed, one after another. Frees the
 * job. */
void job_abandon(struct job *job);
/* Free a job whose ranks have finalized. */
void job_free(struct job *job);

/* From now on said[rank] has what each rank logs. */
void job_listen(struct job *job, struct lines said[]);
/* From now on nothing that ranks log is printed. */
void job_hush(struct job *job);

/* Call fn for every rank, each on its own thread, and join them. A simulated
 * network must be threaded. */
void job_each(struct job *job, void (*fn)(struct job *job, int rank, void *arg),
              void *arg);

/* From now on all ranks run algo for its collective, with default parameters
 * and segments of segment_bytes. SIZE_MAX: the library chooses the length. If
 * algo is by nodes, each pair of ranks shares a node; for 2 ranks or fewer
 * nothing is forced. */
void job_force(struct job *job, const struct rcx_algo *algo,
               size_t segment_bytes);
/* The library chooses the method again. */
void job_unforce(struct job *job, enum rcx_coll coll);

/* Progress all ranks until every request is complete. Returns the first error.
 * The caller keeps the requests. */
rcx_status_t job_wait(struct job *job, rcx_request_t *requests[]);

#endif
