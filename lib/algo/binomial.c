/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/binomial.h"

#include "algo/tree.h"
#include "algo/tree_phase.h"

void rcx_binomial_reduce(struct rcx_builder *b, const struct rcx_shape *s,
                         int root, struct rcx_span result)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_topology t = rcx_topology_binomial(s->size, root);

    rcx_tree_phase_reduce(b, &all, &t, rcx_span_in(s), result);
}

/* The blocks of a node's ranks. */
static struct rcx_span blocks_of(const struct rcx_shape *s,
                                 struct rcx_interval node,
                                 struct rcx_span vector)
{
    const struct rcx_span first = rcx_shape_block(s, node.lo);
    const struct rcx_span last = rcx_shape_block(s, node.hi - 1);

    return rcx_span_sub(vector, first.offset,
                        last.offset + last.count - first.offset);
}

void rcx_binomial_scatter(struct rcx_builder *b, const struct rcx_shape *s,
                          struct rcx_span vector)
{
    struct rcx_interval at = {0, s->size};

    while (at.hi - at.lo > 1) {
        const int mid = rcx_tree_split(at);
        const struct rcx_interval left = {at.lo, mid}, right = {mid, at.hi};

        if (s->rank == left.lo)
            rcx_step_send(b, right.lo, blocks_of(s, right, vector));
        else if (s->rank == right.lo)
            rcx_step_recv(b, left.lo, blocks_of(s, right, vector));
        at = s->rank < mid ? left : right;
    }
}
