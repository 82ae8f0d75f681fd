/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences with a deadline, requests that do not wait, and explanations of PMIx
 * errors. It does not prevent concurrent fences of a process; see pmix.c.
 */
#include "bootstrap/pmix_fence.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "core/base/clock.h"

enum {
    LONGEST_SLEEP_NS = 100 * 1000 * 1000,
    LONGEST_STAY_NS = 300 * 1000 * 1000,
    RANKS_NAMED = 8
};

void rcx_pmix_fence_init(struct rcx_pmix_fence *fence)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&fence->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&fence->ended, &attr);
    pthread_condattr_destroy(&attr);
}

bool rcx_pmix_fence_is_open(struct rcx_pmix_fence *fence)
{
    bool is_open;

    pthread_mutex_lock(&fence->mutex);
    is_open = fence->is_open;
    pthread_mutex_unlock(&fence->mutex);
    return is_open;
}

/* The server has ended the fence. Runs on PMIx's thread. */
static void end(pmix_status_t status, void *arg)
{
    struct rcx_pmix_fence *fence = arg;

    pthread_mutex_lock(&fence->mutex);
    fence->status = status;
    fence->is_open = false;
    pthread_cond_signal(&fence->ended);
    pthread_mutex_unlock(&fence->mutex);
}

/* Sleep until the fence ends, or until ns. The mutex is held. */
static void sleep_until(struct rcx_pmix_fence *fence, uint64_t ns)
{
    const struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u),
                                   .tv_nsec = (long)(ns % 1000000000u)};

    pthread_cond_timedwait(&fence->ended, &fence->mutex, &until);
}

/* Wait until the fence ends, until_ns, or until work returns false. In the last
 * case, wait 0.3 s longer for the fence to end: PMIx servers (4.2.2) free a
 * fence twice, and crash, if two of its ranks exit at once. The server ends a
 * fence when each rank has arrived or exited, but not if one is stopped. */
static pmix_status_t wait_for(struct rcx_pmix_fence *fence, uint64_t until_ns,
                              const struct rcx_pmix_work *work)
{
    bool goes_on = true;
    pmix_status_t rc;
    uint64_t now;

    pthread_mutex_lock(&fence->mutex);
    while (fence->is_open && (now = rcx_now_ns()) < until_ns) {
        if (!work->go_on || work->is_rare)
            sleep_until(fence, until_ns - now < LONGEST_SLEEP_NS
                                   ? until_ns
                                   : now + LONGEST_SLEEP_NS);
        if (!work->go_on)
            continue;
        pthread_mutex_unlock(&fence->mutex);
        if (!work->go_on(work->arg) && goes_on) {
            goes_on = false;
            until_ns = now + LONGEST_STAY_NS;
        }
        if (!work->is_rare)
            sched_yield();
        pthread_mutex_lock(&fence->mutex);
    }
    rc = !goes_on          ? PMIX_OPERATION_IN_PROGRESS
         : !fence->is_open ? fence->status
                           : PMIX_ERR_TIMEOUT;
    pthread_mutex_unlock(&fence->mutex);
    return rc;
}

pmix_status_t rcx_pmix_fence(struct rcx_pmix_fence *fence, const char *nspace,
                             bool with_data, uint64_t until_ns,
                             const struct rcx_pmix_work *work)
{
    pmix_info_t collect;
    pmix_proc_t all;
    pmix_status_t rc;

    PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &with_data, PMIX_BOOL);
    fence->is_open = true;
    rc = PMIx_Fence_nb(&all, 1, &collect, 1, end, fence);
    PMIX_INFO_DESTRUCT(&collect);
    if (rc == PMIX_SUCCESS)
        return wait_for(fence, until_ns, work);
    fence->is_open = false; /* end() is not called */
    return rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc;
}

pmix_status_t rcx_pmix_get_at_once(const char *nspace, int rank,
                                   const char *key, pmix_value_t **value_p)
{
    const bool yes = true;
    pmix_info_t at_once;
    pmix_proc_t peer;
    pmix_status_t rc;

    PMIX_LOAD_PROCID(&peer, nspace, (pmix_rank_t)rank);
    PMIX_INFO_LOAD(&at_once, PMIX_IMMEDIATE, &yes, PMIX_BOOL);
    rc = PMIx_Get(&peer, key, &at_once, 1, value_p);
    PMIX_INFO_DESTRUCT(&at_once);
    return rc;
}

static bool has_put(const char *nspace, int rank, const char *key)
{
    pmix_value_t *value = NULL;
    const pmix_status_t rc = rcx_pmix_get_at_once(nspace, rank, key, &value);

    if (rc == PMIX_SUCCESS)
        PMIX_VALUE_RELEASE(value);
    return rc == PMIX_SUCCESS;
}

void rcx_pmix_name_missing(const char *nspace, const char *key,
                           const int ranks[], int n, char *text, size_t bytes)
{
    size_t used = 0;
    int named = 0;

    for (int i = 0; ranks && i < n && named <= RANKS_NAMED; i++) {
        if (has_put(nspace, ranks[i], key) || named++ == RANKS_NAMED)
            continue;
        used += (size_t)snprintf(text + used, bytes - used, "%srank %d",
                                 used ? ", " : "", ranks[i]);
    }
    if (named > 0)
        snprintf(text + used, bytes - used, "%s did not call rcx_init",
                 named > RANKS_NAMED ? " and more" : "");
    else
        snprintf(text, bytes, "PMIx does not report which ranks are missing%s",
                 ranks ? "; all ranks of this node have called rcx_init" : "");
}

int rcx_pmix_first_with(const char *nspace, const char *key, const int ranks[],
                        int n)
{
    for (int i = 0; i < n; i++)
        if (has_put(nspace, ranks[i], key))
            return ranks[i];
    return -1;
}

static const char *hint_for(pmix_status_t rc)
{
    switch (rc) {
    case PMIX_ERR_PARTIAL_SUCCESS:
        return "another rank has left the job; see its error messages";
    case PMIX_ERR_LOST_CONNECTION:
    case PMIX_ERR_UNREACH:
    case PMIX_ERR_COMM_FAILURE:
        return "the launcher's PMIx server is gone; see the launcher's "
               "messages";
    case PMIX_ERR_TIMEOUT:
    case PMIX_ERR_NOT_FOUND:
        return "do all ranks create the same contexts in the same order?";
    default: return "rcx_info --launch prints what the launcher provides";
    }
}

rcx_status_t rcx_pmix_fail(const struct rcx_log *log, const char *call,
                           pmix_status_t rc)
{
    const rcx_status_t status = rc == PMIX_ERR_NOMEM     ? RCX_ERR_NOMEM
                                : rc == PMIX_ERR_TIMEOUT ? RCX_ERR_TIMEOUT
                                                         : RCX_ERR_LAUNCH;

    return rcx_fail(log, status, "%s failed with %s: %s", call,
                    PMIx_Error_string(rc), hint_for(rc));
}
