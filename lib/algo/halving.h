/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive vector halving over a group of 2^k members, and the ways back
 * (Thakur, Rabenseifner, Gropp 2005, 4.4 and 5.1): k rounds each, in which the
 * vector at hand halves or doubles.
 *
 * The vector has as many parts as the group has members. The members that work
 * on the same parts pair up, one keeps the lower half of the parts, the other
 * the upper half. Neighbours may meet first (distance doubling): ranks are then
 * combined in order, by the fixed tree where the group is all ranks, and member
 * i ends with the part whose number has the bits of i mirrored. Or the most
 * distant members meet first (distance halving): member i ends with part i, and
 * operands commute.
 */
#ifndef RCX_ALGO_HALVING_H
#define RCX_ALGO_HALVING_H

#include "core/algo.h"

struct rcx_halving {
    struct rcx_group group;   /* 2^k members, ascending */
    struct rcx_blocks blocks;
    int pairs;                /* first parts of two blocks; others have one */
    bool near_first;          /* distance doubling */
};

/* The part of a member, and the member of a part. */
int rcx_halving_mirror(const struct rcx_halving *h, int i);
/* Where part i starts; the vector's end for the one past the last. */
size_t rcx_halving_start(const struct rcx_halving *h, int i);
/* Part i of a vector. */
struct rcx_span rcx_halving_part(const struct rcx_halving *h,
                                 struct rcx_span vector, int i);

/*
 * The group's operands, combined: each member ends with its part, in result,
 * which may be that part of the operand. Scratch: what is received, a vector
 * less one part.
 */
void rcx_halving_reduce_scatter(struct rcx_builder *b,
                                const struct rcx_halving *h,
                                struct rcx_span operand,
                                struct rcx_span result);

/* Each member has its part of vector; all end with all of it. */
void rcx_halving_allgather(struct rcx_builder *b, const struct rcx_halving *h,
                           struct rcx_span vector);

/* The same for member root alone; those of others end half full. */
void rcx_halving_gather(struct rcx_builder *b, const struct rcx_halving *h,
                        int root, struct rcx_span vector);

/*
 * Reduce-scatter of a shape's blocks for any p = 2^k + r: ranks 0..2r-1 fold
 * in pairs, even into odd, and a member's part is what its pair needs; the
 * parts of 2^k members are then handed out to the ranks that they belong to.
 */

/* What folding and halving cost. Member 0 is the slowest, or as slow as any:
 * it has most blocks in every round. */
struct rcx_cost rcx_halving_cost(const struct rcx_shape *s);
/* Fold; *mine_p becomes this rank's operand, where it is a member. */
struct rcx_halving rcx_halving_fold(struct rcx_builder *b,
                                    const struct rcx_shape *s, bool near_first,
                                    struct rcx_span *mine_p);
/* Where a member's part goes: OUT if it is just what this rank needs. */
struct rcx_span rcx_halving_place(struct rcx_builder *b,
                                  const struct rcx_halving *h);
/* Everyone gets its block; members have their part in part. */
void rcx_halving_hand_out(struct rcx_builder *b, const struct rcx_halving *h,
                          struct rcx_span part);

#endif
