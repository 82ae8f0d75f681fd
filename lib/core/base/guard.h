/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard of a context: one thread at a time is inside, and never a forked
 * child. The lock is in a page that the kernel clears in a child, so one
 * exchange of a word answers both questions.
 *
 * A thread that waits inside passes the guard to other threads that want it, so
 * different communicators make progress concurrently.
 */
#ifndef RCX_CORE_BASE_GUARD_H
#define RCX_CORE_BASE_GUARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/log.h"

enum { RCX_GUARD_WIPED, RCX_GUARD_FREE, RCX_GUARD_HELD };

struct rcx_guard {
    _Atomic unsigned word;
    _Atomic unsigned waiting; /* threads that wait for it */
    _Atomic uintptr_t owner;  /* the thread that holds it; else 0 */
    uintptr_t maker;
};

/* Identifies the calling thread, without a call; never 0. */
static inline uintptr_t rcx_this_thread(void)
{
#if __has_builtin(__builtin_thread_pointer)
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

/* NULL: no memory. */
struct rcx_guard *rcx_guard_create(void);
void rcx_guard_destroy(struct rcx_guard *g); /* NULL is allowed */

rcx_status_t rcx_guard_enter_slowly(struct rcx_guard *g, unsigned word,
                                    const struct rcx_log *log);

/*
 * RCX_ERR_FORKED in a child; RCX_ERR_BUSY on a thread that holds it already, as
 * in a user's op. Both are logged.
 */
static inline rcx_status_t rcx_guard_enter(struct rcx_guard *g,
                                           const struct rcx_log *log)
{
    const unsigned word = atomic_exchange_explicit(&g->word, RCX_GUARD_HELD,
                                                   memory_order_acquire);

    if (__builtin_expect(word != RCX_GUARD_FREE, 0))
        return rcx_guard_enter_slowly(g, word, log);
    atomic_store_explicit(&g->owner, rcx_this_thread(), memory_order_relaxed);
    return RCX_OK;
}

/* The same where no other thread ever enters: needs no exchange. */
static inline rcx_status_t rcx_guard_enter_alone(struct rcx_guard *g,
                                                 const struct rcx_log *log)
{
    const unsigned word = atomic_load_explicit(&g->word, memory_order_relaxed);

    if (__builtin_expect(word != RCX_GUARD_FREE, 0))
        return rcx_guard_enter_slowly(g, word, log);
    atomic_store_explicit(&g->word, RCX_GUARD_HELD, memory_order_relaxed);
    atomic_store_explicit(&g->owner, rcx_this_thread(), memory_order_relaxed);
    return RCX_OK;
}

static inline void rcx_guard_leave(struct rcx_guard *g)
{
    atomic_store_explicit(&g->owner, 0, memory_order_relaxed);
    atomic_store_explicit(&g->word, RCX_GUARD_FREE, memory_order_release);
}

static inline bool rcx_guard_is_wanted(const struct rcx_guard *g)
{
    return atomic_load_explicit(&g->waiting, memory_order_relaxed) > 0;
}

/* Enter if it is free. */
bool rcx_guard_try(struct rcx_guard *g);

/* Enter again, after leaving within a call. False: this is a child, forked
 * meanwhile. */
bool rcx_guard_return(struct rcx_guard *g);

/* Leave, let other threads run, and enter again. */
void rcx_guard_pass(struct rcx_guard *g);

/* Whether this thread holds it. */
static inline bool rcx_guard_is_mine(const struct rcx_guard *g)
{
    return atomic_load_explicit(&g->owner, memory_order_relaxed) ==
           rcx_this_thread();
}

/* Whether this is a child of the process that made the guard. */
static inline bool rcx_guard_is_forked(const struct rcx_guard *g)
{
    return atomic_load_explicit(&g->word, memory_order_relaxed) ==
           RCX_GUARD_WIPED;
}

#endif
