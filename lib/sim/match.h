/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both sides of the simulated network's messages: those that wait for the other
 * one, and pairs that are yet to be delivered.
 */
#ifndef RCX_SIM_MATCH_H
#define RCX_SIM_MATCH_H

#include "core/iface/transport.h"

/* One side of a message: a send or a receive. */
struct side {
    struct side *next; /* in its bucket, among arrived or free ones */
    bool is_send;
    int rank; /* the receiver, for both sides */
    int from; /* the caller */
    uint64_t tag;
    uint64_t mask;  /* of a receive: where tags are compared */
    uint64_t order; /* of its posting */
    bool is_masked; /* the receiver asks for the tag */
    char *buffer;
    size_t bytes;        /* of a receive that arrived: what came */
    rcx_status_t status; /* once arrived */
    struct rcx_message *message;
};

struct pair {
    struct side *send, *recv;
};

struct sides {
    struct rcx_heap *heap;
    size_t *unexpected;    /* unmatched sends to each rank */
    struct side **buckets; /* unmatched, oldest first */
    size_t bucket_count;   /* a power of two, no fewer than unmatched */
    struct side *masked; /* unmatched receives by part of the tag alone, too */
    uint64_t posted;
    size_t unmatched;
    struct side *free;
    struct slab *slabs;
    struct pair *pairs; /* matched, not delivered yet */
    size_t pair_count, pair_capacity;
};

/* False: no memory. */
bool sides_open(struct sides *sides, struct rcx_heap *heap, int ranks);
void sides_close(struct sides *sides);

/* Pair side with its partner, the oldest whose tag fits, or keep it until that
 * comes; RCX_ERR_NOMEM. *partner_p: NULL where it is kept. */
rcx_status_t sides_match(struct sides *sides, struct side side,
                         struct side **partner_p);

/* The unmatched receive of m by a rank, which waits no more; NULL: none. */
struct side *sides_withdraw(struct sides *sides, int rank,
                            const struct rcx_message *m);
/* An unmatched send to rank whose tag is tag under mask; NULL: none. */
const struct side *sides_look_for(const struct sides *sides, int rank,
                                  uint64_t tag, uint64_t mask);
/* What a rank has posted and is unmatched goes. */
void sides_drop(struct sides *sides, int rank);

/* The side's owner has seen its end. */
void sides_recycle(struct sides *sides, struct side *side);

#endif
