/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall by Bruck et al.'s exchange (1997; Thakur, Rabenseifner, Gropp 2005,
 * 4.3), far ranks first and without rotations.
 *
 *   scratch  up to 2 Z n/p, Z: digits to radix of 1 to p - 1 that are not 0;
 *            n lg p for radix 2
 *
 * What a rank g behind gave for r, r + 1, .. in a row is piece g of rank r; at
 * first there is piece 0, all of the operand. For each weight, the largest power
 * of radix first, and each digit, blocks from far = digit * weight on, weight of
 * them at most, of every piece go to the rank that far ahead, where piece g
 * becomes piece g + far; the first weight blocks stay. All ranks have pieces of
 * the same form. In the end each piece has one block, which is the rank's own.
 */
#include <limits.h>

#include "algo/phase/exchange.h"

enum { RADIX }; /* parameters */

/* The least i of which i^power >= n. */
static int64_t root_ceil(int n, int power)
{
    int64_t i = 1;

    while ((power == 2 ? i * i : i * i * i) < n)
        i++;
    return i;
}

static int64_t at_least_2(int64_t i)
{
    return i < 2 ? 2 : i;
}

static int64_t radix_candidate(const struct rcx_shape *s, int i)
{
    switch (i) {
    case 0: return 2;
    case 1: return 4;
    case 2: return 8;
    case 3: return at_least_2(root_ceil(s->size, 3));
    case 4: return at_least_2(root_ceil(s->size, 2));
    default: return RCX_PARAM_END;
    }
}

static const int64_t radixes[] = {
    2, 3, 4, 8, 100, RCX_PARAM_AUTO, RCX_PARAM_END};

static const struct rcx_param params[] = {
    [RADIX] = {.name = "radix",
               .doc = "of the digits by which blocks move: the larger, the "
                      "more messages and the less bytes; at most p",
               .least = 2,
               .most = INT_MAX,
               .usual = RCX_PARAM_AUTO,
               .proved = radixes,
               .candidate = radix_candidate},
    {0}};

static int radix_of(const struct rcx_shape *s)
{
    const int most = s->size > 2 ? s->size : 2;

    return s->params[RADIX] < most ? (int)s->params[RADIX] : most;
}

/* The largest power of radix below p; 0: p is 1. */
static int first_weight(const struct rcx_shape *s)
{
    const int radix = radix_of(s);
    int weight = s->size > 1;

    while (weight > 0 && weight <= (s->size - 1) / radix)
        weight *= radix;
    return weight;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int64_t p = s->size, radix = radix_of(s);
    const double block = (double)(s->count / (size_t)s->size);
    struct rcx_cost cost = {.rounds = 0};

    for (int64_t weight = first_weight(s); weight > 0; weight /= radix) {
        const int64_t whole = weight * radix, rest = p % whole;
        const int64_t most = (p - 1) / weight;

        cost.rounds += (double)(most < radix - 1 ? most : radix - 1);
        cost.volume += block * (double)(p - p / whole * weight -
                                        (rest < weight ? rest : weight));
    }
    return cost;
}

/* ---- Pieces --------------------------------------------------------------- */

struct pieces {
    struct rcx_builder *b;
    const struct rcx_shape *s;
    size_t block;   /* elements of one */
    size_t *starts; /* of pieces from 1 on, in scratch */
};

static struct rcx_span blocks_at(const struct pieces *x, size_t start,
                                 int first, int n)
{
    return (struct rcx_span){.buffer = RCX_BUFFER_TMP,
                             .offset = start + (size_t)first * x->block,
                             .count = (size_t)n * x->block};
}

/* Blocks first to first + n - 1 of piece g, copied to where a message has its
 * blocks from at on. */
static void pack(const struct pieces *x, int g, int first, int n,
                 struct rcx_span message, int at)
{
    const struct rcx_span dst =
        rcx_span_sub(message, (size_t)at * x->block, (size_t)n * x->block);

    if (g == 0)
        rcx_exchange_pack(x->b, x->s, (x->s->rank + first) % x->s->size, n,
                          dst);
    else
        rcx_step_copy(x->b, dst, blocks_at(x, x->starts[g], first, n));
}

/* Blocks of piece g that go far. */
static int going(const struct pieces *x, int g, int weight, int far)
{
    const int behind = x->s->size - g - far;

    return behind < weight ? behind : weight;
}

/* Of pieces 0, whole, 2 whole, .. */
static struct rcx_span packed(const struct pieces *x, int64_t whole, int weight,
                              int far, int n)
{
    const int p = x->s->size, first = (x->s->rank + far) % p;
    struct rcx_span message;
    int at = 0;

    if (whole + far >= p && first + n <= p) /* one, and in one place */
        return rcx_span_sub(rcx_span_in(x->s), (size_t)first * x->block,
                            (size_t)n * x->block);
    message = rcx_span_scratch(x->b, (size_t)n * x->block);
    for (int64_t g = 0; g + far < p; g += whole) {
        const int count = going(x, (int)g, weight, far);

        pack(x, (int)g, far, count, message, at);
        at += count;
    }
    return message;
}

/* The message that goes far. */
static void move(const struct pieces *x, int64_t whole, int weight, int far)
{
    const int p = x->s->size, rank = x->s->rank;
    struct rcx_span got;
    int n = 0;

    for (int64_t g = 0; g + far < p; g += whole)
        n += going(x, (int)g, weight, far);
    got = rcx_span_scratch(x->b, (size_t)n * x->block);
    rcx_step_recv(x->b, (rank + p - far) % p, got);
    rcx_step_send(x->b, (rank + far) % p, packed(x, whole, weight, far, n));
    n = 0;
    for (int64_t g = 0; g + far < p; g += whole) {
        x->starts[g + far] = got.offset + (size_t)n * x->block;
        n += going(x, (int)g, weight, far);
    }
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const int radix = radix_of(s), p = s->size;
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span in = rcx_span_in(s), out = rcx_span_out(s);
    const struct pieces x = {
        .b = b,
        .s = s,
        .block = s->count / (size_t)p,
        .starts = rcx_heap_alloc(b->heap, (size_t)p * sizeof *x.starts)};

    if (!x.starts) {
        rcx_builder_fail(b, RCX_ERR_NOMEM);
        return;
    }
    for (int weight = first_weight(s); weight > 0; weight /= radix)
        for (int digit = 1; digit < radix && digit <= (p - 1) / weight; digit++)
            move(&x, (int64_t)weight * radix, weight, digit * weight);
    rcx_step_copy(b, rcx_block(&blocks, out, s->rank),
                  rcx_block(&blocks, in, s->rank));
    for (int g = 1; g < p; g++)
        rcx_step_copy(b, rcx_block(&blocks, out, (s->rank + p - g) % p),
                      blocks_at(&x, x.starts[g], 0, 1));
    rcx_heap_free(b->heap, x.starts);
}

const struct rcx_algo rcx_alltoall_bruck = {
    .name = "bruck",
    .coll = RCX_COLL_ALLTOALL,
    .formula = "p = radix^k: k (radix-1) (a + n/radix b), k = floor(lg p / lg "
               "radix); else R a + Z n/p b, R the sum over radix^i < p of "
               "min(radix-1, floor((p-1)/radix^i)), Z the digits to radix of "
               "1 to p-1 that are not 0",
    .known_as = "OCC: Bruck; MPICH: brucks, k_brucks; Open MPI: "
                "modified_bruck; UCC: bruck",
    .source = "Bruck et al. 1997; Thakur, Rabenseifner, Gropp 2005, 4.3; "
              "pieces: design",
    .params = params,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
