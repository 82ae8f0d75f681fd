/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange of bundles of blocks between nodes, to a radix, with several ranks
 * of each node in a round: alltoall multi_object.
 *
 * Let there be N nodes, of c ranks or more. Bundle e of a node is for the node
 * e above it. It has a row from each rank of the node, with a block for each
 * rank there. At weight w = 1, radix, radix^2, ... < N, bundles whose number
 * has digit d > 0 go to the node d w above. At most c ranks of a node carry
 * them. By digit, carrier number (d - 1) mod c has all rows of the bundles with
 * digit d, and bundles change carriers between two weights. Otherwise a carrier
 * has its own rows of all bundles, and those of ranks beyond the first c.
 * Before the first weight carriers collect rows from their node, and after the
 * last they deliver the blocks there.
 */
#ifndef RCX_ALGO_PHASE_BUNDLES_H
#define RCX_ALGO_PHASE_BUNDLES_H

#include "algo/phase/by_nodes.h"

struct rcx_bundles {
    const struct rcx_nodes *nodes;
    int count;     /* nodes */
    int carriers;  /* of a node: as many as the smallest one has ranks */
    int64_t radix; /* 2 to count */
    bool by_digit;
};

/* Return the least weight from w on at which bundle e has a digit but 0; count
 * or more: there is none. */
static inline int64_t rcx_bundles_weight(const struct rcx_bundles *p, int64_t e,
                                         int64_t w)
{
    while (w < p->count && e / w % p->radix == 0)
        w *= p->radix;
    return w;
}

/* Return the carrier, by digit, of bundle e at a weight at which it has one. */
static inline int rcx_bundles_carrier(const struct rcx_bundles *p, int64_t e,
                                      int64_t w)
{
    return (int)((e / w % p->radix - 1) % p->carriers);
}

/* Whether a carrier has rows of bundle e for weight w, or for the next one at
 * which the bundle has a digit. */
static inline bool rcx_bundles_carries(const struct rcx_bundles *p, int carrier,
                                       int64_t e, int64_t w)
{
    w = rcx_bundles_weight(p, e, w);
    return w < p->count &&
           (!p->by_digit || rcx_bundles_carrier(p, e, w) == carrier);
}

/* Exchange equal blocks, from the operand to the result of s. Scratch: 3 n, and
 * what passes between weights. */
void rcx_bundles_exchange(struct rcx_builder *b, const struct rcx_shape *s,
                          const struct rcx_bundles *p);

#endif
