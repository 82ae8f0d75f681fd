/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive vector halving over a group of 2^k members, and the phases in
 * reverse (Thakur, Rabenseifner, Gropp 2005, 4.4 and 5.1). Each takes k rounds,
 * in which a member's part of the vector halves or doubles.
 *
 * The vector has as many parts as the group has members, each of one or more
 * whole blocks. In a round, two members that work on the same parts exchange:
 * one keeps the lower half of the parts, the other the upper half. Neighbours
 * may exchange first (distance doubling). Then operands are combined in rank
 * order, by the fixed tree if the group is all ranks, and member i ends with
 * the part whose number has the bits of i reversed. Or the most distant members
 * exchange first (distance halving). Then member i ends with part i, and
 * operands must commute.
 */
#ifndef RCX_ALGO_PHASE_HALVING_H
#define RCX_ALGO_PHASE_HALVING_H

#include "algo/phase/swing.h"

struct rcx_halving {
    struct rcx_group group;   /* 2^k members, ascending */
    struct rcx_blocks blocks; /* at least as many as members */
    bool near_first;          /* distance doubling */
    /* Distance doubling by the butterfly of Swing, and not by that of a cube;
     * NULL: by that. Member i ends with the part that swing.h says. */
    const struct rcx_swing *swing;
    /* Shape whose ranks are folded: part i has the blocks of the ranks that
     * fold into member i. NULL: parts have equally many blocks, or one more in
     * some, spread evenly. */
    const struct rcx_shape *folded;
};

/* Return the part of member i. */
int rcx_halving_part_of(const struct rcx_halving *h, int i);
/* Return the element at which part i starts; the vector's end for the part
 * after the last. */
size_t rcx_halving_start(const struct rcx_halving *h, int i);
/* Return part i of a span that starts with part first. */
struct rcx_span rcx_halving_part(const struct rcx_halving *h,
                                 struct rcx_span span, int first, int i);
/* Return this rank's part of a vector. */
struct rcx_span rcx_halving_own(const struct rcx_halving *h,
                                struct rcx_span vector);

/*
 * Combine the operands of the group. Each member gets its part in result, which
 * may be that part of the operand. Scratch: what is received, a vector less one
 * part.
 */
void rcx_halving_reduce_scatter(struct rcx_builder *b,
                                const struct rcx_halving *h,
                                struct rcx_span operand,
                                struct rcx_span result);

/* Allgather: each member has its part of vector, and all end with the whole
 * vector. */
void rcx_halving_allgather(struct rcx_builder *b, const struct rcx_halving *h,
                           struct rcx_span vector);
/* The same if member full has the whole vector at first, and receives
 * nothing. */
void rcx_halving_allgather_others(struct rcx_builder *b,
                                  const struct rcx_halving *h,
                                  struct rcx_span vector, int full);

/* Return the costs with parts of equal length. */
struct rcx_cost rcx_halving_reduce_scatter_cost(int size, double count);
struct rcx_cost rcx_halving_allgather_cost(int size, double count);

/* Gather: only member root gets the whole vector, at the cost of the allgather.
 * Other members end with some of the parts. */
void rcx_halving_gather(struct rcx_builder *b, const struct rcx_halving *h,
                        int root, struct rcx_span vector);

/*
 * Last phase of a reduce-scatter of the shape's blocks: members send the blocks
 * of their parts to the ranks that they belong to. Some ranks may be no
 * members.
 */

/* Return where this rank's part is to go: OUT if it is just the rank's own
 * block, else scratch; an empty span if the rank is no member. */
struct rcx_span rcx_halving_place(struct rcx_builder *b,
                                  const struct rcx_halving *h);
/* Send all ranks their blocks. part: this member's part. */
void rcx_halving_hand_out(struct rcx_builder *b, const struct rcx_halving *h,
                          struct rcx_span part);
/* First phase of an allgather, the reverse of it: ranks send their blocks to
 * the members that have them in their parts, at their places in vector. */
void rcx_halving_hand_in(struct rcx_builder *b, const struct rcx_halving *h,
                         struct rcx_span block, struct rcx_span vector);
/* How many blocks the slowest member sends on in the end, one after another,
 * where near ranks exchange first. Folded, it is one of a pair, which is ready
 * last; among binary blocks it is in the largest cube. */
int rcx_halving_handed(int size);
/* Return the cost of so many messages of a block, one after another. */
struct rcx_cost rcx_halving_hand_out_cost(const struct rcx_shape *s,
                                          int messages);

/*
 * First phase for any p = 2^k + r: ranks 0..2r-1 fold in pairs, even into odd,
 * and the part of a member has the blocks of its pair.
 */

/* Return the cost of folding and halving. No member is slower than member 0,
 * which has most blocks in every round. */
struct rcx_cost rcx_halving_cost(const struct rcx_shape *s);
/* Return the cost of the same without folding, and of an allgather. */
struct rcx_cost rcx_halving_parts_cost(const struct rcx_shape *s);
/* Fold. *mine_p becomes this rank's operand if it is a member. */
struct rcx_halving rcx_halving_fold(struct rcx_builder *b,
                                    const struct rcx_shape *s, bool near_first,
                                    struct rcx_span *mine_p);

#endif
