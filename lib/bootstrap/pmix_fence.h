/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fence with a deadline, over all processes of the job.
 *
 * PMIX_TIMEOUT of PMIx is not used: servers crashed when several clients of one
 * fence timed out. So a fence whose deadline has passed stays open at the
 * server. It ends in this structure when the other processes arrive or exit, so
 * the structure must exist as long as the process.
 */
#ifndef RCX_BOOTSTRAP_PMIX_FENCE_H
#define RCX_BOOTSTRAP_PMIX_FENCE_H

#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/log.h"

struct rcx_pmix_fence {
    pthread_mutex_t mutex; /* protects the fields below */
    pthread_cond_t ended;
    bool is_open; /* whether the server has not ended the fence */
    pmix_status_t status;
};

/* Work to do while waiting. go_on returns false to end the wait. NULL: no
 * work. is_rare: it may be called once in 0.1 s, and the thread sleeps. */
struct rcx_pmix_work {
    bool (*go_on)(void *arg);
    void *arg;
    bool is_rare;
};

void rcx_pmix_fence_init(struct rcx_pmix_fence *fence);

/* Whether a fence whose deadline has passed is still open. Then no other fence
 * may begin. */
bool rcx_pmix_fence_is_open(struct rcx_pmix_fence *fence);

/*
 * Wait until all processes of nspace have called this; with_data: and until the
 * values that they have put have arrived. PMIX_ERR_TIMEOUT: rcx_now_ns() has
 * reached until_ns. PMIX_OPERATION_IN_PROGRESS: work returned false; since then
 * the server has ended the fence, or 0.3 s have passed. work is called until
 * the return.
 */
pmix_status_t rcx_pmix_fence(struct rcx_pmix_fence *fence, const char *nspace,
                             bool with_data, uint64_t until_ns,
                             const struct rcx_pmix_work *work);

/* Get a value that the server has of a rank, without waiting.
 * PMIX_ERR_NOT_FOUND: there is none yet. This function and the next one must
 * not be called by several threads of a process at once. */
pmix_status_t rcx_pmix_get_at_once(const char *nspace, int rank,
                                   const char *key, pmix_value_t **value_p);

/*
 * Store which of n ranks of this node have not put key, which all ranks put
 * before a fence with data. Before that fence ends, PMIx knows nothing of ranks
 * on other nodes. ranks NULL: not known.
 */
void rcx_pmix_name_missing(const char *nspace, const char *key,
                           const int ranks[], int n, char *text, size_t bytes);
/* The first of these ranks that has put key; -1: none. */
int rcx_pmix_first_with(const char *nspace, const char *key, const int ranks[],
                        int n);

/* Log an error of call with its likely cause. Returns the status for it. */
rcx_status_t rcx_pmix_fail(const struct rcx_log *log, const char *call,
                           pmix_status_t rc);

#endif
