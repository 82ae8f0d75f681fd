/* SPDX-License-Identifier: BSD-3-Clause */
/* Prices: the time of algorithms by their cost formulas, and the cheapest
 * algorithm. */
#ifndef RCX_CORE_SCHED_PRICE_H
#define RCX_CORE_SCHED_PRICE_H

#include "core/sched/params.h"
#include "core/sched/tie.h"

/* Whether algo has no price for s: it depends on nodes, and those of s are
 * cores. Its benefit is that ranks of a core take fewer turns, which no formula
 * contains. Only rules and measurements choose it. */
bool rcx_price_is_none(const struct rcx_algo *algo, const struct rcx_shape *s);

/* Return the price of algo with params, in seconds. INFINITY: it does not fit
 * s, keeps less order than needed, or has no price. */
double rcx_price_with(const struct rcx_algo *algo, const struct rcx_shape *s,
                      const int64_t params[], rcx_order_t needed);

/* Return the price of algo, which divides by the map of s->nodes or a coarser
 * one. Stores the parameters and the map of the lowest price in s. If all are
 * INFINITY, s->nodes stays as it is. */
double rcx_price_by_level(const struct rcx_algo *algo, struct rcx_shape *s,
                          rcx_order_t needed);

/* The same with default parameters. */
double rcx_price_of(const struct rcx_algo *algo, struct rcx_shape *s,
                    rcx_order_t needed);

/*
 * Return the cheapest algorithm that fits s and keeps the order level; store
 * its parameters and its map in s. NULL: there is none. Among equals it is the
 * first of the table, and *tie gets all of them; tie NULL: they are not wanted.
 */
const struct rcx_algo *rcx_price_cheapest(struct rcx_shape *s,
                                          rcx_order_t needed,
                                          struct rcx_tie *tie);

/*
 * Return the cheapest algorithm, with segments if these make it cheaper, on
 * several nodes only; store its parameters, its map, and the shape of a
 * segment in s. NULL: there is none. *tie gets the algorithms that have its
 * price with the same segments.
 */
const struct rcx_algo *rcx_price_cheapest_cut(struct rcx_shape *s,
                                              rcx_order_t needed,
                                              struct rcx_tie *tie);

/* The shape of a segment of so many elements, 0: none, by which a method is
 * priced. If there are blocks, a segment has a part of each. */
struct rcx_shape rcx_price_segment(const struct rcx_shape *shape,
                                   size_t segment, unsigned window);

#endif
