/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan by recursive doubling, as MPICH and Open MPI have it.
 *
 *   scratch  3 n
 *   order    CANONICAL
 *
 * In round k ranks that differ in bit k alone send each other what the 2^k
 * ranks around them have; the upper one puts that before its result, too. Only
 * what somebody behind needs is combined, so ranks need not be a power of two.
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
