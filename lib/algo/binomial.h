/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction to a root along the fixed tree, and scatter from rank 0 along the
 * same tree. ceil(lg p) rounds each, of the whole vector but in the scatter.
 *
 * A subtree is represented by its lowest rank, the one that holds the root by
 * the root: ranks are not rotated, so the order of operands does not depend on
 * the root. Of a node's two halves one representative sends to the other.
 */
#ifndef RCX_ALGO_BINOMIAL_H
#define RCX_ALGO_BINOMIAL_H

#include "core/algo.h"

/*
 * Combine the operands of all ranks into result on root. Elsewhere result is
 * scratch, and may be empty. Scratch: two vectors, and where it is empty one
 * more.
 */
void rcx_binomial_reduce(struct rcx_builder *b, const struct rcx_shape *s,
                         int root, struct rcx_span result);

/*
 * Of vector of rank 0, each rank gets its block, and those of its subtree, at
 * their places in vector.
 */
void rcx_binomial_scatter(struct rcx_builder *b, const struct rcx_shape *s,
                          struct rcx_span vector);

#endif
