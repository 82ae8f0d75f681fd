/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of the lane within a node: which channels are polled, when UCX is,
 * and the liveness of peers. */
#include "core/base/clock.h"
#include "transport/ucp/worker.h"

/* Messages without a receive are taken after VAIN progress calls without an
 * event, and after SWEEPS calls in any case: their senders may wait for
 * room. */
enum {
    VAIN = 256,
    SWEEPS = 1 << 16,
    LIVENESS_NS = 40 * 1000 * 1000,
    TAKEN_AT_ONCE = 1000
};

/* Poll all channels. Those that nothing is expected of become inactive. */
static unsigned sweep(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;
    unsigned events = 0;
    int kept = 0;

    for (int i = 0; i < lane->neighbour_count; i++)
        events += rcx_shm_progress(lane->neighbours[i], true);
    for (int i = 0; i < lane->actives; i++) {
        struct rcx_shm_channel *p = lane->active[i];

        p->is_active = rcx_shm_is_busy(p);
        if (p->is_active)
            lane->active[kept++] = p;
    }
    lane->actives = kept;
    return events;
}

/* Receives from any source must also match what UCX has, as must receives
 * behind them. */
static unsigned match_any(struct ucp *u)
{
    struct rcx_message **link = &u->lane.base.any;
    unsigned events = 0;

    while (*link) {
        struct rcx_message *m = *link;
        ucp_tag_recv_info_t info;
        ucp_tag_message_h message = ucp_tag_probe_nb(
            u->worker, rcx_shm_msg(m)->key, rcx_shm_msg(m)->mask, 1, &info);

        if (!message) {
            link = &m->next;
            continue;
        }
        rcx_message_unlink(&u->lane.base.any_end, link);
        u->matching.user_data = m;
        u->pending++;
        ucp_tag_msg_recv_nbx(u->worker, rcx_shm_msg(m)->buffer,
                             rcx_shm_msg(m)->room, message, &u->matching);
        events++;
    }
    return events;
}

/* Drain UCX. Messages may follow each other for long. */
static void take_all(struct ucp *u)
{
    for (int i = 0; i < TAKEN_AT_ONCE && ucp_worker_progress(u->worker); i++)
        continue;
}

/* A peer that has exited may have sent the reason, so control messages are
 * drained before it is declared failed. */
static void declare_ended(struct ucp *u, int peer)
{
    take_all(u);
    if (u->lane.channels[peer])
        rcx_shm_peer_ended(u->lane.channels[peer]);
    rcx_transport_peer_failed(&u->base, peer);
}

void rcx_ucp_probe_liveness(struct ucp *u)
{
    const uint64_t now = rcx_now_ns();

    if (now < u->lane.next_liveness_ns)
        return;
    u->lane.next_liveness_ns = now + LIVENESS_NS;
    for (int peer = 0; peer < u->boot->size; peer++) {
        struct rcx_watched *w = u->lane.watched[peer];
        bool was_missing;

        if (!w || w->has_ended)
            continue;
        was_missing = w->is_missing;
        w->is_missing = !rcx_process_is_there(&w->process);
        w->has_ended = w->is_missing && was_missing;
        if (w->has_ended)
            declare_ended(u, peer);
    }
}

/* A control message is in some channel, perhaps of a peer with which this rank
 * has none yet. */
static unsigned answer_doorbell(struct ucp *u)
{
    atomic_store(&u->lane.segment->doorbell, 0); /* first, so none is missed */
    if (!u->lane.all_chosen)
        rcx_ucp_choose_lanes(u);
    return sweep(u);
}

static unsigned progress_all(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;
    unsigned events = 0;

    if (__builtin_expect(atomic_load(&lane->segment->doorbell) != 0, 0))
        events = answer_doorbell(u);
    events += ucp_worker_progress(u->worker);
    if (u->base.watches_peers)
        rcx_ucp_probe_liveness(u);
    if (lane->base.any && lane->others > 0)
        events += match_any(u);
    if (lane->idle_polls >= VAIN || lane->turns % SWEEPS == 0) {
        lane->idle_polls = 0;
        events += sweep(u);
    }
    return events;
}

/* A receive from any source polls all channels. */
static unsigned poll_pairs(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;
    unsigned events = 0;

    if (__builtin_expect(lane->base.any != NULL, 0))
        return sweep(u);
    for (int i = 0; i < lane->actives; i++)
        events += rcx_shm_poll(lane->active[i]);
    return events;
}

unsigned rcx_ucp_lane_progress(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;
    unsigned events;

    if (__builtin_expect(lane->is_asleep, 0)) {
        atomic_store(&lane->segment->asleep, 0);
        lane->is_asleep = false;
    }
    events = poll_pairs(u);
    lane->idle_polls = events ? 0 : lane->idle_polls + 1;
    if (++lane->turns % RCX_FULL_POLLS == 0 || u->pending > 0 ||
        atomic_load_explicit(&lane->segment->doorbell, memory_order_relaxed))
        events += progress_all(u);
    return events;
}

rcx_status_t rcx_ucp_lane_recv_any(struct ucp *u, struct rcx_message *m)
{
    struct rcx_ucp_lane *lane = &u->lane;
    rcx_status_t status = lane->all_chosen ? RCX_OK : rcx_ucp_choose_lanes(u);

    if (status != RCX_OK)
        return status;
    rcx_shm_msg(m)->channel = NULL;
    rcx_shm_msg(m)->order = lane->base.posts++;
    sweep(u);
    for (int i = 0; i < lane->neighbour_count; i++) {
        status = rcx_shm_match(lane->neighbours[i], m);
        if (status != RCX_ERR_ARG)
            return status;
    }
    rcx_message_append(&lane->base.any_end, m);
    return RCX_IN_PROGRESS;
}

