/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lane within a node: its segment, its channels, and which peers have one.
 * lane_progress.c polls them.
 */
#include "transport/ucp/lane.h"

#include <string.h>
#include <unistd.h>

#include "core/iface/peer.h"
#include "transport/shm/cico.h"
#include "transport/shm/way.h"
#include "transport/ucp/worker.h"

enum { AHEAD = 1 << 20 };

static struct rcx_shm_fifo *fifo_of(struct rcx_shm_segment *w, uint32_t index,
                                    const struct rcx_shm_lane *lane)
{
    return (void *)(w->fifos + index * rcx_shm_fifo_bytes(lane));
}

/* Behind the FIFOs. */
static unsigned char *cico_of(struct rcx_shm_segment *w, uint32_t ranks,
                              const struct rcx_shm_lane *lane)
{
    return (unsigned char *)fifo_of(w, ranks, lane);
}

/* ---- The segment --------------------------------------------------------- */

static void close_segment(struct ucp *u)
{
    rcx_ucp_memory_close(u, &u->lane.memory);
    u->lane.segment = NULL;
    u->base.doorbell = NULL;
    u->lane.place = (struct rcx_segment_address){.rkey_bytes = 0};
}

/* What peers on this node need to look at this process. u is memory that it
 * keeps, if it has no segment. */
static void set_place(struct ucp *u, const struct rcx_node *node)
{
    struct rcx_segment_address *place = &u->lane.place;

    if (!node->is_known)
        return;
    if (!u->lane.segment)
        place->segment = (uintptr_t)u;
    place->group = node->group;
    place->ranks = (uint32_t)node->group_ranks;
    place->pid = (uint32_t)getpid();
}

/* ---- Opening and closing ------------------------------------------------- */

static void send_done(void *request, ucs_status_t status, void *arg)
{
    (void)status, (void)arg;
    ucp_request_free(request);
}

static void wake(struct rcx_shm_lane *base, int peer)
{
    struct ucp *u = (struct ucp *)base->transport;
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = send_done};

    ucp_am_send_nbx(u->endpoints[peer], RCX_UCP_WAKE, NULL, 0, NULL, 0, &param);
}

static ucs_status_t was_woken(void *arg, const void *header,
                              size_t header_bytes, void *data, size_t bytes,
                              const ucp_am_recv_param_t *param)
{
    (void)arg, (void)header, (void)header_bytes;
    (void)data, (void)bytes, (void)param;
    return UCS_OK;
}

static ucs_status_t open_wake_handler(struct ucp *u)
{
    const ucp_am_handler_param_t param = {.field_mask =
                                              UCP_AM_HANDLER_PARAM_FIELD_ID |
                                              UCP_AM_HANDLER_PARAM_FIELD_CB,
                                          .id = RCX_UCP_WAKE,
                                          .cb = was_woken};

    return ucp_worker_set_am_recv_handler(u->worker, &param);
}

static const char *hindrance(const struct rcx_node *node, enum rcx_lanes lanes)
{
    if (lanes == RCX_LANES_UCP)
        return "RCX_LANES=ucp";
    if (!node->is_known)
        return "the ranks of this node are not known";
    return node->group_ranks > 1 ? NULL
                                 : "no other rank can share memory with this "
                                   "rank";
}

