/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated network of p ranks in one process, by which tests prove
 * algorithms. Messages match by the same tags as on a real network. A seed
 * decides the order of delivery.
 *
 * A message is delivered some time after its receive is posted. Only then its
 * data is read, and its send completes. A posted receive fills its buffer with
 * garbage at once. So a run shows if a buffer is used too early. A receive by
 * mask writes no garbage: a shorter message must leave the rest unchanged.
 *
 * Without threads the data of most receives that allow it is held, and copied
 * to the buffer at some later delivery, if it has not been released by then.
 */
#ifndef RCX_SIM_NETWORK_H
#define RCX_SIM_NETWORK_H

#include "core/iface/transport.h"

struct rcx_sim;

struct rcx_sim *rcx_sim_create(struct rcx_heap *heap, int size, uint64_t seed);
void rcx_sim_destroy(struct rcx_sim *sim);

/* Return the transport of a rank. It must not be used after the network is
 * destroyed. */
struct rcx_transport *rcx_sim_port(struct rcx_sim *sim, int rank);

/* From now on, each rank has its own thread, and only that thread uses its
 * port. */
void rcx_sim_set_threaded(struct rcx_sim *sim);

/* Faults in the messages of one rank. To simulate a rank that stops, a test
 * just does not call its progress any more. */
struct rcx_sim_fault {
    int rank;   /* -1: no fault */
    bool fails; /* posting message number after returns an error */
    uint64_t after;
    uint64_t delays; /* this many deliveries from other ranks precede those from
                        rank, if possible */
};
void rcx_sim_set_fault(struct rcx_sim *sim, const struct rcx_sim_fault *fault);

/* Deliver one message of a matched pair. Stores sender and receiver in ranks.
 * False: there is no such message. */
bool rcx_sim_deliver(struct rcx_sim *sim, int ranks[2]);

/* Number of sends and receives without a partner, plus undelivered pairs. */
size_t rcx_sim_unmatched(const struct rcx_sim *sim);
/* Number of messages delivered so far. */
uint64_t rcx_sim_delivered(const struct rcx_sim *sim);
/* Number of messages whose data is held now. */
size_t rcx_sim_held(const struct rcx_sim *sim);

#endif
