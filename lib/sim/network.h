/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network of p ranks in one process and one thread, on which algorithms are
 * proved. Messages are matched by the same tags as on the wire and delivered
 * in an order that a seed decides. A send completes no earlier than its
 * receive is posted, its data are read only then, and a posted receive's
 * buffer is filled with garbage at once: so a buffer used too early shows. But
 * for receives by mask, which leave alone what the message does not fill.
 */
#ifndef RCX_SIM_NETWORK_H
#define RCX_SIM_NETWORK_H

#include "core/iface/transport.h"

struct rcx_sim;

struct rcx_sim *rcx_sim_create(struct rcx_heap *heap, int size, uint64_t seed);
void rcx_sim_destroy(struct rcx_sim *sim);

/* The transport of one rank; closed with the network, not on its own. */
struct rcx_transport *rcx_sim_port(struct rcx_sim *sim, int rank);

/* From now on each rank has a thread of its own, which uses its port alone. */
void rcx_sim_set_threaded(struct rcx_sim *sim);

/* What goes wrong with a rank's messages, from now on. A rank stops where
 * nobody progresses it any more; the network need not know. */
struct rcx_sim_fault {
    int rank;   /* -1: nothing goes wrong */
    bool fails; /* posting message number after is an error */
    uint64_t after;
    uint64_t delays; /* so many deliveries go before its own, if there are */
};
void rcx_sim_set_fault(struct rcx_sim *sim, const struct rcx_sim_fault *fault);

/* Deliver one message that can be delivered. False: there is none. The ranks
 * concerned, sender and receiver, are stored. */
bool rcx_sim_deliver(struct rcx_sim *sim, int ranks[2]);

/* Sends and receives that found no partner so far. */
size_t rcx_sim_unmatched(const struct rcx_sim *sim);
/* Messages delivered so far. */
uint64_t rcx_sim_delivered(const struct rcx_sim *sim);

#endif