static ucs_status_t make_segment(struct ucp *u, const struct rcx_node *node,
                                 const struct rcx_shm_settings *set)
{
    const struct rcx_decide_facts facts = rcx_node_facts(node);
    struct rcx_ucp_lane *lane = &u->lane;
    ucs_status_t status;

    lane->plain_key_bytes = rcx_ucp_plain_key_bytes(u);
    rcx_decide(&facts, set, &lane->base.settings);
    rcx_way_open(&lane->base, rcx_decide_may_search(&facts, set), set->eager);
    u->base.turn_polls = lane->base.settings.polls;
    u->base.stream_bytes = lane->base.settings.stream;
    if (lane->base.settings.cico != SIZE_MAX)
        lane->base.cico.bytes = lane->base.settings.cico;
    status = rcx_ucp_memory_open(u, NULL,
                                 sizeof *lane->segment +
                                     (size_t)node->group_ranks *
                                         rcx_shm_fifo_bytes(&lane->base) +
                                     lane->base.cico.bytes,
                                 &lane->memory);
    if (status == UCS_OK)
        status = open_wake_handler(u);
    lane->segment = lane->memory.at;
    if (status == UCS_OK)
        lane->base.cico.at =
            cico_of(lane->segment, (uint32_t)node->group_ranks, &lane->base);
    lane->place.segment = (uintptr_t)lane->memory.at;
    lane->place.rkey_bytes = (uint32_t)lane->memory.key_bytes;
    lane->place.index = (uint32_t)node->group_index;
    lane->place.ring = (uint32_t)lane->base.settings.ring;
    lane->place.sleeps = u->wakeup;
    return status;
}

static bool reach_to_answer(struct rcx_shm_lane *base, int peer);

/* A message in a segment needs neither its sender nor its reader any more,
 * except a reader that sleeps. */
static void expect_lane_alone(struct ucp *u)
{
    u->base.ack_bytes = SIZE_MAX;
    u->base.ahead = AHEAD;
    if (!u->wakeup)
        u->base.doorbell = &u->lane.segment->doorbell;
}

static void tell_settings(const struct ucp *u, const struct rcx_node *node,
                          rcx_log_level_t level)
{
    const struct rcx_node_figures *measured = &node->machine->figures;
    char origin[96], figures[320], settings[128];

    if (level > u->log->level)
        return;
    rcx_log_line(u->log, level, "figures of this node, %s: %s",
                 rcx_figures_origin(measured, origin, sizeof origin),
                 rcx_figures_print(measured, figures, sizeof figures));
    rcx_log_line(u->log, level, "settings of mapped memory: RCX_SHM=%s",
                 rcx_shm_settings_print(&u->lane.base.settings, settings,
                                        sizeof settings));
}

static void tell(const struct ucp *u, const struct rcx_node *node,
                 const char *why)
{
    const rcx_log_level_t level =
        u->boot->rank == 0 ? RCX_LOG_INFO : RCX_LOG_DEBUG;

    if (why)
        rcx_log_line(u->log, level, "no mapped memory inside the node: %s",
                     why);
    else if (node->group_ranks < node->ranks)
        rcx_log_line(u->log, level,
                     "%d of %d ranks of this node send through mapped memory; "
                     "the others run in other namespaces, or as another user",
                     node->group_ranks, node->ranks);
    else
        rcx_log_line(u->log, level,
                     "%d ranks of this node send through mapped memory",
                     node->group_ranks);
    if (!why)
        tell_settings(u, node, level);
}

