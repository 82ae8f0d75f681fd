/* SPDX-License-Identifier: BSD-3-Clause */
/* The lane inside a node: turns of progress, and what they have to look at. */
#include "core/base/clock.h"
#include "transport/ucp/worker.h"

/* What nobody asked for is taken after VAIN turns without an event, and after
 * SWEEPS in any case: who sent it may wait for room. */
enum {
    VAIN = 256,
    SWEEPS = 1 << 16,
    ROLL_NS = 40 * 1000 * 1000,
    TAKEN_AT_ONCE = 1000
};

/* All pairs; none stays active of which nothing is expected. */
static unsigned sweep(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;
    unsigned events = 0;
    int kept = 0;

    for (int i = 0; i < lane->neighbour_count; i++)
        events += rcx_pair_work(lane->neighbours[i], true);
    for (int i = 0; i < lane->actives; i++) {
        struct rcx_pair *p = lane->active[i];

        p->is_active = rcx_pair_is_busy(p);
        if (p->is_active)
            lane->active[kept++] = p;
    }
    lane->actives = kept;
    return events;
}

/* Receives from whoever sends first look for what UCX has, too; so do those
 * behind them. */
static unsigned match_any(struct ucp *u)
{
    struct rcx_message **link = &u->lane.base.any;
    unsigned events = 0;

    while (*link) {
        struct rcx_message *m = *link;
        ucp_tag_recv_info_t info;
        ucp_tag_message_h message =
            ucp_tag_probe_nb(u->worker, m->key, m->mask, 1, &info);

        if (!message) {
            link = &m->next;
            continue;
        }
        rcx_message_take_out(&u->lane.base.any_end, link);
        u->matching.user_data = m;
        u->pending++;
        ucp_tag_msg_recv_nbx(u->worker, m->buffer, m->room, message,
                             &u->matching);
        events++;
    }
    return events;
}

/* What has come by UCX; messages that follow each other may go on for long. */
static void take_all(struct ucp *u)
{
    for (int i = 0; i < TAKEN_AT_ONCE && ucp_worker_progress(u->worker); i++)
        continue;
}

/* Of processes whose memory is mapped; UCX looks for the others. Who has gone
 * may have said why: once that has been heard, nobody blames it. So that is taken
 * before it is buried. */
static void look_for_dead(struct ucp *u)
{
    const uint64_t now = rcx_now_ns();

    if (now < u->lane.next_roll_ns)
        return;
    u->lane.next_roll_ns = now + ROLL_NS;
    for (int i = 0; i < u->lane.neighbour_count; i++) {
        struct rcx_neighbour *n = (struct rcx_neighbour *)u->lane.neighbours[i];

        const bool was_missing = n->is_missing;

        n->is_missing = !rcx_process_is_there(&n->process);
        if (!n->is_missing || !was_missing)
            continue;
        take_all(u);
        rcx_transport_peer_failed(&u->base, n->pair.peer);
    }
}

static unsigned look_around(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;
    unsigned events;

    /* before the notes are taken, so that none comes unsaid */
    if (__builtin_expect(atomic_load(&lane->window->doorbell) != 0, 0))
        atomic_store(&lane->window->doorbell, 0);
    events = ucp_worker_progress(u->worker);
    if (u->base.watches_peers)
        look_for_dead(u);
    if (lane->base.any && lane->others > 0)
        events += match_any(u);
    if (lane->vain >= VAIN || lane->turns % SWEEPS == 0) {
        lane->vain = 0;
        events += sweep(u);
    }
    return events;
}

/* A receive from whoever sends first looks at all. */
static unsigned poll_pairs(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;
    unsigned events = 0;

    if (__builtin_expect(lane->base.any != NULL, 0))
        return sweep(u);
    for (int i = 0; i < lane->actives; i++)
        events += rcx_pair_poll(lane->active[i]);
    return events;
}

