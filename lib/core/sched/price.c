/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prices of algorithms: seconds by their cost formulas and a machine's
 * parameters. Methods, phases and the values of "auto" are chosen by them.
 */
#include "core/sched/price.h"

#include <math.h>
#include <string.h>

bool rcx_price_is_none(const struct rcx_algo *algo, const struct rcx_shape *s)
{
    return algo->is_by_nodes && s->nodes && s->nodes->level == RCX_LEVEL_CORE;
}

static double cost_of(const struct rcx_algo *algo, const struct rcx_shape *s)
{
    const struct rcx_cost cost = rcx_cost_of(algo, s);

    return rcx_cost_time(&cost, s);
}

static double price_settled(const struct rcx_algo *algo, struct rcx_shape *s,
                            rcx_order_t needed)
{
    rcx_params_settle(algo, s);
    if (!rcx_algo_fits(algo, s) || rcx_algo_order(algo, s) < needed ||
        rcx_price_is_none(algo, s))
        return INFINITY;
    return cost_of(algo, s);
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

/* As rcx_price_cheapest(); *least_p is its price, or INFINITY. */
static const struct rcx_algo *find_cheapest(struct rcx_shape *s,
                                            rcx_order_t needed, double *least_p,
                                            struct rcx_tie *tie)
{
    const struct rcx_algo *best = NULL;
    struct rcx_shape cheapest = *s;
    double least = INFINITY;

    if (tie)
        rcx_tie_begin(tie, s);
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        struct rcx_shape as_it = *s;
        double seconds;

        if ((*a)->coll != s->coll)
            continue;
        seconds = rcx_price_of(*a, &as_it, needed);
        if (tie)
            rcx_tie_offer(tie, *a, &as_it, seconds);
        if (seconds >= least)
            continue;
        least = seconds;
        best = *a;
        cheapest = as_it;
    }
    *s = cheapest;
    *least_p = least;
    return best;
}

const struct rcx_algo *
rcx_price_cheapest(struct rcx_shape *s, rcx_order_t needed, struct rcx_tie *tie)
{
    double least;

    return find_cheapest(s, needed, &least, tie);
}

/* ---- Segments ------------------------------------------------------------ */

static const struct {
    size_t bytes;
    unsigned window;
} cuts[] = {{4 << 10, 2},  {4 << 10, 4},  {16 << 10, 2}, {16 << 10, 4},
            {64 << 10, 2}, {64 << 10, 4}, {256 << 10, 2}};

/* Segments have costs of their own that no price contains. */
static const double worth = 0.9;

struct rcx_shape rcx_price_segment(const struct rcx_shape *shape,
                                   size_t segment, unsigned window)
{
    struct rcx_shape s = *shape;

    if (segment == 0 || segment >= s.count || s.displs)
        return s;
    s.segments = (double)((s.count - 1) / segment + 1);
    s.window = window;
    s.count = segment;
    return s;
}

const struct rcx_algo *rcx_price_cheapest_cut(struct rcx_shape *s,
                                              rcx_order_t needed,
                                              struct rcx_tie *tie)
{
    const struct rcx_shape whole = *s;
    double least, seconds;
    const struct rcx_algo *best = find_cheapest(s, needed, &least, tie);
    const bool is_cut = !whole.uncut && rcx_nodes_linked(whole.nodes) &&
                        !rcx_colls[whole.coll].is_local && !whole.displs &&
                        whole.elem_bytes > 0;

    for (size_t i = 0; best && is_cut && i < sizeof cuts / sizeof *cuts; i++) {
        const size_t segment = cuts[i].bytes / whole.elem_bytes;
        struct rcx_shape cut;
        const struct rcx_algo *algo;
        struct rcx_tie of_cut;

        if (segment == 0 || 2 * segment > whole.count)
            continue;
        cut = rcx_price_segment(&whole, segment, cuts[i].window);
        algo = find_cheapest(&cut, needed, &seconds, &of_cut);
        if (seconds >= (s->segments > 1 ? 1 : worth) * least)
            continue;
        least = seconds;
        best = algo;
        *s = cut;
        *tie = of_cut;
    }
    return best;
}