rcx_status_t rcx_ucp_lane_open(struct ucp *u, const struct rcx_node *node,
                               const struct rcx_transport_args *args)
{
    const enum rcx_lanes lanes = args->lanes;
    struct rcx_ucp_lane *lane = &u->lane;
    const size_t size = (size_t)u->boot->size;
    const char *why = hindrance(node, lanes);

    lane->base = (struct rcx_shm_lane){.transport = &u->base,
                                       .heap = u->heap,
                                       .ranks = u->boot->size,
                                       .reach = reach_to_answer,
                                       .wake = wake,
                                       .map = rcx_ucp_map,
                                       .unmap = rcx_ucp_unmap};
    lane->base.any_end = &lane->base.any;
    lane->others = u->boot->size;
    lane->cores = CPU_COUNT(&node->cpus);
    lane->channels =
        rcx_heap_zalloc_lines(u->heap, size * sizeof *lane->channels);
    lane->outs = rcx_heap_zalloc(u->heap, size * sizeof *lane->outs);
    lane->neighbours = rcx_heap_zalloc(u->heap, size * sizeof *lane->outs);
    lane->active = rcx_heap_zalloc(u->heap, size * sizeof *lane->active);
    lane->watched = rcx_heap_zalloc(u->heap, size * sizeof *lane->watched);
    lane->lane_chosen = rcx_heap_zalloc(u->heap, size);
    if (!lane->channels || !lane->outs || !lane->neighbours || !lane->active ||
        !lane->watched || !lane->lane_chosen)
        return rcx_fail(u->log, RCX_ERR_NOMEM,
                        "rcx_init: no memory for shared-memory messages");
    if (!why) {
        const ucs_status_t status = make_segment(u, node, &args->shm);

        if (status != UCS_OK)
            why = ucs_status_string(status);
    }
    tell(u, node, why);
    lane->hindrance = why;
    if (!why && node->group_ranks == u->boot->size)
        expect_lane_alone(u);
    if (why)
        close_segment(u);
    set_place(u, node);
    return why && lanes == RCX_LANES_NODE
               ? rcx_fail(u->log, RCX_ERR_CONFIG,
                          "RCX_LANES=node: mapped memory cannot be used: %s",
                          why)
               : RCX_OK;
}

void rcx_ucp_lane_close(struct ucp *u)
{
    struct rcx_ucp_lane *lane = &u->lane;

    for (int i = 0; lane->watched && i < u->boot->size; i++) {
        struct rcx_watched *w = lane->watched[i];

        if (!w)
            continue;
        rcx_process_close(&w->process);
        if (!lane->channels[i]) /* else it is part of the neighbour */
            rcx_heap_free(u->heap, w);
    }
    for (int i = 0; i < lane->neighbour_count; i++) {
        struct rcx_neighbour *n = (struct rcx_neighbour *)lane->neighbours[i];

        rcx_shm_channel_close(&n->channel);
        if (n->rkey)
            ucp_rkey_destroy(n->rkey);
        rcx_heap_free(u->heap, n);
    }
    rcx_heap_free(u->heap, lane->channels);
    rcx_heap_free(u->heap, lane->outs);
    rcx_heap_free(u->heap, lane->neighbours);
    rcx_heap_free(u->heap, lane->watched);
    rcx_heap_free(u->heap, lane->active);
    rcx_heap_free(u->heap, lane->lane_chosen);
    rcx_ucp_memory_close_all(u);
    close_segment(u);
}

/* ---- Channels ------------------------------------------------------------ */

static bool do_share(const struct rcx_segment_address *a,
                     const struct rcx_segment_address *b)
{
    return a->rkey_bytes && b->rkey_bytes && a->group == b->group &&
           a->ranks == b->ranks && a->ring == b->ring;
}

static rcx_status_t place_of(struct ucp *u, int peer,
                             struct rcx_segment_address *place,
                             const char **rest_p)
{
    char own_version[64];
    const void *blob;
    size_t bytes;
    rcx_status_t status;

    rcx_ucp_version(own_version, sizeof own_version);
    status =
        rcx_peer_address(u->boot, u->log, peer, own_version, &blob, &bytes);
    if (status != RCX_OK)
        return status;
    *place = (struct rcx_segment_address){0};
    if (bytes >= sizeof *place)
        memcpy(place, blob, sizeof *place);
    if (bytes < sizeof *place || place->rkey_bytes >= bytes - sizeof *place ||
        (place->rkey_bytes > 0 && place->index >= place->ranks) ||
        place->ranks > (uint32_t)u->boot->size)
        return rcx_fail(u->log, RCX_ERR_LAUNCH,
                        "rank %d published an invalid shared-memory address: "
                        "key of %u bytes, index %u of %u ranks; do all ranks "
                        "run the same RCX?",
                        peer, place->rkey_bytes, place->index, place->ranks);
    *rest_p = (const char *)blob + sizeof *place;
    return RCX_OK;
}

