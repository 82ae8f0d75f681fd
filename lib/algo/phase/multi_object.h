/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather of the parts of nodes, in which several ranks of each node take
 * part in each round between nodes (locality-aware Bruck: Bienz, Gautam,
 * Kharel 2022, arXiv 2206.03564; PiP-MColl: Huang et al. 2023).
 *
 * Let there be N nodes, of c ranks or more. At weight w = 1, c + 1, (c + 1)^2,
 * ..., the ranks of node x have the parts of nodes x, x + 1, ..., x + w - 1,
 * cyclic. Rank number d - 1 of the node sends them to its like of node x - d w,
 * and gets those of node x + d w. Then the ranks of a node send each other what
 * they got. So ceil(lg N / lg (c+1)) rounds between nodes have the effect of
 * ceil(lg N), and a node's link is used by c ranks at once. In the last round
 * only so many parts are sent as are missing.
 */
#ifndef RCX_ALGO_PHASE_MULTI_OBJECT_H
#define RCX_ALGO_PHASE_MULTI_OBJECT_H

#include "algo/phase/by_nodes.h"

/*
 * All ranks of a node have its part of vector, and all end with the whole
 * vector. parts: those of the nodes, in the order of nodes. Scratch: messages
 * that wrap around the vector's end, less than two vectors.
 */
void rcx_multi_object_allgather(struct rcx_builder *b,
                                const struct rcx_shape *s,
                                const struct rcx_blocks *parts,
                                struct rcx_span vector);
/*
 * The same after a phase within the node, which leaves the node's part on all
 * of its ranks.
 */
void rcx_multi_object_share(struct rcx_builder *b, const struct rcx_shape *s,
                            const struct rcx_phase *within, struct rcx_span in,
                            const struct rcx_blocks *parts,
                            struct rcx_span vector);
/* Whether the map is that of nodes, several ones. Within a node, messages cost
 * too little for it. */
bool rcx_multi_object_fits(const struct rcx_shape *s);
#define RCX_MULTI_OBJECT_NEEDS "nodes that ranks share"
/* Return the cost of the cheapest coll of count elements within a node, and of
 * the rounds; part: the elements of the largest part. */
struct rcx_cost rcx_multi_object_cost(enum rcx_coll coll,
                                      const struct rcx_shape *s, size_t count,
                                      size_t part);

#define RCX_MULTI_OBJECT_SOURCE                                                \
    "Bienz, Gautam, Kharel 2022, arXiv 2206.03564; Huang et al. 2023 "         \
    "(PiP-MColl)"

#endif
