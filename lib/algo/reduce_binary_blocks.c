/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce by binary blocks (Thakur, Rabenseifner, Gropp 2005, 5.2).
 *
 *   time     2 lg p alpha + (p - 1)/p (2 n beta + n gamma) when p = 2^k; else
 *            + about 2^d alpha for each two neighbours d apart among the
 *            binary digits of p, and at most 3/2 n beta + n/2 gamma
 *   scratch  2 n; n at the root
 *   order    CANONICAL
 *
 * Recursive halving in cubes of ranks, one per binary digit of p; partial
 * results go from smaller to larger cubes; the largest one gathers to the root.
 * A root outside of it gets the segment of rank 0, which is ready first, while
 * others still wait for theirs, and gathers in its place.
 */
#include "algo/binary_blocks.h"
#include "algo/cube.h"

static rcx_order_t order(const struct rcx_shape *s)
{
    (void)s;
    return RCX_ORDER_CANONICAL;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int cube = rcx_pow2_floor(s->size);
    const double segment = (double)s->count / cube;
    const struct rcx_cost up = rcx_binary_blocks_up_cost(s->size, cube);

    return (struct rcx_cost){.rounds = up.rounds + rcx_log2_floor(cube),
                             .volume = segment * (up.volume + cube - 1),
                             .combines = segment * up.combines};
}

/* Member i of the largest cube, with a root of outside in rank 0's seat. */
static int seat(const struct rcx_group *g, int i)
{
    return i == 0 ? g->a : i;
}

static struct rcx_group gatherers(const struct rcx_shape *s)
{
    struct rcx_group g = rcx_binary_blocks_largest(s);

    if (s->root < g.size)
        return g;
    if (s->rank == 0 || s->rank == s->root)
        g.rank = s->rank == 0 ? -1 : 0;
    g.member = seat;
    g.a = s->root;
    return g;
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group g = gatherers(s);
    const bool is_outside = s->root >= g.size;
    const struct rcx_blocks segments = {NULL, s->count, g.size};
    const struct rcx_span work = s->rank == s->root
                                     ? rcx_span_out(s)
                                     : rcx_span_scratch(b, s->count);
    const struct rcx_span total = rcx_binary_blocks_up(b, s, &segments, work);

    if (s->size == 1)
        rcx_step_copy(b, work, total);
    if (is_outside && s->rank == 0)
        rcx_step_send(b, s->root, rcx_block(&segments, work, 0));
    if (is_outside && s->rank == s->root)
        rcx_step_recv(b, 0, rcx_block(&segments, work, 0));
    if (g.rank >= 0)
        rcx_cube_gather(b, &g, &segments, is_outside ? 0 : s->root, work);
}

const struct rcx_algo rcx_reduce_binary_blocks = {
    .name = "binary_blocks", .coll = RCX_COLL_REDUCE,
    .formula = "2 lg p a + (p-1)/p (2 n b + n g) when p = 2^k; else about "
               "2^d a more per gap d in p's digits, up to 3/2 n b + n/2 g more",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.2",
    .order = order, .cost = cost, .build = build, .segments = true,
};
