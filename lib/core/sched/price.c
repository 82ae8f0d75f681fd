/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prices of algorithms: seconds by their cost formulas and a machine's
 * parameters. Methods, phases and the values of "auto" are chosen by them.
 * Prices do not account for segments.
 */
#include "core/sched/price.h"

#include <math.h>
#include <string.h>

int rcx_price_sharing(const struct rcx_shape *s)
{
    const struct rcx_nodes *n = rcx_nodes_linked(s->nodes);

    return n && n->count > 1 ? n->most : 0;
}

struct rcx_machine rcx_price_machine(const struct rcx_algo *algo,
                                     const struct rcx_shape *s, int sharing)
{
    struct rcx_machine m = *rcx_machine_of(s);

    if (sharing > 0 && !algo->is_by_nodes) {
        m.alpha += m.far_alpha;
        m.beta += m.far_beta * sharing;
    }
    return m;
}

bool rcx_price_is_none(const struct rcx_algo *algo, const struct rcx_shape *s)
{
    return algo->is_by_nodes && s->nodes && s->nodes->are_cores;
}

static double price_settled(const struct rcx_algo *algo, struct rcx_shape *s,
                            rcx_order_t needed, int sharing)
{
    const struct rcx_machine machine = rcx_price_machine(algo, s, sharing);
    struct rcx_cost cost;

    rcx_params_settle(algo, s, &machine);
    if (!rcx_algo_fits(algo, s) || rcx_algo_order(algo, s) < needed ||
        rcx_price_is_none(algo, s))
        return INFINITY;
    cost = algo->cost(s);
    return rcx_cost_seconds(&cost, s->elem_bytes, &machine);
}

double rcx_price_with(const struct rcx_algo *algo, const struct rcx_shape *s,
                      const int64_t params[], rcx_order_t needed, int sharing)
{
    struct rcx_shape as_it = *s;

    memcpy(as_it.params, params, sizeof as_it.params);
    return price_settled(algo, &as_it, needed, sharing);
}

double rcx_price_of(const struct rcx_algo *algo, struct rcx_shape *s,
                    rcx_order_t needed, int sharing)
{
    rcx_params_reset(algo, s->params);
    return price_settled(algo, s, needed, sharing);
}

const struct rcx_algo *rcx_price_cheapest(struct rcx_shape *s,
                                          rcx_order_t needed, int sharing)
{
    const struct rcx_algo *best = NULL;
    struct rcx_shape as_it = *s;
    double least = INFINITY;

    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        double seconds;

        if ((*a)->coll != s->coll)
            continue;
        seconds = rcx_price_of(*a, &as_it, needed, sharing);
        if (seconds >= least)
            continue;
        least = seconds;
        best = *a;
        memcpy(s->params, as_it.params, sizeof s->params);
    }
    return best;
}
