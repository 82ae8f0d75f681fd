/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/wait/progress.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "core/base/relax.h"
#include "core/run/detect/detector.h"
#include "core/run/detect/poll.h"
#include "core/run/wait/enter.h"
#include "core/run/wait/sleep.h"

/* SERVED_POLLS: as long as it takes to give a core away. YIELDS: after so many it
 * is found out whether anybody takes it. */
enum { TURNS = RCX_PROGRESS_TURNS, SERVED_POLLS = 40, YIELDS = 64 };
/* To the least nap the kernel adds 50 us, but for real-time processes; much
 * shorter ones of theirs have it lose timers for a millisecond. */
enum {
    NAP_AFTER_NS = 5 * 1000 * 1000,
    NAP_LEAST_NS = 20 * 1000,
    NAP_MOST_NS = 1000 * 1000,
    NAP_PART = 64
};
/* Yields that take long are in a row if each is less than RECENT, about 25 ms, after
 * the one before, with hardly a short one between. After a third one who waits naps
 * for 4 times as long as it took, then for 16, for 64. One or two say nothing: a
 * rank of this core has computed between two calls. */
enum { RECENT_TICKS = 1 << 26, FEW_YIELDS = 4, CROWDING_MOST = 4 };
static const unsigned naps_for[CROWDING_MOST + 1] = {0, 0, 4, 16, 64};

/* False: no other thread wants to. */
static bool let_others_in(struct rcx_context *context)
{
    if (!rcx_guard_is_wanted(context->guard))
        return false;
    rcx_guard_pass(context->guard);
    return true;
}

/* A turn of whoever makes progress; not each one looks around. */
static void turn(struct rcx_context *context)
{
    if (++context->progress.turns < TURNS &&
        !rcx_detector_is_due(&context->detector, context->transport))
        return;
    context->progress.turns = 0;
    rcx_detector_poll(context);
    let_others_in(context);
}

int rcx_context_catch_up(struct rcx_context *context)
{
    int events = 0, vain = 0;

    for (int i = 0; i < TURNS && vain < RCX_LOOK_AROUND; i++) {
        const int seen = rcx_context_poll(context);

        events += seen;
        vain = seen > 0 ? 0 : vain + 1;
    }
    context->progress.turns = 0;
    rcx_detector_poll(context);
    return events;
}

/* A transport looks around each so many polls. Of a host that polls once a
 * millisecond it would hear nothing in time. */
int rcx_context_progress(struct rcx_context *context)
{
    const uint64_t now = rcx_ticks();
    const bool was_away =
        rcx_progress_away(&context->progress, now) > RCX_AWAY_TICKS;
    const int events =
        was_away ? rcx_context_catch_up(context) : rcx_context_poll(context);

    context->progress.ticks = now;
    turn(context);
    let_others_in(context); /* a thread that only polls would starve them */
    return events;
}

/* Poll until something happened, or polls in a row were in vain. */
static bool poll(struct rcx_transport *t, unsigned polls)
{
    unsigned (*const progress)(struct rcx_transport *) = t->ops->progress;

    for (; !t->done && !progress(t); rcx_relax())
        if (--polls == 0)
            return false;
    return true;
}

/* One wait: polls in vain since a core was given away, and when the first was
 * in a row of them; 0: not yet. */
struct vain {
    unsigned polls;
    uint64_t since_ns;
};

/* Others run on this core if it was switched to them in a part of yields. */
static void look_for_company(struct rcx_progress *p)
{
    struct rusage usage;
    long switches;

    if (++p->yields % YIELDS != 0 || getrusage(RUSAGE_THREAD, &usage) != 0)
        return;
    switches = usage.ru_nvcsw + usage.ru_nivcsw;
    p->is_alone = switches - p->switches < YIELDS / 4;
    p->switches = switches;
}

static void nap(struct rcx_context *context, uint64_t waited_ns)
{
    const uint64_t part = waited_ns / NAP_PART;
    const struct timespec t = {.tv_nsec = part < NAP_LEAST_NS  ? NAP_LEAST_NS
                                          : part > NAP_MOST_NS ? NAP_MOST_NS
                                                               : (long)part};

    rcx_guard_leave(context->guard);
    nanosleep(&t, NULL);
    rcx_guard_return(context->guard);
}

/* For how long naps are better, if at all. */
static void note_long_yield(struct rcx_progress *p, uint64_t before,
                            uint64_t took)
{
    const bool again = before < p->crowded_until + RECENT_TICKS &&
                       p->yields - p->long_yield < FEW_YIELDS;

    p->long_yield = p->yields;
    if (!again)
        p->crowding = 0;
    else if (p->crowding < CROWDING_MOST)
        p->crowding++;
    p->crowded_until = before + (1 + naps_for[p->crowding]) * took;
}

