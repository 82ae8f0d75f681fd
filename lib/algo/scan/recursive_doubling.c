/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan by recursive doubling, as in MPICH and Open MPI.
 *
 *   scratch  3 n
 *   order    CANONICAL
 *
 * In round k two ranks that differ only in bit k exchange the sums of the
 * operands of their blocks of 2^k ranks. The upper rank also combines the
 * received sum with its result, from the left. Ranks combine only what a higher
 * rank needs, so p need not be a power of two.
 */
#include "algo/phase/prefix.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return rcx_prefix_doubling_cost(s, false);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    rcx_prefix_doubling(b, s, false);
}

const struct rcx_algo rcx_scan_recursive_doubling = {
    .name = "recursive_doubling",
    .coll = RCX_COLL_SCAN,
    .formula =
        "k (a + n b) + max(k, floor(lg ((p+1)/5)) + floor(lg ((p+1)/3)) + 2) "
        "n g, k = ceil(lg p)",
    .known_as = "MPICH, Open MPI: recursive_doubling",
    .source = "MPICH, Open MPI: recursive_doubling",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
