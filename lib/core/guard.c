/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/guard.h"

#include <sched.h>
#include <sys/mman.h>

struct rcx_guard *rcx_guard_create(void)
{
    struct rcx_guard *g = mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (g == MAP_FAILED)
        return NULL;
    madvise(g, sizeof *g, MADV_WIPEONFORK);
    rcx_guard_leave(g);
    return g;
}

void rcx_guard_destroy(struct rcx_guard *g)
{
    if (g)
        munmap(g, sizeof *g);
}

static unsigned take(struct rcx_guard *g)
{
    const unsigned word = atomic_exchange_explicit(&g->word, RCX_GUARD_HELD,
                                                   memory_order_acquire);

    if (word == RCX_GUARD_FREE)
        atomic_store_explicit(&g->owner, pthread_self(), memory_order_relaxed);
    return word;
}

bool rcx_guard_try(struct rcx_guard *g)
{
    return take(g) == RCX_GUARD_FREE;
}

static void take_patiently(struct rcx_guard *g)
{
    atomic_fetch_add_explicit(&g->waiting, 1, memory_order_relaxed);
    while (take(g) != RCX_GUARD_FREE)
        sched_yield();
    atomic_fetch_sub_explicit(&g->waiting, 1, memory_order_relaxed);
}

rcx_status_t rcx_guard_enter_slowly(struct rcx_guard *g, unsigned word,
                                    const struct rcx_log *log)
{
    if (word == RCX_GUARD_WIPED) {
        atomic_store_explicit(&g->word, RCX_GUARD_WIPED, memory_order_relaxed);
        return rcx_fail(log, RCX_ERR_FORKED,
                        "called in a forked child; only the process of "
                        "rcx_init may use its context");
    }
    if (atomic_load_explicit(&g->owner, memory_order_relaxed) ==
        pthread_self())
        return rcx_fail(log, RCX_ERR_BUSY,
                        "called from inside RCX, as by an op; this thread is "
                        "in a call already");
    take_patiently(g);
    return RCX_OK;
}

void rcx_guard_return(struct rcx_guard *g)
{
    if (take(g) != RCX_GUARD_FREE)
        take_patiently(g);
}

void rcx_guard_pass(struct rcx_guard *g)
{
    rcx_guard_leave(g);
    sched_yield();
    rcx_guard_return(g);
}
