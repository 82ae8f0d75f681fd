/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall by nodes with several ranks of each node in a round (Huang et al.
 * 2023, PiP-MColl; to a radix: Bruck et al. 1997; with ranks as sources:
 * Bienz, Gautam, Kharel 2022, arXiv 2206.03564); nodes may have any number of
 * ranks in any order.
 *
 *   scratch  4 n, and up to 4 n for each weight
 *
 * Let there be N nodes of c ranks, and blocks of a node for another one in a
 * bundle. Radix c + 1 takes the fewest rounds between nodes, ceil(lg N / lg
 * (c+1)), and sends a bundle once for each digit of the distance. Radix N sends
 * each bundle once, N - 1 messages of a node, which its ranks share. Collecting
 * bundles takes an alltoall within the node. With carrier=source there is none,
 * but c messages for each bundle: for longer blocks. bundles.h has the rounds.
 */
#include "algo/phase/bundles.h"
#include "algo/phase/multi_object.h"

#include <limits.h>

enum { CARRIER, RADIX }; /* parameters */
enum { DIGIT, SOURCE };

static struct rcx_bundles bundles_of(const struct rcx_shape *s)
{
    const int64_t radix = s->params[RADIX];
    const int count = s->nodes->count;

    return (struct rcx_bundles){.nodes = s->nodes,
                                .count = count,
                                .carriers = s->nodes->least,
                                .radix =
                                    radix < 2 || radix > count ? count : radix,
                                .by_digit = s->params[CARRIER] != SOURCE};
}

/* ---- Cost ---------------------------------------------------------------- */

/* Return how many of the bundles below n have digit d at weight w. */
static int64_t with_digit(const struct rcx_bundles *p, int64_t n, int64_t d,
                          int64_t w)
{
    const int64_t whole = n / (w * p->radix), rest = n % (w * p->radix) - d * w;

    return whole * w + (rest < 0 ? 0 : rest < w ? rest : w);
}

/* Return how many digits a weight has, but 0. */
static int64_t digits_at(const struct rcx_bundles *p, int64_t w)
{
    const int64_t most = (p->count - 1) / w;

    return most < p->radix - 1 ? most : p->radix - 1;
}

/* Bundles of the busiest rank, which is the first of its node. */
struct load {
    int64_t first; /* that it carries first */
    int64_t last;  /* that it has in the end */
    int64_t sent;  /* that it sends between nodes */
    int64_t moved; /* that it gives or gets between weights */
    int64_t all;   /* that the node sends */
    double rounds; /* between nodes */
    double turns;  /* messages between weights */
};

