/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts for tests: all ranks of a job in one process, over the simulated
 * network or over real UCX.
 */
#ifndef RCX_TESTS_SUPPORT_CONTEXT_H
#define RCX_TESTS_SUPPORT_CONTEXT_H

#include "sim/inproc.h"
#include "core/run/detect/detector.h"
#include "core/run/plan/cache.h"
#include "core/run/request/request.h"
#include "core/run/wait/progress.h"
#include "sim/network.h"

struct job {
    int size;
    rcx_context_t **contexts; /* by rank */
    struct rcx_inproc *inproc;
    struct rcx_sim *sim; /* NULL: real UCX */
    bool threaded;
    struct rcx_heap heap; /* of inproc */
    struct rcx_heap sim_heap;
};

static inline rcx_comm_t *world_of(const struct job *job, int rank)
{
    return rcx_world(job->contexts[rank]);
}

/* comm has failed, as far as its members ask. */
static inline void mark_failed(rcx_comm_t *comm)
{
    comm->state = RCX_COMM_FAILED;
    comm->status = RCX_ERR_COMM_FAILED;
}

struct job_options {
    const rcx_params_t *params;
    const struct rcx_tag_layout *layout; /* NULL: the usual one */
    bool ucx;                            /* else the simulated network */
    bool threaded; /* ranks' threads use the simulated network at once */
    uint64_t seed;
};

/* Open all ranks' contexts, on this thread. Returns the first error. */
rcx_status_t job_open(struct job *job, int size,
                      const struct job_options *options);
/* Finalize all, with a thread per rank; the first error. */
rcx_status_t job_close(struct job *job);
/* Finalize ranks whose worlds have failed, one after another. */
void job_abandon(struct job *job);
/* Of a job whose ranks have finalized. */
void job_free(struct job *job);

/* Call fn for every rank, each on a thread of its own; returns when all have.
 * A network that is simulated needs to be threaded. */
void job_each(struct job *job, void (*fn)(struct job *job, int rank, void *arg),
              void *arg);

/* From now on all ranks use algo, with its usual parameters, and segments of so
 * many bytes; SIZE_MAX: as the library chooses. For an algorithm by nodes each
 * two ranks share one, from 3 on; there is nothing to be forced for fewer. */
void job_force(struct job *job, const struct rcx_algo *algo,
               size_t segment_bytes);
/* The library chooses again. */
void job_unforce(struct job *job, enum rcx_coll coll);

/* Progress all ranks until each one's request is complete; the first error.
 * The requests stay with the caller. */
rcx_status_t job_wait(struct job *job, rcx_request_t *requests[]);

#endif