static bool can_watch(const struct rcx_segment_address *a,
                      const struct rcx_segment_address *b)
{
    return a->pid && b->pid && a->group == b->group && a->ranks == b->ranks;
}

static void watch(struct ucp *u, struct rcx_watched *w, int peer,
                  const struct rcx_segment_address *place)
{
    rcx_process_open(&w->process, (pid_t)place->pid, place->segment);
    u->lane.watched[peer] = w;
}

static rcx_status_t watch_without_channel(struct ucp *u, int peer,
                                          const struct rcx_segment_address *at)
{
    struct rcx_watched *w;

    if (!u->base.watches_peers || !can_watch(at, &u->lane.place))
        return RCX_OK;
    w = rcx_heap_zalloc(u->heap, sizeof *w);
    if (!w)
        return RCX_ERR_NOMEM;
    watch(u, w, peer, at);
    return RCX_OK;
}

static rcx_status_t settle_by(struct ucp *u, int peer,
                              const struct rcx_segment_address *place)
{
    struct rcx_ucp_lane *lane = &u->lane;
    struct rcx_neighbour *n;
    rcx_status_t status;

    if (do_share(place, &lane->place)) {
        n = rcx_heap_zalloc_lines(u->heap, sizeof *n);
        if (!n)
            return RCX_ERR_NOMEM;
        rcx_shm_channel_open(&n->channel, &lane->base, peer, (pid_t)place->pid,
                             fifo_of(lane->segment, place->index, &lane->base),
                             place->sleeps);
        watch(u, &n->watched, peer, place);
        lane->channels[peer] = &n->channel;
        lane->neighbours[lane->neighbour_count++] = &n->channel;
        lane->others--;
    } else {
        status = watch_without_channel(u, peer, place);
        if (status != RCX_OK)
            return status;
    }
    lane->lane_chosen[peer] = true;
    return RCX_OK;
}

rcx_status_t rcx_ucp_choose_lanes(struct ucp *u)
{
    const int *local = u->boot->local_ranks;
    const int n = local ? u->boot->local_size : u->boot->size;
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < n && status == RCX_OK; i++) {
        const int rank = local ? local[i] : i;

        if (!u->lane.lane_chosen[rank])
            status = rcx_ucp_choose_lane(u, rank);
    }
    u->lane.all_chosen = status == RCX_OK;
    return status;
}

rcx_status_t rcx_ucp_choose_lane(struct ucp *u, int peer)
{
    struct rcx_segment_address place;
    const char *rest;
    const rcx_status_t status = place_of(u, peer, &place, &rest);

    return status == RCX_OK ? settle_by(u, peer, &place) : status;
}

void rcx_ucp_way(struct rcx_transport *t, int peer, char *text, size_t bytes)
{
    struct ucp *u = (struct ucp *)t;
    struct rcx_segment_address theirs = {.rkey_bytes = 0};
    const char *rest, *why;
    const bool is_known = place_of(u, peer, &theirs, &rest) == RCX_OK;

    if (!is_known)
        why = "its address is not known";
    else if (u->lane.hindrance)
        why = u->lane.hindrance;
    else if (do_share(&theirs, &u->lane.place))
        why = NULL;
    else if (theirs.rkey_bytes == 0)
        why = "it has no mapped memory";
    else if (theirs.group != u->lane.place.group)
        why = "it cannot share memory with this rank";
    else
        why = "its shared-memory buffers have another size";
    if (why)
        snprintf(text, bytes, "UCX's messages: %s", why);
    else
        snprintf(text, bytes, "mapped memory");
}

