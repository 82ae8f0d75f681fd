/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan up and down a binary tree in the order of ranks (Sanders, Traeff 2006).
 * The sum of each subtree goes up to its parent; the sum of all ranks before a
 * subtree comes down to it.
 *
 *   scratch  3 n
 *   order    UNIFORM
 *
 * It takes up to 4 lg p - 5 rounds. In segments, a rank sends each segment at
 * most three times, for any number of ranks: for long vectors and many ranks.
 */
#include "algo/phase/prefix.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return rcx_prefix_tree_cost(s, false);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    rcx_prefix_tree(b, s, false);
}

const struct rcx_algo rcx_scan_tree = {
    .name = "tree",
    .coll = RCX_COLL_SCAN,
    .formula = "p > 2: (u + floor(lg ((p+1)/3))) (a + n b) + u n g, u = "
               "floor(lg p) + floor(lg (p/3)) + floor(lg (p+1)) - 1; 4 k - 5 "
               "rounds at p = 2^k",
    .source = "Sanders, Traeff 2006",
    .level = RCX_ORDER_UNIFORM,
    .cost = cost,
    .build = build,
};
