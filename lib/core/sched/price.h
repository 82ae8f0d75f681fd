/* SPDX-License-Identifier: BSD-3-Clause */
/* What an algorithm costs, and which costs least. */
#ifndef RCX_CORE_SCHED_PRICE_H
#define RCX_CORE_SCHED_PRICE_H

#include "core/sched/params.h"

/* What it gains that ranks of a core go first among themselves are turns, which
 * have no price: that is for rules, and for measurements. */
bool rcx_price_is_none(const struct rcx_algo *algo, const struct rcx_shape *s);

/* How many ranks use a node's link at once; 0: there is none between ranks. */
int rcx_price_sharing(const struct rcx_shape *s);

/* What an algorithm's rounds and bytes cost then, on the shape's machine. One
 * that knows no nodes is taken to send all that it sends between them. */
struct rcx_machine rcx_price_machine(const struct rcx_algo *algo,
                                     const struct rcx_shape *s, int sharing);

/* Seconds. INFINITY: it does not fit s so, keeps less order than is needed, or
 * has no price. */
double rcx_price_with(const struct rcx_algo *algo, const struct rcx_shape *s,
                      const int64_t params[], rcx_order_t needed, int sharing);

/* Seconds, with the usual parameters, which s gets. INFINITY: likewise. */
double rcx_price_of(const struct rcx_algo *algo, struct rcx_shape *s,
                    rcx_order_t needed, int sharing);

/* The cheapest that fits s and keeps the order; s gets its parameters. NULL:
 * there is none. */
const struct rcx_algo *rcx_price_cheapest(struct rcx_shape *s,
                                          rcx_order_t needed, int sharing);

#endif
