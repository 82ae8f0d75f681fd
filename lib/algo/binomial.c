/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/binomial.h"

#include "algo/tree_phase.h"

void rcx_binomial_reduce(struct rcx_builder *b, const struct rcx_shape *s,
                         int root, struct rcx_span result)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_topology t = rcx_topology_binomial(s->size, root);

    rcx_tree_phase_reduce(b, &all, &t, rcx_span_in(s), result);
}
