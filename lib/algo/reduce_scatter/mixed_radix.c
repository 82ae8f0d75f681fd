/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter of mixed radix: recursive halving by any factors of p, for
 * ranks that are no power of two (Ruefenacht, Bull, Booth 2017, whose allreduce
 * multiplies by such factors).
 *
 *   scratch  parts of the first step: one for its sums, O(log f) that arrive
 *   order    SAME; CANONICAL with one step
 *
 * Let p = f1 f2 ... fk. In step i, f_i ranks have the same p / (f1 ... f_i-1)
 * neighbouring blocks. Each keeps one of f_i equal runs of them, and sends the
 * other runs to the ranks that keep these. The ranks of a step are as distant
 * as runs are long. So rank r ends with block r, each message is one span of
 * the vector, and nothing is packed or handed out in the end.
 *
 * Proof of the cost: a run of step i has n / (f1 ... f_i) elements, and f_i - 1
 * of them are sent. n / (f1 ... f_i-1) - n / (f1 ... f_i) summed over i is n -
 * n / p, which is least, as each rank must send p - 1 blocks. Messages of a
 * step do not wait for each other.
 */
#include "algo/phase/pairwise.h"
#include "algo/phase/rounds.h"

enum { RADIX }; /* parameters */
enum { MOST = 64 };

/* ---- Steps --------------------------------------------------------------- */

/* The steps of a shape: factors of p, and the distance of ranks in each. */
struct steps {
    struct rcx_rounds rounds;
    int distance;
    int factor;
};

static struct steps begin(const struct rcx_shape *s, int64_t radix)
{
    const struct rcx_factoring how = {.radix = (int)radix};
    struct steps steps = {.distance = s->size};

    rcx_rounds_begin(&steps.rounds, s->size, 0, &how);
    return steps;
}

/* Go to the next step. False: there is none, or p has a prime factor above the
 * radix, by which distance is not divided. */
static bool next(struct steps *steps)
{
    struct rcx_meeting m;

    if (!rcx_rounds_next(&steps->rounds, &m) || steps->rounds.units > 0)
        return false;
    steps->factor = m.size;
    steps->distance /= m.size;
    return true;
}

static bool divides(const struct rcx_shape *s, int64_t radix)
{
    struct steps steps = begin(s, radix);

    while (next(&steps))
        ;
    return steps.distance == 1;
}

/* ---- The algorithm ------------------------------------------------------- */

static bool fits(const struct rcx_shape *s)
{
    return divides(s, s->params[RADIX]);
}

static rcx_order_t order(const struct rcx_shape *s)
{
    struct steps steps = begin(s, s->params[RADIX]);

    return next(&steps) && steps.distance > 1 ? RCX_ORDER_SAME
                                              : RCX_ORDER_CANONICAL;
}

/* Return the elements of the longest run of a step. */
static double longest(const struct rcx_blocks *blocks, int distance)
{
    const struct rcx_span vector = {.count = blocks->count};
    const int tried = blocks->displs ? blocks->n : distance;
    size_t most = 0;

    for (int i = 0; i < tried; i += distance) {
        const size_t run =
            rcx_block_range(blocks, vector, i, i + distance).count;

        most = run > most ? run : most;
    }
    return (double)most;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    struct steps steps = begin(s, s->params[RADIX]);
    struct rcx_cost sum = {0};

    while (next(&steps)) {
        const size_t run = (size_t)longest(&blocks, steps.distance);
        const struct rcx_blocks runs = {.count = run * (size_t)steps.factor,
                                        .n = steps.factor};

        sum = rcx_cost_sum(sum, rcx_pairwise_reduce_scatter_cost(&runs));
    }
    return sum;
}

/* Store where the runs of a step begin in the span of those that a rank has,
 * which start with block first. */
static struct rcx_blocks runs_of(const struct rcx_blocks *blocks,
                                 const struct steps *steps, int first,
                                 size_t starts[])
{
    const struct rcx_span vector = {.count = blocks->count};
    size_t end = 0;

    for (int i = 0; i < steps->factor; i++) {
        const int block = first + i * steps->distance;

        starts[i] = end;
        end += rcx_block_range(blocks, vector, block, block + steps->distance)
                   .count;
    }
    starts[steps->factor] = end;
    return (struct rcx_blocks){
        .displs = starts, .count = end, .n = steps->factor};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);
    struct steps steps = begin(s, s->params[RADIX]);
    struct rcx_span have = rcx_span_in(s);
    int first = 0; /* block that have starts with */

    if (s->size == 1)
        rcx_step_copy(b, out, have);
    while (next(&steps)) {
        const int place = s->rank / steps.distance % steps.factor;
        const struct rcx_group ranks = rcx_group_strided(
            s, s->rank - place * steps.distance, steps.distance, steps.factor);
        size_t starts[MOST + 1];
        const struct rcx_blocks runs = runs_of(&blocks, &steps, first, starts);
        struct rcx_span sums = rcx_block(&runs, have, place);

        if (steps.distance == 1)
            sums = out;
        else if (have.buffer != RCX_BUFFER_TMP)
            sums = rcx_span_scratch(b, sums.count);
        rcx_pairwise_reduce_scatter(b, &ranks, &runs, have, sums);
        have = sums;
        first += place * steps.distance;
    }
}

/* ---- The parameter ------------------------------------------------------- */

static const int64_t radixes[] = {
    2, 3, 4, 6, 8, 9, 12, 16, 32, MOST, RCX_PARAM_END};

/* Return the i-th radix by which p can be divided. None is larger than the
 * first that is not below p. */
static int64_t candidate(const struct rcx_shape *s, int i)
{
    int k = 0;

    while (radixes[k] < MOST && !divides(s, radixes[k]))
        k++;
    while (i-- > 0)
        if (radixes[k++] >= s->size || radixes[k] == RCX_PARAM_END)
            return RCX_PARAM_END;
    return radixes[k];
}

static const int64_t proved[] = {2, 3, 4, 12, MOST, RCX_PARAM_END};
static const struct rcx_param params[] = {
    [RADIX] = {.name = "radix",
               .doc = "a step joins factors of p up to this product",
               .least = 2,
               .most = MOST,
               .usual = RCX_PARAM_AUTO,
               .proved = proved,
               .candidate = candidate},
    {0}};

const struct rcx_algo rcx_reduce_scatter_mixed_radix = {
    .name = "mixed_radix",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "p = radix^k, radix < 6: k (radix-1) a + n (p-1)/p (b + g), k = "
               "floor(lg p / lg radix); p = f1 ... fk: (f1-1 + ... + fk-1) a "
               "in k rounds, and the same volume; the longest run where n/p "
               "is irregular",
    .needs = "no prime factor of p above radix",
    .known_as = "UCC: knomial is close",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.4; factors: Ruefenacht, "
              "Bull, Booth 2017",
    .params = params,
    .fits = fits,
    .order = order,
    .cost = cost,
    .build = build,
};
