/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by binary blocks (Thakur, Rabenseifner, Gropp 2005, 5.2, up
 * to the gather).
 *
 *   time     (lg p + 1) alpha + n beta + (p - 1)/p n gamma when p = 2^k; else
 *            + about 2^d alpha for each two neighbours d apart among the
 *            binary digits of p, and at most 3/2 n beta + n/2 gamma
 *   scratch  n when p = 2^k, else at most 2 n
 *   order    CANONICAL
 *
 * Recursive halving in cubes of ranks, one per binary digit of p; partial
 * results go from smaller to larger cubes. The largest one's parts are one or
 * two whole blocks each, spread evenly. They are in reverse order of bits,
 * the price of rank order, so a last message or two take blocks to their
 * ranks.
 */
#include "algo/phase/binary_blocks.h"

/* Blocks that the last rank of the largest cube, which is the last to be
 * ready, sends on; or any rank, where all are ready at once. */
static int last_messages(int size)
{
    const int outside = size - rcx_pow2_floor(size);

    if (outside == 0)
        return size >= 4;
    return outside == 1 ? 1 : 2;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Irregular blocks: as if all were as long as the longest, but no message is
 * longer than the vector. */
static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const double block = (double)rcx_blocks_largest(&blocks);
    const int last = last_messages(s->size);
    const struct rcx_cost up = rcx_binary_blocks_up_cost(s->size, s->size);
    const double most = (up.rounds + last) * (double)s->count;

    return (struct rcx_cost){.rounds = up.rounds + last,
                             .volume =
                                 smaller(block * (up.volume + last), most),
                             .combines = smaller(block * up.combines, most)};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_halving mine = rcx_binary_blocks_cube(s, &blocks, s->rank);
    const struct rcx_halving largest = rcx_binary_blocks_cube(s, &blocks, 0);
    const struct rcx_span part = rcx_halving_place(b, &mine);

    rcx_binary_blocks_up(b, s, &blocks, part);
    rcx_halving_hand_out(b, &largest, part);
}

const struct rcx_algo rcx_reduce_scatter_binary_blocks = {
    .name = "binary_blocks",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "(lg p + 1) a + n b + (p-1)/p n g when p = 2^k; else about "
               "2^d a more per gap d in p's digits, up to 3/2 n b + n/2 g more",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.2",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
