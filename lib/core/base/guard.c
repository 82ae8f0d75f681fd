/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard of a context: a lock that a forked child recognises.
 */
#include "core/base/guard.h"

#include <sched.h>
#include <sys/mman.h>

struct rcx_guard *rcx_guard_create(void)
{
    struct rcx_guard *g = mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (g == MAP_FAILED)
        return NULL;
    madvise(g, sizeof *g, MADV_WIPEONFORK);
    g->maker = rcx_this_thread();
    rcx_guard_leave(g);
    return g;
}

void rcx_guard_destroy(struct rcx_guard *g)
{
    if (g)
        munmap(g, sizeof *g);
}

/* Returns what the word was. A child's word does not change. */
static unsigned take(struct rcx_guard *g)
{
    const unsigned word = atomic_exchange_explicit(&g->word, RCX_GUARD_HELD,
                                                   memory_order_acquire);

    if (word == RCX_GUARD_FREE)
        atomic_store_explicit(&g->owner, rcx_this_thread(),
                              memory_order_relaxed);
    else if (word == RCX_GUARD_WIPED)
        atomic_store_explicit(&g->word, RCX_GUARD_WIPED, memory_order_relaxed);
    return word;
}

bool rcx_guard_try(struct rcx_guard *g)
{
    return take(g) == RCX_GUARD_FREE;
}

bool rcx_guard_return(struct rcx_guard *g)
{
    unsigned word = take(g);

    if (word != RCX_GUARD_HELD)
        return word == RCX_GUARD_FREE;
    atomic_fetch_add_explicit(&g->waiting, 1, memory_order_relaxed);
    while ((word = take(g)) == RCX_GUARD_HELD)
        sched_yield();
    atomic_fetch_sub_explicit(&g->waiting, 1, memory_order_relaxed);
    return word == RCX_GUARD_FREE;
}

static rcx_status_t refuse_child(struct rcx_guard *g, const struct rcx_log *log)
{
    atomic_store_explicit(&g->word, RCX_GUARD_WIPED, memory_order_relaxed);
    return rcx_fail(log, RCX_ERR_FORKED,
                    "called in a forked child: only the process that called "
                    "rcx_init may use its context");
}

rcx_status_t rcx_guard_enter_slowly(struct rcx_guard *g, unsigned word,
                                    const struct rcx_log *log)
{
    if (word == RCX_GUARD_WIPED)
        return refuse_child(g, log);
    if (rcx_guard_is_mine(g))
        return rcx_fail(log, RCX_ERR_BUSY,
                        "this thread is in a call of RCX already: called by a "
                        "user-defined op, for example, or after a call that "
                        "ended by longjmp() or an exception");
    return rcx_guard_return(g) ? RCX_OK : refuse_child(g, log);
}

void rcx_guard_pass(struct rcx_guard *g)
{
    rcx_guard_leave(g);
    sched_yield();
    rcx_guard_return(g);
}