static int64_t lower(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Return how many carriers get bundles that a carrier has got at weight w. */
static int64_t targets(const struct rcx_bundles *p, int64_t carrier, int64_t w)
{
    const int64_t rest = p->count - 1 - (carrier + 1) * w;

    if (rest < 0 || carrier + 1 >= p->radix)
        return 0;
    return lower(p->carriers, lower(p->radix - 1, rest / (w * p->radix)));
}

/* Add what carriers give each other between weight w and the next. */
static void add_turn(const struct rcx_bundles *p, struct load *l, int64_t w)
{
    const int64_t after = w * p->radix, to = targets(p, 0, w);
    int64_t gives = 0, gets = 0, turns, from = 1;

    if (to == 0)
        return;
    for (int64_t e = w; e < p->count; e++) {
        if (e / w % p->radix == 0)
            continue;
        gives += rcx_bundles_carrier(p, e, w) == 0 &&
                 rcx_bundles_weight(p, e, after) < p->count &&
                 !rcx_bundles_carries(p, 0, e, after);
        gets += rcx_bundles_carrier(p, e, w) != 0 &&
                rcx_bundles_carries(p, 0, e, after);
    }
    while (from < p->carriers && targets(p, from, w) > 0)
        from++;
    /* a carrier that gets nothing gives to all that do */
    turns = to < p->carriers && targets(p, to, w) == to ? to : to - 1;
    l->turns += (double)(turns > from - 1 ? turns : from - 1);
    l->moved += gives > gets ? gives : gets;
}

static struct load load_of(const struct rcx_bundles *p)
{
    const int64_t step = p->by_digit ? p->carriers : 1;
    struct load l = {0};

    for (int64_t w = 1; w < p->count; w *= p->radix) {
        const int64_t digits = digits_at(p, w);

        l.rounds += (double)((digits + step - 1) / step);
        for (int64_t d = 1; d <= digits; d++) {
            const int64_t n = with_digit(p, p->count, d, w);

            l.all += n;
            if ((d - 1) % step != 0)
                continue;
            l.sent += n;
            l.first += (p->count - 1 - d * w) / (w * p->radix) + 1;
            l.last += lower(w, p->count - d * w);
        }
        if (p->by_digit)
            add_turn(p, &l, w);
    }
    return l;
}

/* Return the cost of messages within a node, so many of so many elements, all
 * posted at once. */
static struct rcx_cost within_cost(const struct rcx_shape *s, double messages,
                                   double elements)
{
    struct rcx_phase linear =
        rcx_phase_of(rcx_algo_find(RCX_COLL_ALLTOALL, "linear"));
    const int ranks = (int)messages + 1;

    linear.scope = rcx_scope_within(s);
    linear.params[0] = 0;
    return rcx_phase_cost(&linear, s, ranks,
                          (size_t)(elements / (ranks > 1 ? ranks - 1 : 1)) *
                              (size_t)ranks);
}

/* Return the cost of the messages between nodes. rows: of a bundle, that a
 * carrier has. */
static struct rcx_cost between_cost(const struct rcx_shape *s,
                                    const struct load *l, double row,
                                    double rows)
{
    const double beside = s->beside > 0 ? s->beside : 1;
    struct rcx_cost cost = {.rounds = l->rounds,
                            .volume = (double)l->sent * row * rows};

    cost.across[s->nodes->level] = (struct rcx_crossing){
        .rounds = l->rounds,
        .volume = (double)l->all * row * s->nodes->most * beside};
    return cost;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    struct rcx_bundles p;
    struct load l;
    double block, most, row, rows, givers;
    struct rcx_cost in, turns, out;

    if (!rcx_multi_object_fits(s)) /* asked for the value of "auto" */
        return (struct rcx_cost){.rounds = 0};
    p = bundles_of(s);
    l = load_of(&p);
    block = (double)(s->count / (size_t)s->size);
    most = s->nodes->most;
    row = most * block;
    rows = p.by_digit ? most : (s->nodes->most + p.carriers - 1) / p.carriers;
    givers = p.by_digit ? most - 1 : rows - 1;
    in = within_cost(s, givers, givers * (double)l.first * row);
    turns = within_cost(s, l.turns, (double)l.moved * row * most);
    out = within_cost(s, most - 1,
                      (most - 1) * (block + (double)l.last * rows * block));
    return rcx_cost_sum(rcx_cost_sum(in, turns),
                        rcx_cost_sum(between_cost(s, &l, row, rows), out));
}

/* ---- Steps and parameters ------------------------------------------------ */

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_bundles bundles = bundles_of(s);

    rcx_bundles_exchange(b, s, &bundles);
}

static int64_t carrier_candidate(const struct rcx_shape *s, int i)
{
    (void)s;
    return i <= SOURCE ? i : RCX_PARAM_END;
}

/* Candidates: one message of a rank at a weight, two, four, ..., and one
 * weight. */
static int64_t radix_candidate(const struct rcx_shape *s, int i)
{
    const int64_t nodes = s->nodes ? s->nodes->count : 2;
    const int64_t carriers = s->nodes ? s->nodes->least : 1;

    if (i == 0)
        return nodes;
    return i < 31 && (carriers << (i - 1)) + 1 < nodes
               ? (carriers << (i - 1)) + 1
               : RCX_PARAM_END;
}

static const char *const carriers[] = {
    [DIGIT] = "digit", [SOURCE] = "source", NULL};
static const int64_t radixes[] = {2, 3, 4, RCX_PARAM_AUTO, RCX_PARAM_END};

static const struct rcx_param params[] = {
    [CARRIER] = {.name = "carrier",
                 .doc = "ranks that send between nodes: one for each digit of "
                        "the distance, or each the blocks that are its own",
                 .names = carriers,
                 .usual = DIGIT,
                 .candidate = carrier_candidate},
    [RADIX] = {.name = "radix",
               .doc = "of the digits of distances between nodes; at most the "
                      "nodes, which sends each block once between nodes",
               .least = 2,
               .most = INT_MAX,
               .usual = RCX_PARAM_AUTO,
               .proved = radixes,
               .candidate = radix_candidate},
    {.name = NULL}};

const struct rcx_algo rcx_alltoall_multi_object = {
    .name = "multi_object",
    .coll = RCX_COLL_ALLTOALL,
    .formula = "alltoall of n on c ranks, twice; each w = radix^i < N: "
               "D/c a + w D c n/p b, D = min(radix-1, (N-1)/w), and alltoall "
               "of that on c ranks between weights; carrier=source: each w: D "
               "(a + w c n/p b), and one alltoall of n on c ranks; N nodes of "
               "c ranks",
    .needs = RCX_MULTI_OBJECT_NEEDS,
    .known_as = "PiP-MColl; locality-aware Bruck; node-aware (source)",
    .source = "Huang et al. 2023 (PiP-MColl); Bruck et al. 1997; Bienz, "
              "Gautam, Kharel 2022, arXiv 2206.03564",
    .params = params,
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_multi_object_fits,
    .cost = cost,
    .build = build,
};
