/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive vector halving over a group of 2^k members, and the ways back
 * (Thakur, Rabenseifner, Gropp 2005, 4.4 and 5.1): k rounds each, in which the
 * vector at hand halves or doubles.
 *
 * The vector has as many parts as the group has members, each of one whole
 * block or more. The members that work on the same parts pair up, one keeps
 * the lower half of the parts, the other the upper half. Neighbours may meet
 * first (distance doubling): ranks are then combined in order, by the fixed
 * tree where the group is all ranks, and member i ends with the part whose
 * number has the bits of i mirrored. Or the most distant members meet first
 * (distance halving): member i ends with part i, and operands commute.
 */
#ifndef RCX_ALGO_PHASE_HALVING_H
#define RCX_ALGO_PHASE_HALVING_H

#include "core/sched/algo.h"

struct rcx_halving {
    struct rcx_group group;   /* 2^k members, ascending */
    struct rcx_blocks blocks; /* as many at least */
    bool near_first;          /* distance doubling */
    /* Part i has the blocks of the ranks that fold into member i; NULL: all
     * parts have equally many, or some have one more, spread evenly. */
    const struct rcx_shape *folded;
};

/* The part of a member, and the member of a part. */
int rcx_halving_mirror(const struct rcx_halving *h, int i);
/* Where part i starts; the vector's end for the one past the last. */
size_t rcx_halving_start(const struct rcx_halving *h, int i);
/* Part i of a span that starts with part first. */
struct rcx_span rcx_halving_part(const struct rcx_halving *h,
                                 struct rcx_span span, int first, int i);
/* This rank's part of a vector. */
struct rcx_span rcx_halving_own(const struct rcx_halving *h,
                                struct rcx_span vector);

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
/* Member full has all of it at first, and gets nothing. */
void rcx_halving_allgather_others(struct rcx_builder *b,
                                  const struct rcx_halving *h,
                                  struct rcx_span vector, int full);

/* What they cost with parts of equal length. */
struct rcx_cost rcx_halving_reduce_scatter_cost(int size, double count);
struct rcx_cost rcx_halving_allgather_cost(int size, double count);

/* The same for member root alone, at the same cost; those of others end half
 * full. */
void rcx_halving_gather(struct rcx_builder *b, const struct rcx_halving *h,
                        int root, struct rcx_span vector);

/*
 * Reduce-scatter of a shape's blocks: the members' parts are handed out to the
 * ranks that they belong to. Not all ranks need be members.
 */

/* Where this rank's part is to go: OUT if it is just what the rank needs;
 * nowhere if it is no member. */
struct rcx_span rcx_halving_place(struct rcx_builder *b,
                                  const struct rcx_halving *h);
/* Everyone gets its block; members have their part in part. */
void rcx_halving_hand_out(struct rcx_builder *b, const struct rcx_halving *h,
                          struct rcx_span part);
/* Of so many messages one after another. */
struct rcx_cost rcx_halving_hand_out_cost(const struct rcx_shape *s,
                                          int messages);

/*
 * The members for any p = 2^k + r: ranks 0..2r-1 fold in pairs, even into odd,
 * and a member's part is what its pair needs.
 */

/* What folding and halving cost. Member 0 is the slowest, or as slow as any:
 * it has most blocks in every round. */
struct rcx_cost rcx_halving_cost(const struct rcx_shape *s);
/* Fold; *mine_p becomes this rank's operand, where it is a member. */
struct rcx_halving rcx_halving_fold(struct rcx_builder *b,
                                    const struct rcx_shape *s, bool near_first,
                                    struct rcx_span *mine_p);

#endif
