/* SPDX-License-Identifier: BSD-3-Clause */
/* Ties: algorithms that have one price for a call, the lowest. */
#ifndef RCX_CORE_SCHED_TIE_H
#define RCX_CORE_SCHED_TIE_H

#include "core/sched/algo.h"

enum { RCX_TIE_MEMBERS = 16 };

/* An algorithm that is as cheap as any, with the parameters and the map of its
 * price. */
struct rcx_tie_member {
    const struct rcx_algo *algo;
    const struct rcx_nodes *nodes;
    int64_t params[RCX_PARAMS];
    double seconds;
};

/* Members are in the order of the table. Of more than there is room for, the
 * last are missing. */
struct rcx_tie {
    struct rcx_shape shape; /* by which they are priced */
    double least;
    int count; /* of members; 0: no algorithm has a price */
    struct rcx_tie_member members[RCX_TIE_MEMBERS];
};

void rcx_tie_begin(struct rcx_tie *t, const struct rcx_shape *shape);

/*
 * Offer an algorithm with its price; s has its parameters and its map. It
 * becomes a member unless another one is cheaper, and replaces members that are
 * dearer. Prices that differ by rounding only are equal.
 */
void rcx_tie_offer(struct rcx_tie *t, const struct rcx_algo *algo,
                   const struct rcx_shape *s, double seconds);

/*
 * Set *member_p to the member that takes the least scratch; among equals, to
 * the one with the fewest messages; among equals, to the first of the table. t
 * has several. All ranks find the same one. Overwrites the schedule of b.
 * Errors are logged; RCX_ERR_NOMEM is one of this rank only.
 */
rcx_status_t rcx_tie_break(const struct rcx_tie *t, struct rcx_builder *b,
                           const struct rcx_tie_member **member_p);

#endif
