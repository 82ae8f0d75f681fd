/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lane within a node: memory that UCX maps, with a FIFO for each rank of
 * the node. Everything else between two ranks uses UCX's messages: control
 * messages, failed peers, waking a sleeper.
 *
 * Whether two ranks use the lane follows from what both have published, so they
 * decide alike. The decision is made at the first message between them.
 */
#ifndef RCX_TRANSPORT_UCP_LANE_H
#define RCX_TRANSPORT_UCP_LANE_H

#include "transport/node/caps.h"
#include "transport/node/process.h"
#include "transport/shm/channel.h"
#include "transport/ucp/memory.h"

struct ucp;
struct rcx_shm_segment;

/* Where the segment of a rank is. Published in front of its UCX address. */
struct rcx_segment_address {
    uint64_t segment;    /* its address in that rank */
    uint64_t group;      /* of ranks that can map each other's memory */
    uint32_t rkey_bytes; /* of the key that follows; 0: it has no segment, and
                            segment is the address of other memory */
    uint32_t index;      /* of the rank, in the group */
    uint32_t ranks;      /* of the group */
    uint32_t ring;       /* bytes */
    uint32_t sleeps;     /* it may sleep */
    uint32_t pid;        /* 0: the ranks of the node are not known */
};

/* The process of a peer, which this rank can look at. */
struct rcx_watched {
    struct rcx_process process; /* the address is its segment's */
    bool is_missing;            /* it failed the last liveness probe, */
    bool has_ended;             /* and the one before */
};

struct rcx_ucp_lane {
    struct rcx_shm_lane base;
    struct rcx_shm_channel *
        *channels; /* by rank; NULL: UCX's messages, or not chosen yet */
    struct rcx_shm_channel *
        *outs; /* the same, where the peer's segment is mapped */
    struct rcx_shm_channel **neighbours; /* the channels that exist */
    int neighbour_count;
    struct rcx_shm_channel **active; /* polled by each progress call */
    int actives;
    struct rcx_watched **watched; /* by rank; NULL: its process cannot be looked
                                     at, or nothing was sent to it yet */
    int cores;                    /* that ranks of this node may use */
    unsigned turns,
        idle_polls; /* progress calls, and those in a row without an event */
    bool is_asleep; /* or may be */
    uint64_t next_liveness_ns; /* when the liveness of peers is checked again */
    bool *lane_chosen;         /* by rank */
    bool all_chosen;           /* for all ranks that may have a channel */
    int others; /* ranks without a channel; valid once all_chosen */
    struct rcx_shm_segment *segment; /* NULL: none */
    struct rcx_segment_address place;
    struct rcx_ucp_memory memory; /* of the segment */
    struct rcx_ucp_block *blocks; /* memory given to the user */
    size_t
        plain_key_bytes; /* bytes of the key of memory that cannot be shared */
    const char *hindrance; /* why there is no segment; NULL: there is */
};

/* Make a segment if possible and wanted. A reason against it is logged, and is
 * no error. */
rcx_status_t rcx_ucp_lane_open(struct ucp *u, const struct rcx_node *node,
                               const struct rcx_transport_args *args);
void rcx_ucp_lane_close(struct ucp *u);

/* Decide whether peer has a channel. Connects nothing. */
rcx_status_t rcx_ucp_choose_lane(struct ucp *u, int peer);
/* The same for all ranks of this node. No other rank has a channel. */
rcx_status_t rcx_ucp_choose_lanes(struct ucp *u);
/* Connect to peer for sending. On an error, base.last_error gives the
 * reason. */
rcx_status_t rcx_ucp_reach(struct ucp *u, int peer);

/* A control message has been sent to peer, which sees it only by a full
 * progress. */
void rcx_ucp_lane_ring_doorbell(struct ucp *u, int peer);

/* As in struct rcx_transport_ops. */
void rcx_ucp_way(struct rcx_transport *t, int peer, char *text, size_t bytes);

unsigned rcx_ucp_lane_progress(struct ucp *u);
/* Now and then, check that the processes of peers are there. */
void rcx_ucp_probe_liveness(struct ucp *u);
/* As in struct rcx_transport_ops. */
enum rcx_process_state rcx_ucp_process_state(struct rcx_transport *t, int peer,
                                             bool was_absent);
rcx_status_t rcx_ucp_lane_recv_any(struct ucp *u, struct rcx_message *m);
/* Whether all that was sent has left. */
bool rcx_ucp_lane_is_flushed(const struct ucp *u);
/* Publish that this rank sleeps. False: something has arrived. */
bool rcx_ucp_lane_arm(struct ucp *u);
/* As in struct rcx_transport_ops. */
void rcx_ucp_lane_core_released(struct rcx_transport *t, bool rests);
bool rcx_ucp_lane_peers_run(struct rcx_transport *t);
bool rcx_ucp_lane_cores_needed(struct rcx_transport *t);
bool rcx_ucp_lane_probe(struct ucp *u, int peer, uint64_t tag, uint64_t mask,
                        struct rcx_arrival *found_p);
void rcx_ucp_lane_drop_unexpected(struct ucp *u, uint64_t tag, uint64_t mask);
void rcx_ucp_lane_cancel(struct ucp *u, struct rcx_message *m);
void rcx_ucp_lane_withdraw(struct ucp *u, struct rcx_message *m);

/* As in struct rcx_transport_ops. */
void rcx_ucp_send_shared(struct rcx_transport *t, struct rcx_message *m[],
                         unsigned n, const void *buffer, size_t bytes,
                         uint64_t tag_base);

/* Poll peer in each progress call from now on. */
void rcx_ucp_lane_activate(struct rcx_ucp_lane *lane,
                           struct rcx_shm_channel *p);

static inline rcx_status_t rcx_ucp_lane_send(struct rcx_ucp_lane *lane,
                                             struct rcx_shm_channel *p,
                                             const void *buffer, size_t bytes,
                                             uint64_t tag,
                                             struct rcx_message *m)
{
    const rcx_status_t status = rcx_shm_send(p, buffer, bytes, tag, m);

    if (__builtin_expect(status != RCX_OK && !p->is_active, 0))
        rcx_ucp_lane_activate(lane, p);
    return status;
}

static inline rcx_status_t rcx_ucp_lane_recv(struct rcx_ucp_lane *lane,
                                             struct rcx_shm_channel *p,
                                             struct rcx_message *m)
{
    const rcx_status_t status = rcx_shm_recv(p, m);
    const bool is_over = status == RCX_OK && p->mapped_count == 0;

    if (__builtin_expect(!is_over && !p->is_active, 0))
        rcx_ucp_lane_activate(lane, p);
    return status;
}

#endif