static rcx_status_t map_theirs(struct ucp *u, struct rcx_neighbour *n,
                               const struct rcx_segment_address *place,
                               const char *rkey)
{
    const struct rcx_ucp_lane *lane = &u->lane;
    struct rcx_shm_segment *theirs;
    void *at;
    const ucs_status_t status = rcx_ucp_memory_reach(
        u, n->channel.peer, rkey, place->segment, &n->rkey, &at);

    if (status != UCS_OK)
        return rcx_ucp_set_unreachable(u, n->channel.peer, status);
    theirs = at;
    n->theirs = theirs;
    rcx_shm_channel_connect(
        &n->channel, fifo_of(theirs, lane->place.index, &lane->base),
        &theirs->asleep, cico_of(theirs, place->ranks, &lane->base));
    return RCX_OK;
}

/* Otherwise a peer may have ended because UCX finds no transport, which UCX
 * tells best. */
static bool transports_work(const struct ucp *u, int peer)
{
    return u->lane.channels[peer] || u->base.endpoints > 0;
}

rcx_status_t rcx_ucp_reach(struct ucp *u, int peer)
{
    struct rcx_segment_address place;
    const char *rest;
    rcx_status_t status;

    if (u->ep_status[peer])
        return rcx_ucp_set_unreachable(u, peer,
                                       (ucs_status_t)u->ep_status[peer]);
    status = place_of(u, peer, &place, &rest);
    if (status == RCX_OK && !u->lane.lane_chosen[peer])
        status = settle_by(u, peer, &place);
    if (status == RCX_OK && transports_work(u, peer) &&
        rcx_ucp_process_state(&u->base, peer, false) == RCX_PROCESS_ENDED)
        status = rcx_ucp_set_unreachable(u, peer, UCS_ERR_CONNECTION_RESET);
    if (status == RCX_OK && !u->endpoints[peer])
        status = rcx_ucp_connect(
            u, peer, (const ucp_address_t *)(rest + place.rkey_bytes));
    if (status != RCX_OK || !u->lane.channels[peer])
        return status;
    status = map_theirs(u, rcx_ucp_neighbour(u, peer), &place, rest);
    if (status == RCX_OK)
        u->lane.outs[peer] = u->lane.channels[peer];
    return status;
}

/* Connect a channel to answer a message. If that fails, the rank that waits for
 * the answer finds out. */
static bool reach_to_answer(struct rcx_shm_lane *base, int peer)
{
    struct ucp *u = (struct ucp *)base->transport;
    const bool is_reached = rcx_ucp_reach(u, peer) == RCX_OK;

    u->base.last_error[0] = '\0';
    return is_reached;
}

void rcx_ucp_lane_ring_doorbell(struct ucp *u, int peer)
{
    struct rcx_neighbour *n = rcx_ucp_neighbour(u, peer);

    if (n && n->theirs)
        atomic_store(&n->theirs->doorbell, 1);
}

void rcx_ucp_send_shared(struct rcx_transport *t, struct rcx_message *m[],
                         unsigned n, const void *buffer, size_t bytes,
                         uint64_t tag_base)
{
    struct rcx_ucp_lane *lane = &((struct ucp *)t)->lane;
    unsigned readers = 0;
    size_t at = SIZE_MAX;

    for (unsigned i = 0; i < n; i++)
        readers += lane->outs[m[i]->peer] != NULL;
    if (readers > 1 && rcx_cico_takes(&lane->base, buffer, bytes))
        at = rcx_cico_put(&lane->base, buffer, bytes);
    for (unsigned i = 0; i < n; i++) {
        struct rcx_shm_channel *p = lane->outs[m[i]->peer];
        const bool is_sent = at != SIZE_MAX && p &&
                             rcx_cico_tell(p, tag_base | m[i]->tag, at, bytes);

        m[i]->sharing = is_sent ? RCX_SHARING_SENT : RCX_SHARING_REFUSED;
    }
}

void rcx_ucp_lane_activate(struct rcx_ucp_lane *lane, struct rcx_shm_channel *p)
{
    p->is_active = true;
    lane->active[lane->actives++] = p;
}
