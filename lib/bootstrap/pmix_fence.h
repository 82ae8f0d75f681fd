/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fence over all processes of the job that ends in time.
 *
 * PMIx's own PMIX_TIMEOUT is not used: servers crashed where several clients of
 * one fence timed out. So a fence that is given up stays open at the server,
 * and its end, when the others come or leave, is told to this structure, which
 * therefore lives as long as the process.
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
    pthread_mutex_t mutex; /* what follows */
    pthread_cond_t ended;
    bool is_open; /* PMIx will tell its end */
    pmix_status_t status;
};

/* What to do while waiting, until it says no; NULL is nothing. */
struct rcx_pmix_work {
    bool (*go_on)(void *arg);
    void *arg;
};

void rcx_pmix_fence_init(struct rcx_pmix_fence *fence);

/* Whether one that was given up has not ended yet. No other may begin then. */
bool rcx_pmix_fence_is_open(struct rcx_pmix_fence *fence);

/*
 * Returns once all processes of nspace have called it; with_data: and what they
 * have put is here. PMIX_ERR_TIMEOUT: given up at until_ns (of rcx_now_ns());
 * PMIX_OPERATION_IN_PROGRESS: because work said so, as soon after that as the
 * server has ended the fence, or 0.3 s. work is done until the return.
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
