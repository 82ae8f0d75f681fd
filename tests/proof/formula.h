/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reader of the cost formulas that algorithms have for documentation:
 *
 *   [conditions ":"] expression ["," name "=" expression]... [";" words]
 *
 * Names: p ranks, n elements, root, parameters by their names; a is the price
 * of a message, b of an element sent, g of an element combined. Adjacent
 * factors are multiplied. Functions: floor, ceil, lg, min, max; twos x counts
 * how often 2 divides x. [conditions] is 1 if they hold, else 0. Conditions are
 * comparisons with commas between. In conditions a parameter takes precedence
 * over a, b and g, and the names of its values are known.
 */
#ifndef RCX_TESTS_PROOF_FORMULA_H
#define RCX_TESTS_PROOF_FORMULA_H

#include <stdbool.h>

#include "core/sched/algo.h"

/* Evaluate the formula of algo for s. False without an error: its conditions
 * do not hold, so it states no cost for s. False with an error: it cannot be
 * read. */
bool formula_cost(const struct rcx_algo *algo, const struct rcx_shape *s,
                  struct rcx_cost *cost_p, const char **error_p);

#endif
