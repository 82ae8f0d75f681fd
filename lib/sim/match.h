/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching of the simulated network's messages. A side is a send or a receive.
 * It waits for its partner first, and then in a pair for delivery.
 */
#ifndef RCX_SIM_MATCH_H
#define RCX_SIM_MATCH_H

#include "core/iface/transport.h"

/* One side of a message: a send or a receive. */
struct side {
    struct side *next; /* next in its bucket, or in a list of arrived or of free
                          sides */
    bool is_send;
    int rank; /* the receiver, on both sides */
    int from; /* the rank that has posted it */
    uint64_t tag;
    uint64_t mask;  /* of a receive: bits of the tag that are compared */
    uint64_t order; /* number in the order of posting */
    bool is_masked; /* a receive by mask, which reports the tag of its
                       message */
    char *buffer;
    size_t bytes; /* of a receive, after delivery: bytes of the message */
    rcx_status_t status; /* set on completion */
    struct rcx_message *message;
};

struct pair {
    struct side *send, *recv;
};

struct sides {
    struct rcx_heap *heap;
    size_t *unexpected;    /* per rank: number of unmatched sends to it */
    struct side **buckets; /* unmatched sides by tag, oldest first */
    size_t bucket_count;   /* a power of two, at least the number of unmatched
                              sides */
    struct side *masked;   /* unmatched receives whose mask is not all ones,
                              oldest first */
    uint64_t posted;
    size_t unmatched;
    struct side *free;
    struct slab *slabs;
    struct pair *pairs; /* matched, but not delivered yet */
    size_t pair_count, pair_capacity;
};

/* False: no memory. */
bool sides_open(struct sides *sides, struct rcx_heap *heap, int ranks);
void sides_close(struct sides *sides);

/* Match side with its partner, the oldest side that fits, or keep it until the
 * partner is posted. *partner_p is NULL if side is kept. RCX_ERR_NOMEM: no
 * effect. */
rcx_status_t sides_match(struct sides *sides, struct side side,
                         struct side **partner_p);

/* Remove the unmatched receive of m that rank has posted, and return it; NULL:
 * there is none. */
struct side *sides_withdraw(struct sides *sides, int rank,
                            const struct rcx_message *m);
/* Find an unmatched send to rank whose tag agrees with tag where mask has ones;
 * NULL: there is none. */
const struct side *sides_look_for(const struct sides *sides, int rank,
                                  uint64_t tag, uint64_t mask);
/* Remove and return such a send. */
struct side *sides_take_send(struct sides *sides, int rank, uint64_t tag,
                             uint64_t mask);
/* Remove all unmatched sends and receives that rank has posted. */
void sides_drop(struct sides *sides, int rank);

/* Return side to the list of free sides. */
void sides_recycle(struct sides *sides, struct side *side);

#endif
