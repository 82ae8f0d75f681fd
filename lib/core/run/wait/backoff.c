/* SPDX-License-Identifier: BSD-3-Clause */
/* Backoff of a rank that waits: when to spin, to yield, and to sleep. */
#include "core/run/wait/backoff.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "core/run/detect/poll.h"
#include "core/run/wait/progress.h"
#include "core/run/wait/sleep.h"

/* SPIN_POLLS take as long as yielding a core, unless the transport knows
 * better. After YIELDS yields it is checked
 * whether another task uses the core. */
enum { SPIN_POLLS = 40, YIELDS = 64 };
/* The kernel adds 50 us to the shortest sleep, except for real-time
 * processes; a much shorter sleep of such a process delays kernel timers by
 * a millisecond. */
enum {
    SLEEP_AFTER_NS = 5 * 1000 * 1000,
    SLEEP_LEAST_NS = 20 * 1000,
    SLEEP_MOST_NS = 1000 * 1000,
    SLEEP_PART = 64
};
/* Long yields form a series if each begins less than RECENT_TICKS, about 25 ms,
 * after the one before, with at most FEW_YIELDS between them. From the third
 * one on a waiting rank sleeps instead: 4 times as long as the yield took, then
 * 16, then 64 times. One or two say nothing: another rank of this core has
 * computed between two calls. */
enum { RECENT_TICKS = 1 << 26, FEW_YIELDS = 4, CONTENTION_MOST = 4 };
static const unsigned sleep_factor[CONTENTION_MOST + 1] = {0, 0, 4, 16, 64};

/* The core is shared if a good part of the yields switched to another task. */
static void check_core_exclusive(struct rcx_progress *p)
{
    struct rusage usage;
    long switches;

    if (++p->yields % YIELDS != 0 || getrusage(RUSAGE_THREAD, &usage) != 0)
        return;
    switches = usage.ru_nvcsw + usage.ru_nivcsw;
    p->core_exclusive = switches - p->switches < YIELDS / 4;
    p->switches = switches;
}

static void backoff_sleep(struct rcx_context *context, uint64_t waited_ns)
{
    const uint64_t part = waited_ns / SLEEP_PART;
    const struct timespec t = {.tv_nsec = part < SLEEP_LEAST_NS ? SLEEP_LEAST_NS
                                          : part > SLEEP_MOST_NS ? SLEEP_MOST_NS
                                                                 : (long)part};

    rcx_guard_leave(context->guard);
    nanosleep(&t, NULL);
    rcx_guard_return(context->guard);
}

static bool is_recent(const struct rcx_progress *p, uint64_t now)
{
    return now < p->contended_until + RECENT_TICKS;
}

/* How long sleeping is better than yielding, if at all. Not if a rank of this
 * job had the core: it gives it back when it waits. */
static void note_contention(struct rcx_progress *p, uint64_t before,
                            uint64_t took, bool was_rank)
{
    const bool again = is_recent(p, before) && !was_rank &&
                       p->yields - p->long_yield < FEW_YIELDS;

    p->long_yield = p->yields;
    if (!again)
        p->contention_level = 0;
    else if (p->contention_level < CONTENTION_MOST)
        p->contention_level++;
    p->contended_until =
        before + (1 + sleep_factor[p->contention_level]) * took;
}

static bool is_contended(const struct rcx_progress *p, uint64_t now)
{
    return p->is_oversubscribed && now < p->contended_until;
}

static void yield_core(struct rcx_context *context, uint64_t before)
{
    struct rcx_progress *p = &context->progress;
    struct rcx_transport *t = context->transport;
    const bool is_for_rank =
        is_recent(p, before) && t->ops->cores_needed && t->ops->cores_needed(t);
    int64_t took;

    sched_yield();
    took = (int64_t)(rcx_ticks() - before); /* two cores' clocks may differ */
    if (took > RCX_IDLE_TICKS)
        note_contention(p, before, (uint64_t)took, is_for_rank);
    if (p->is_oversubscribed)
        check_core_exclusive(p);
}

/* How long a row of empty polls lasts. Only needed if ranks outnumber cores. */
static uint64_t waited(const struct rcx_progress *p,
                       struct rcx_idle_polls *idle)
{
    const uint64_t now = p->is_oversubscribed ? rcx_now_ns() : 0;

    if (idle->since_ns == 0)
        idle->since_ns = now;
    return now - idle->since_ns;
}

/*
 * A rank that yields again and again takes CPU time from tasks that compute, so
 * a rank that has waited for long sleeps for a small part of that time. A rank
 * that yields to a computing task may get its core back only when that task's
 * time slice ends, some milliseconds later (Linux 6.18 charges the yield for
 * all of its time). A task that wakes up gets the core at once, so a rank that
 * has seen long yields sleeps.
 *
 * Publish that this rank is off its core, unless nothing else wants that core.
 * True: it was off its core for long.
 */
static bool release_core(struct rcx_context *context,
                         struct rcx_idle_polls *idle)
{
    struct rcx_progress *p = &context->progress;
    struct rcx_transport *t = context->transport;
    const bool tells =
        p->is_oversubscribed && !p->core_exclusive && t->ops->core_released;
    const uint64_t before = rcx_ticks(), waited_ns = waited(p, idle);

    if (tells)
        t->ops->core_released(t, true);
    if (is_contended(p, before) || waited_ns > SLEEP_AFTER_NS)
        backoff_sleep(context, waited_ns);
    else
        yield_core(context, before);
    if (tells)
        t->ops->core_released(t, false);
    return rcx_ticks() - before > RCX_IDLE_TICKS;
}

/* Spin if nothing else wants this core, or if ranks on other cores are about to
 * send what this one waits for: it arrives before the core could be released.
 * Not if ranks of other nodes share the cores, as their messages travel through
 * sockets. True: something did arrive. */
static bool should_spin(struct rcx_context *context)
{
    const struct rcx_progress *p = &context->progress;
    struct rcx_transport *t = context->transport;
    const unsigned polls = t->turn_polls ? (unsigned)t->turn_polls : SPIN_POLLS;

    return p->is_oversubscribed && !context->is_split &&
           (p->core_exclusive || (t->ops->peers_run && t->ops->peers_run(t))) &&
           rcx_transport_poll(t, polls);
}

bool rcx_back_off(struct rcx_context *context, struct rcx_idle_polls *idle,
                  uint64_t until_ns)
{
    bool was_off = false;

    if (context->config.wait == RCX_WAIT_BLOCK)
        rcx_sleep(context, until_ns);
    else if (!should_spin(context))
        was_off = release_core(context, idle);
    idle->polls = 0;
    return was_off;
}

int rcx_back_off_test(struct rcx_context *context, bool found)
{
    struct rcx_progress *p = &context->progress;
    uint64_t now;

    p->idle_polls = found ? 0 : p->idle_polls + 1;
    if (p->idle_polls < p->spin)
        return 0;
    p->idle_polls = 0;
    if (should_spin(context))
        return rcx_handle_done(context);
    now = rcx_ticks();
    if (is_contended(p, now))
        backoff_sleep(context, 0);
    else
        yield_core(context, now);
    return 0;
}
