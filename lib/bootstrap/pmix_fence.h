/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fence with a deadline over all processes of the job.
 *
 * PMIx's own PMIX_TIMEOUT is not used: servers crashed when several clients of
 * one fence timed out. So a fence whose deadline passes stays open at the
 * server, and ends in this structure when the others come or leave. The
 * structure therefore lives as long as the process.
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
    pthread_mutex_t mutex; /* protects what follows */
    pthread_cond_t ended;
    bool is_open; /* at the server */
    pmix_status_t status;
};

/* Work to do while waiting, until it returns false. NULL: none. */
struct rcx_pmix_work {
    bool (*go_on)(void *arg);
    void *arg;
};

void rcx_pmix_fence_init(struct rcx_pmix_fence *fence);

/* Whether a fence whose deadline has passed is still open. No other fence may
 * begin then. */
bool rcx_pmix_fence_is_open(struct rcx_pmix_fence *fence);

/*
 * Returns once all processes of nspace have called it; with_data: and what they
 * have put has arrived. PMIX_ERR_TIMEOUT: rcx_now_ns() has reached until_ns.
 * PMIX_OPERATION_IN_PROGRESS: work returned false, and the server has ended the
 * fence since, or 0.3 s have passed. work is called until the return.
 */
pmix_status_t rcx_pmix_fence(struct rcx_pmix_fence *fence, const char *nspace,
                             bool with_data, uint64_t until_ns,
                             const struct rcx_pmix_work *work);

/* What the server has of a rank: nothing is waited for, PMIX_ERR_NOT_FOUND
 * then. By one thread of the process at a time, as what follows. */
pmix_status_t rcx_pmix_get_at_once(const char *nspace, int rank,
                                   const char *key, pmix_value_t **value_p);

/*
 * Say which of n ranks of this node have not put key, which all put before a
 * fence with data; of other nodes' PMIx knows nothing before it has ended.
 * ranks NULL: nothing is known.
 */
void rcx_pmix_name_missing(const char *nspace, const char *key,
                           const int ranks[], int n, char *text, size_t bytes);

/* Log an error of call with what it may mean; the status for it. */
rcx_status_t rcx_pmix_fail(const struct rcx_log *log, const char *call,
                           pmix_status_t rc);

#endif
