/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rank of a node as a leader, for blocks of ranks: the ranks at one place
 * of all nodes are a lane, and exchange what belongs to them (Traeff, Hunold
 * 2020; Singh et al. 2026; alltoall: Kinkead et al. 2025). All ranks of a node
 * share its link, combine and copy at once, where with one leader the others
 * wait.
 *
 * The vector is used in the order of lanes: the blocks of place 0 of all nodes,
 * those of place 1, ... Where ranks are dealt to nodes in turn, that is their
 * own order. Else blocks are copied to it, or from it.
 */
#ifndef RCX_ALGO_PHASE_LANES_H
#define RCX_ALGO_PHASE_LANES_H

#include "algo/phase/by_nodes.h"

/* The parameter "leaders": one, or all ranks of a node. */
extern const struct rcx_param rcx_lanes_params[];
/* Whether the parameter is not one. */
bool rcx_lanes_are_used(const struct rcx_shape *s);
/* Whether there are nodes, and with several leaders all are of one size, and
 * the leaders as many. */
bool rcx_lanes_fit(const struct rcx_shape *s);
#define RCX_LANES_NEEDS                                                        \
    RCX_BY_NODES_NEEDS "; one leader, or nodes of as many ranks each"

/* The two phases of a collective of blocks, and how it cuts the vector. */
struct rcx_lanes {
    struct rcx_group node, lane;
    struct rcx_phase within, between;
    struct rcx_span part; /* this rank's lane, in a vector in that order */
    bool packs;           /* the order of ranks is another one */
    size_t *starts;
};
/* Return the cost of both phases. */
struct rcx_cost rcx_lanes_cost(const struct rcx_shape *s);
/* Set up the phases for the collective of s; false: no memory, and b fails. */
bool rcx_lanes_open(struct rcx_lanes *l, struct rcx_builder *b,
                    const struct rcx_shape *s);
void rcx_lanes_close(struct rcx_lanes *l, struct rcx_builder *b);
/* Copy all blocks of vector, in the order of ranks, to all; or back, in an
 * allgather in place without the own one, which is there. */
void rcx_lanes_pack(struct rcx_builder *b, const struct rcx_shape *s,
                    struct rcx_span all, struct rcx_span vector);
void rcx_lanes_unpack(struct rcx_builder *b, const struct rcx_shape *s,
                      struct rcx_span vector, struct rcx_span all);

#endif
