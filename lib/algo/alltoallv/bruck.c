/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoallv by Bruck's exchange (Bruck et al. 1997; in two steps: two-phase
 * Bruck, Fan et al. 2022). A rank forwards blocks whose lengths it does not
 * know. So a first step sends the lengths the same way, as blocks of one
 * element each.
 *
 *   scratch  the blocks that a rank receives, for itself and in transit, and as
 *            much again: 2 Z blocks of limit bytes at most, where Z counts the
 *            digits to radix of 1 to p - 1 that are not 0; in place also the
 *            blocks that go directly; for the lengths up to 2 Z + p of 8 bytes
 *
 * Blocks longer than limit are not forwarded: they go directly to their ranks,
 * last.
 */
#include <limits.h>

#include "algo/phase/pieces.h"

enum { RADIX, LIMIT, POSTED = 32 /* direct messages posted at once */ };

static const int64_t radixes[] = {2, 3, 100, RCX_PARAM_END};
static const int64_t limits[] = {0, 64, INT_MAX, RCX_PARAM_END};

static const struct rcx_param params[] = {
    [RADIX] = {.name = "radix",
               .doc = "of the digits by which blocks are moved: a larger one "
                      "gives more messages and fewer bytes; at most p",
               .least = 2,
               .most = INT_MAX,
               .usual = 2,
               .proved = radixes},
    [LIMIT] = {.name = "limit",
               .doc = "longest block, in bytes, that other ranks forward; "
                      "longer ones are sent directly",
               .most = INT64_MAX,
               .usual = 2 << 10,
               .proved = limits},
    {0}};

static int radix_of(const struct rcx_shape *s)
{
    return rcx_pieces_radix(s, s->params[RADIX]);
}

/* Return the cost of both steps: of lengths and of blocks. */
static struct rcx_cost cost(const struct rcx_shape *s)
{
    return (struct rcx_cost){.rounds =
                                 2 * rcx_pieces_rounds(s->size, radix_of(s))};
}

static size_t passing(const struct rcx_shape *s)
{
    return rcx_pieces_count(s->size, radix_of(s));
}

/* ---- Direct messages ----------------------------------------------------- */

struct direct {
    struct rcx_builder *b;
    const struct rcx_shape *s;
    struct rcx_blocks given, gotten;
    size_t limit; /* elements */
    size_t kept; /* in place: where in scratch copies of operand blocks begin */
};

static struct rcx_span block_to(const struct direct *d, int ahead)
{
    return rcx_block(&d->given, rcx_span_in(d->s),
                     (d->s->rank + ahead) % d->s->size);
}

/* In place, copy the blocks that go directly. A receive that overwrites such a
 * block would have to wait for its send, and two ranks could wait for each
 * other. */
static void keep(const struct direct *d)
{
    for (int ahead = 1; ahead < d->s->size; ahead++) {
        const struct rcx_span block = block_to(d, ahead);

        if (block.count > d->limit)
            rcx_step_copy(d->b, rcx_span_scratch(d->b, block.count), block);
    }
}

static void move_directly(const struct direct *d)
{
    const bool in_place = d->s->alias != RCX_ALIAS_NONE;
    const int p = d->s->size;
    struct rcx_span kept = {.buffer = RCX_BUFFER_TMP, .offset = d->kept};

    for (int ahead = 1; ahead < p; ahead++) {
        const int to = (d->s->rank + ahead) % p;
        const int from = (d->s->rank + p - ahead) % p;
        const struct rcx_span goes = block_to(d, ahead);
        const struct rcx_span comes =
            rcx_block(&d->gotten, rcx_span_out(d->s), from);

        rcx_step_pair(d->b, POSTED);
        if (comes.count > d->limit)
            rcx_step_recv(d->b, from, comes);
        if (goes.count <= d->limit)
            continue;
        kept.count = goes.count;
        rcx_step_send(d->b, to, in_place ? kept : goes);
        kept.offset += goes.count;
    }
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    struct direct d = {.b = b,
                       .s = s,
                       .given = rcx_blocks_in(s, RCX_BUFFER_IN),
                       .gotten = rcx_blocks_in(s, RCX_BUFFER_OUT),
                       .limit = (size_t)s->params[LIMIT] / s->elem_bytes};

    rcx_pieces_exchange(b, s, radix_of(s), d.limit);
    if (!s->passing)
        return;
    d.kept = b->scratch;
    if (s->alias != RCX_ALIAS_NONE)
        keep(&d);
    move_directly(&d);
}

const struct rcx_algo rcx_alltoallv_bruck = {
    .name = "bruck",
    .coll = RCX_COLL_ALLTOALLV,
    .formula = "p = radix^k: 2 k (radix-1) a, k = floor(lg p / lg radix); else "
               "2 R a, R the sum over radix^i < p of "
               "min(radix-1, floor((p-1)/radix^i)); and what each sends: Z "
               "counts of 8 bytes, Z the digits to radix of 1 to p-1 that are "
               "not 0, blocks as often as they move, and a message for each "
               "above limit",
    .known_as = "UCC: hybrid",
    .source = "Bruck et al. 1997; Fan et al. 2022 (two-phase), 2025 (TuNA); "
              "pieces: design",
    .params = params,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .passing = passing,
    .build = build,
};