static void yield(struct rcx_progress *p, uint64_t before)
{
    int64_t took;

    sched_yield();
    took = (int64_t)(rcx_ticks() - before); /* by two cores' clocks, at times */
    if (took > RCX_AWAY_TICKS)
        note_long_yield(p, before, (uint64_t)took);
    if (p->shares)
        look_for_company(p);
}

/* Of ranks that share cores; with one of its own nobody has to be let in. */
static uint64_t waited(const struct rcx_progress *p, struct vain *vain)
{
    const uint64_t now = p->shares ? rcx_now_ns() : 0;

    if (vain->since_ns == 0)
        vain->since_ns = now;
    return now - vain->since_ns;
}

/*
 * Who yields a core again and again takes part of it from those who compute, so
 * who has waited for long sleeps for a small part of that. And who yields to
 * somebody who computes may get the core back only when that one's time is up,
 * some milliseconds later (Linux 6.18 has who yields pay for all of its time), but
 * who wakes gets it at once: so does who has seen that lately.
 *
 * Who waits for this rank knows, unless nobody takes its core.
 */
static void rest(struct rcx_context *context, struct vain *vain)
{
    struct rcx_progress *p = &context->progress;
    struct rcx_transport *t = context->transport;
    const bool tells = p->shares && !p->is_alone && t->ops->rest;
    const uint64_t before = rcx_ticks(), waited_ns = waited(p, vain);

    if (tells)
        t->ops->rest(t, true);
    if (p->shares && (before < p->crowded_until || waited_ns > NAP_AFTER_NS))
        nap(context, waited_ns);
    else
        yield(p, before);
    if (tells)
        t->ops->rest(t, false);
    if (rcx_ticks() - before > RCX_AWAY_TICKS)
        rcx_context_catch_up(context);
}

/* Nobody wants this core; or ranks of other cores are about to do what this one
 * waits for: and it comes before the core could be given away. Not so where ranks
 * of other nodes want it, too, and what is waited for is on its way through a
 * socket. */
static bool is_served(struct rcx_context *context)
{
    const struct rcx_progress *p = &context->progress;
    struct rcx_transport *t = context->transport;

    return p->shares && !context->is_split &&
           (p->is_alone || (t->ops->is_served && t->ops->is_served(t))) &&
           poll(t, SERVED_POLLS);
}

static void give_core_away(struct rcx_context *context, struct vain *vain,
                           uint64_t until_ns)
{
    if (context->config.wait == RCX_WAIT_BLOCK)
        rcx_sleep(context, until_ns);
    else if (!is_served(context))
        rest(context, vain);
    vain->polls = 0;
}

/* Nothing happened: look around, let other threads in, or give the core away
 * if even more polls were in vain. */
static void idle(struct rcx_context *context, struct vain *vain,
                 uint64_t until_ns)
{
    rcx_detector_poll(context);
    vain->polls += context->progress.polls;
    if (let_others_in(context))
        vain->polls = 0;
    else if (vain->polls >= context->progress.spin)
        give_core_away(context, vain, until_ns);
    context->progress.ticks = rcx_ticks();
}

/* A loop of tests keeps its core from the ranks that it waits for. It does not
 * sleep: what else its program does between two tests is not known. */
int rcx_context_test(struct rcx_context *context)
{
    const int events = rcx_context_progress(context);

    if (events > 0 || !context->progress.shares)
        return events;
    if (is_served(context))
        return rcx_handle_done(context);
    yield(&context->progress, rcx_ticks());
    return 0;
}

static inline void wait_once(struct rcx_context *context, struct vain *vain,
                             uint64_t until_ns)
{
    if (poll(context->transport, context->progress.polls)) {
        rcx_handle_done(context);
        *vain = (struct vain){0};
    } else {
        idle(context, vain, until_ns);
    }
}

void rcx_context_look_around(struct rcx_context *context)
{
    struct rcx_progress *p = &context->progress;

    p->turns = 0;
    if (p->ticks - p->looked < RCX_LOOK_TICKS)
        return;
    p->looked = p->ticks;
    rcx_context_catch_up(context);
    let_others_in(context);
}

/* A turn comes while messages travel, and none once the last has come. */
rcx_status_t rcx_request_wait(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;
    struct vain vain = {0};

    if (r->state != RCX_REQUEST_ACTIVE)
        rcx_context_pass_by(context);
    while (r->state == RCX_REQUEST_ACTIVE) {
        turn(context);
        if (r->state == RCX_REQUEST_ACTIVE)
            wait_once(context, &vain, UINT64_MAX);
    }
    return r->status;
}

bool rcx_context_wait(struct rcx_context *context, uint64_t until_ns,
                      bool (*is_over)(void *arg), void *arg)
{
    struct vain vain = {0};

    while (!is_over(arg)) {
        if (rcx_now_ns() >= until_ns)
            return false;
        turn(context);
        if (!is_over(arg))
            wait_once(context, &vain, until_ns);
    }
    return true;
}
