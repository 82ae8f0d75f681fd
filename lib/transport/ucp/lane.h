/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lane inside a node: memory that UCX maps, with an inbox for each rank of
 * the node. All else between two ranks stays UCX's messages: notes, deaths,
 * and what wakes a sleeper.
 *
 * Which lane a pair takes follows from what both have published, so both take
 * the same; it is settled when the first message between them is.
 */
#ifndef RCX_TRANSPORT_UCP_LANE_H
#define RCX_TRANSPORT_UCP_LANE_H

#include "transport/node/caps.h"
#include "transport/shm/channel.h"
#include "transport/ucp/memory.h"

struct ucp;
struct rcx_window;

/* Where a rank's window is; what it publishes in front of its address. */
struct rcx_place {
    uint64_t window;     /* its address, there */
    uint64_t group;      /* of ranks that can map each other's memory */
    uint32_t rkey_bytes; /* of the key that follows; 0: it has no window */
    uint32_t index;      /* of the rank, in the group */
    uint32_t ranks;      /* of the group */
    uint32_t ring;       /* its bytes */
    uint32_t sleeps;     /* it may */
    uint32_t pid;
};

struct rcx_ucp_lane {
    struct rcx_lane base;
    struct rcx_pair **pairs; /* by rank; NULL: UCX's messages, or not settled */
    struct rcx_pair **outs;  /* the same, where the peer's window is mapped */
    struct rcx_pair **neighbours; /* those of pairs that are there */
    int neighbour_count;
    struct rcx_pair **active; /* to be looked at each time */
    int actives;
    int cores;             /* that ranks of this node may use */
    unsigned turns, vain;  /* of all; without an event */
    bool is_asleep;        /* or may be */
    uint64_t next_roll_ns; /* when it looks for the dead again */
    bool *settled;         /* by rank */
    bool all_settled;      /* ranks that may have a pair */
    int others; /* ranks without a pair; of use once all are settled */
    struct rcx_window *window; /* NULL: none */
    struct rcx_place place;
    struct rcx_ucp_memory memory; /* its */
    struct rcx_ucp_block *blocks; /* of memory that was given out */
    size_t plain_key_bytes; /* of the key of memory that cannot be shared */
    const char *hindrance;  /* why there is no window; NULL: nothing */
};

/* Make a window, where that can be and is wanted; what hinders is told, and is
 * no error. */
rcx_status_t rcx_ucp_lane_open(struct ucp *u, const struct rcx_node *node,
                               enum rcx_lanes lanes);
void rcx_ucp_lane_close(struct ucp *u);

/* Whether peer's messages come to a pair; nobody is connected for that. */
rcx_status_t rcx_ucp_settle(struct ucp *u, int peer);
/* The same of all ranks of this node; no other has a pair. */
rcx_status_t rcx_ucp_settle_all(struct ucp *u);
/* Have a way to send to peer; what is said of an error is in base.last_error. */
rcx_status_t rcx_ucp_reach(struct ucp *u, int peer);

/* A note to peer has been sent, which hears of it only by progress. */
void rcx_ucp_lane_ring_doorbell(struct ucp *u, int peer);

/* A transport's way. */
void rcx_ucp_way(struct rcx_transport *t, int peer, char *text, size_t bytes);

unsigned rcx_ucp_lane_progress(struct ucp *u);
rcx_status_t rcx_ucp_lane_recv_any(struct ucp *u, struct rcx_message *m);
/* Whether all that was sent has left. */
bool rcx_ucp_lane_is_flushed(const struct ucp *u);
/* Say that this rank sleeps; false: something has come. */
bool rcx_ucp_lane_arm(struct ucp *u);
/* A transport's rest and is_served. */
void rcx_ucp_lane_core_released(struct rcx_transport *t, bool rests);
bool rcx_ucp_lane_peers_run(struct rcx_transport *t);
bool rcx_ucp_lane_probe(struct ucp *u, uint64_t tag, uint64_t mask,
                        uint64_t *found_p);
void rcx_ucp_lane_cancel(struct ucp *u, struct rcx_message *m);

/* peer is looked at from now on. */
void rcx_ucp_lane_activate(struct rcx_ucp_lane *lane, struct rcx_pair *p);

static inline rcx_status_t rcx_ucp_lane_send(struct rcx_ucp_lane *lane,
                                             struct rcx_pair *p,
                                             const void *buffer, size_t bytes,
                                             uint64_t tag,
                                             struct rcx_message *m)
{
    const rcx_status_t status = rcx_pair_send(p, buffer, bytes, tag, m);

    if (__builtin_expect(status != RCX_OK && !p->is_active, 0))
        rcx_ucp_lane_activate(lane, p);
    return status;
}

static inline rcx_status_t rcx_ucp_lane_recv(struct rcx_ucp_lane *lane,
                                             struct rcx_pair *p,
                                             struct rcx_message *m)
{
    const rcx_status_t status = rcx_pair_recv(p, m);

    if (__builtin_expect(status != RCX_OK && !p->is_active, 0))
        rcx_ucp_lane_activate(lane, p);
    return status;
}

#endif