/* End m with this status, unless a channel has it, whose function decides. */
static void take_back(struct ucp *u, struct rcx_message *m, rcx_status_t status,
                      void (*from)(struct rcx_shm_channel *,
                                   struct rcx_message *))
{
    struct rcx_shm_lane *lane = &u->lane.base;

    if (rcx_shm_msg(m)->channel)
        from(rcx_shm_msg(m)->channel, m);
    else if (rcx_message_remove(&lane->any, &lane->any_end, m))
        rcx_message_complete(&u->base, m, status);
}

void rcx_ucp_lane_cancel(struct ucp *u, struct rcx_message *m)
{
    take_back(u, m, RCX_ERR_COMM_FAILED, rcx_shm_cancel);
}

void rcx_ucp_lane_withdraw(struct ucp *u, struct rcx_message *m)
{
    take_back(u, m, RCX_ERR_CANCELED, rcx_shm_withdraw);
}

/* A lane that cannot be opened is found by the receive. */
static void open_lanes(struct ucp *u, int peer)
{
    if (peer >= 0 && !u->lane.lane_chosen[peer])
        rcx_ucp_choose_lane(u, peer);
    else if (peer == RCX_PROBE_ALL && !u->lane.all_chosen)
        rcx_ucp_choose_lanes(u);
}

bool rcx_ucp_lane_probe(struct ucp *u, int peer, uint64_t tag, uint64_t mask,
                        struct rcx_arrival *found_p)
{
    bool found = false;

    open_lanes(u, peer);
    sweep(u);
    for (int i = 0; i < u->lane.neighbour_count && !found; i++)
        found = rcx_shm_probe(u->lane.neighbours[i], tag, mask, found_p);
    return found;
}

void rcx_ucp_lane_drop_unexpected(struct ucp *u, uint64_t tag, uint64_t mask)
{
    sweep(u);
    for (int i = 0; i < u->lane.neighbour_count; i++)
        rcx_shm_drop_unexpected(u->lane.neighbours[i], tag, mask);
}

bool rcx_ucp_lane_is_flushed(const struct ucp *u)
{
    bool flushed = true;

    for (int i = 0; i < u->lane.neighbour_count && flushed; i++)
        flushed = rcx_shm_is_flushed(u->lane.neighbours[i]);
    return flushed;
}

/* In this order; see rcx_shm_wake(). */
bool rcx_ucp_lane_arm(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;

    if (!lane->segment)
        return true;
    if (u->base.watches_peers) /* a sleeping rank does not probe */
        rcx_ucp_probe_liveness(u);
    if (u->base.done || u->base.ctrl)
        return false;
    atomic_store(&lane->segment->asleep, 1);
    lane->is_asleep = true;
    if (sweep(u) == 0)
        return true;
    atomic_store(&lane->segment->asleep, 0);
    lane->is_asleep = false;
    return false;
}

void rcx_ucp_lane_core_released(struct rcx_transport *t, bool off_core)
{
    struct rcx_shm_segment *mine = ((struct ucp *)t)->lane.segment;

    if (mine)
        atomic_store_explicit(&mine->off_core, off_core, memory_order_relaxed);
}

static bool off_core(const struct rcx_shm_channel *p)
{
    const struct rcx_neighbour *n = (const struct rcx_neighbour *)p;

    return !n->theirs || atomic_load_explicit(&n->theirs->off_core,
                                              memory_order_relaxed) != 0;
}

/* No more ranks run than there are other cores. Reads a line of each peer. */
bool rcx_ucp_lane_peers_run(struct rcx_transport *t)
{
    const struct ucp *u = (struct ucp *)t;
    const struct rcx_ucp_lane *lane = &u->lane;
    int awaited = 0;

    for (int i = 0; i < lane->actives; i++)
        awaited += rcx_shm_is_busy(lane->active[i]);
    if (awaited == 0 || awaited > lane->cores - 1 || u->pending > 0)
        return false;
    for (int i = 0; i < lane->actives; i++)
        if (rcx_shm_is_busy(lane->active[i]) && off_core(lane->active[i]))
            return false;
    return true;
}

/* A rank that computes needs a core, whether it has one or waits for it. */
bool rcx_ucp_lane_cores_needed(struct rcx_transport *t)
{
    const struct rcx_ucp_lane *lane = &((struct ucp *)t)->lane;
    int needed = 0;

    for (int i = 0; i < lane->neighbour_count; i++)
        needed += !off_core(lane->neighbours[i]);
    return needed >= lane->cores;
}

/* What is in a lane stays there when its sender ends. */
enum rcx_process_state rcx_ucp_process_state(struct rcx_transport *t, int peer,
                                             bool was_absent)
{
    struct ucp *u = (struct ucp *)t;
    struct rcx_watched *w = u->lane.watched[peer];

    if (!w)
        return RCX_PROCESS_UNKNOWN;
    if (rcx_process_is_there(&w->process))
        return RCX_PROCESS_RUNS;
    return u->lane.channels[peer] || !was_absent ? RCX_PROCESS_ENDED
                                                 : RCX_PROCESS_UNKNOWN;
}
