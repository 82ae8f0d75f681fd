/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The formulas of algorithms, as people read them:
 *
 *   [conditions ":"] expression ["," name "=" expression]... [";" words]
 *
 * p ranks, n elements, root; a message costs a, an element sent b, an element
 * combined g; parameters have their names. What stands side by side is
 * multiplied. floor, ceil, lg, min, max; twos x: as often 2 divides x.
 * [conditions] is 1 where they hold, else 0. Conditions are comparisons with
 * commas between; in them a parameter goes before a, b and g, and its values
 * have their names.
 */
#ifndef RCX_TESTS_PROOF_FORMULA_H
#define RCX_TESTS_PROOF_FORMULA_H

#include <stdbool.h>

#include "core/sched/algo.h"

/* False: its conditions do not hold for s, so that it says nothing; or, with an
 * error, it cannot be read. */
bool formula_cost(const struct rcx_algo *algo, const struct rcx_shape *s,
                  struct rcx_cost *cost_p, const char **error_p);

#endif