unsigned rcx_ucp_lane_progress(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;
    unsigned events;

    if (__builtin_expect(lane->is_asleep, 0)) {
        atomic_store(&lane->window->asleep, 0);
        lane->is_asleep = false;
    }
    events = poll_pairs(u);
    lane->vain = events ? 0 : lane->vain + 1;
    if (++lane->turns % RCX_FULL_POLLS == 0 || u->pending > 0)
        events += look_around(u);
    return events;
}

rcx_status_t rcx_ucp_lane_recv_any(struct ucp *u, struct rcx_message *m)
{
    struct rcx_ucp_lane *lane = &u->lane;
    rcx_status_t status = lane->all_settled ? RCX_OK : rcx_ucp_settle_all(u);

    if (status != RCX_OK)
        return status;
    m->pair = NULL;
    m->order = lane->base.posts++;
    sweep(u);
    for (int i = 0; i < lane->neighbour_count; i++) {
        status = rcx_pair_find(lane->neighbours[i], m);
        if (status != RCX_ERR_ARG)
            return status;
    }
    rcx_message_append(&lane->base.any_end, m);
    return RCX_IN_PROGRESS;
}

void rcx_ucp_lane_cancel(struct ucp *u, struct rcx_message *m)
{
    struct rcx_lane *lane = &u->lane.base;

    if (m->pair)
        rcx_pair_cancel(m->pair, m);
    else if (rcx_message_withdraw(&lane->any, &lane->any_end, m))
        rcx_message_complete(&u->base, m, RCX_ERR_COMM_FAILED);
}

bool rcx_ucp_lane_probe(struct ucp *u, uint64_t tag, uint64_t mask,
                        uint64_t *found_p)
{
    bool found = false;

    sweep(u);
    for (int i = 0; i < u->lane.neighbour_count && !found; i++)
        found = rcx_pair_probe(u->lane.neighbours[i], tag, mask, found_p);
    return found;
}

bool rcx_ucp_lane_is_flushed(const struct ucp *u)
{
    bool flushed = true;

    for (int i = 0; i < u->lane.neighbour_count && flushed; i++)
        flushed = rcx_pair_is_flushed(u->lane.neighbours[i]);
    return flushed;
}

/* In that order: see wake() of channel.c. */
bool rcx_ucp_lane_arm(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;

    if (!lane->window)
        return true;
    if (u->base.watches_peers) /* who sleeps does not look around */
        look_for_dead(u);
    if (u->base.done || u->base.ctrl)
        return false;
    atomic_store(&lane->window->asleep, 1);
    lane->is_asleep = true;
    if (sweep(u) == 0)
        return true;
    atomic_store(&lane->window->asleep, 0);
    lane->is_asleep = false;
    return false;
}

void rcx_ucp_lane_core_released(struct rcx_transport *t, bool rests)
{
    struct rcx_window *mine = ((struct ucp *)t)->lane.window;

    if (mine)
        atomic_store_explicit(&mine->rests, rests, memory_order_relaxed);
}

static bool rests(const struct rcx_pair *p)
{
    const struct rcx_neighbour *n = (const struct rcx_neighbour *)p;

    return !n->theirs ||
           atomic_load_explicit(&n->theirs->rests, memory_order_relaxed) != 0;
}

/* There are no more at work than other cores; whether it is they takes a look at a
 * line of each. */
bool rcx_ucp_lane_peers_run(struct rcx_transport *t)
{
    const struct ucp *u = (struct ucp *)t;
    const struct rcx_ucp_lane *lane = &u->lane;
    int awaited = 0;

    for (int i = 0; i < lane->actives; i++)
        awaited += rcx_pair_is_busy(lane->active[i]);
    if (awaited == 0 || awaited > lane->cores - 1 || u->pending > 0)
        return false;
    for (int i = 0; i < lane->actives; i++)
        if (rcx_pair_is_busy(lane->active[i]) && rests(lane->active[i]))
            return false;
    return true;
}
