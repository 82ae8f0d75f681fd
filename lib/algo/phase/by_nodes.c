/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/phase/by_nodes.h"

bool rcx_by_nodes_fits(const struct rcx_shape *s)
{
    return s->nodes && s->nodes->count > 1 && s->nodes->most > 1;
}

const char *const rcx_by_nodes_needs =
    "several nodes, one of them with several ranks";

rcx_order_t rcx_by_nodes_needed(const struct rcx_shape *s)
{
    return s->commutative ? RCX_ORDER_SAME : RCX_ORDER_RANK;
}

static rcx_order_t lesser(rcx_order_t a, rcx_order_t b)
{
    return a < b ? a : b;
}

/* A tree of trees is the fixed tree in lucky cases only. */
rcx_order_t rcx_by_nodes_order(const struct rcx_shape *s, rcx_order_t within,
                               rcx_order_t between)
{
    const rcx_order_t most =
        s->nodes->in_order ? RCX_ORDER_UNIFORM : RCX_ORDER_SAME;

    return lesser(most, lesser(within, between));
}

struct rcx_phase rcx_by_nodes_within(enum rcx_coll coll,
                                     const struct rcx_shape *s, int ranks,
                                     size_t count)
{
    return rcx_phase_cheapest(coll, rcx_by_nodes_needed(s), s, ranks, count,
                              RCX_WAY_NODE, 1);
}

static void raise_to(double *most, double x)
{
    if (x > *most)
        *most = x;
}

struct rcx_cost rcx_by_nodes_within_cost(enum rcx_coll coll,
                                         const struct rcx_shape *s,
                                         size_t count)
{
    struct rcx_cost most = {0};

    for (int ranks = s->nodes->least; ranks <= s->nodes->most; ranks++) {
        const struct rcx_phase phase =
            rcx_by_nodes_within(coll, s, ranks, count);
        const struct rcx_cost cost =
            rcx_phase_cost(&phase, s, ranks, count, RCX_WAY_NODE, 1);

        raise_to(&most.rounds, cost.rounds);
        raise_to(&most.volume, cost.volume);
        raise_to(&most.combines, cost.combines);
    }
    return most;
}

rcx_order_t rcx_by_nodes_within_order(enum rcx_coll coll,
                                      const struct rcx_shape *s, size_t count)
{
    rcx_order_t least = RCX_ORDER_CANONICAL;

    for (int ranks = s->nodes->least; ranks <= s->nodes->most; ranks++) {
        const struct rcx_phase phase =
            rcx_by_nodes_within(coll, s, ranks, count);
        const struct rcx_shape inner = rcx_phase_shape(&phase, s, ranks, count);

        least = lesser(least, rcx_algo_order(phase.algo, &inner));
    }
    return least;
}
