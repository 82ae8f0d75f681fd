/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prices of algorithms: seconds by their cost formulas and a machine's
 * parameters. Methods, phases and the values of "auto" are chosen by them.
 * Prices do not account for segments.
 */
#include "core/sched/price.h"

#include <math.h>
#include <string.h>

bool rcx_price_is_none(const struct rcx_algo *algo, const struct rcx_shape *s)
{
    return algo->is_by_nodes && s->nodes && s->nodes->level == RCX_LEVEL_CORE;
}

static double price_settled(const struct rcx_algo *algo, struct rcx_shape *s,
                            rcx_order_t needed)
{
    struct rcx_cost cost;

    rcx_params_settle(algo, s);
    if (!rcx_algo_fits(algo, s) || rcx_algo_order(algo, s) < needed ||
        rcx_price_is_none(algo, s))
        return INFINITY;
    cost = rcx_cost_of(algo, s);
    return rcx_cost_seconds(&cost, s->elem_bytes, rcx_machine_of(s));
}

double rcx_price_with(const struct rcx_algo *algo, const struct rcx_shape *s,
                      const int64_t params[], rcx_order_t needed)
{
    struct rcx_shape as_it = *s;

    memcpy(as_it.params, params, sizeof as_it.params);
    return price_settled(algo, &as_it, needed);
}

double rcx_price_by_level(const struct rcx_algo *algo, struct rcx_shape *s,
                          rcx_order_t needed)
{
    const struct rcx_nodes *n = s->nodes;
    struct rcx_shape best = *s;
    double least = price_settled(algo, &best, needed);

    if (!algo->is_by_nodes)
        n = NULL;
    while (n && (n = n->coarser)) {
        struct rcx_shape as_it = *s;
        double seconds;

        as_it.nodes = n;
        seconds = price_settled(algo, &as_it, needed);
        if (seconds >= least)
            continue;
        least = seconds;
        best = as_it;
    }
    *s = best;
    return least;
}

double rcx_price_of(const struct rcx_algo *algo, struct rcx_shape *s,
                    rcx_order_t needed)
{
    rcx_params_reset(algo, s->params);
    for (int i = 0; algo->params && algo->params[i].name; i++)
        if (algo->params[i].candidate)
            s->params[i] = RCX_PARAM_AUTO;
    return rcx_price_by_level(algo, s, needed);
}

const struct rcx_algo *rcx_price_cheapest(struct rcx_shape *s,
                                          rcx_order_t needed)
{
    const struct rcx_algo *best = NULL;
    struct rcx_shape cheapest = *s;
    double least = INFINITY;

    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        struct rcx_shape as_it = *s;
        double seconds;

        if ((*a)->coll != s->coll)
            continue;
        seconds = rcx_price_of(*a, &as_it, needed);
        if (seconds >= least)
            continue;
        least = seconds;
        best = *a;
        cheapest = as_it;
    }
    *s = cheapest;
    return best;
}
