/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the proof of one algorithm over a grid of cases: sizes, counts, roots,
 * places, blocks, parameters and node maps. The extent selects the number of
 * cases. prove.c proves each case.
 */
#include "grid.h"

#include "core/sched/params.h"

#include <stdlib.h>

enum { EVERY = 64, WHOLE = 17, GAPS = 7, LEVELS = RCX_ORDER_CANONICAL + 1 };
enum { SMALL_COUNTS = 7, COUNTS_MAX = SMALL_COUNTS + 2 };
/* Limits of a case, summed over all ranks, and the memory that steps and
 * elements take at the limit. */
static const struct {
    uint64_t steps, elements;
} limits[] = {
    [PROOF_SMALL] = {UINT64_C(1) << 19, UINT64_C(1) << 24}, /* 0.1, 0.8 GB */
    [PROOF_QUICK] = {UINT64_C(1) << 19, UINT64_C(1) << 24},
    [PROOF_FULL] = {UINT64_C(1) << 25, UINT64_C(1) << 26}, /* 7, 3.4 GB */
};

struct grid {
    const struct rcx_algo *algo;
    enum proof_extent extent;
    struct proof_summary *summary;
    rcx_order_t least_held[LEVELS]; /* by stated level */
    struct proof_case example[LEVELS];
};

/* The quick grid has every count and place for some sizes. For the others it
 * has one in three, in turn. */
static bool takes(const struct grid *g, int size, int i)
{
    return g->extent == PROOF_FULL || size <= WHOLE || size > EVERY ||
           (size + i) % 3 == 0;
}

/* ---- One case ------------------------------------------------------------ */

static void record_level(struct grid *g, const struct proof_case *c,
                         const struct proof_report *report)
{
    if (report->held < g->least_held[report->stated])
        g->least_held[report->stated] = report->held;
    g->example[report->stated] = *c;
}

/* Estimate the size of a case by the schedule of the first rank. */
static bool is_too_large(const struct grid *g, const struct proof_case *c)
{
    const uint64_t size = (uint64_t)c->size;
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(c, &heap);
    struct rcx_log log;
    struct rcx_builder b;
    uint64_t elements;
    bool too_large;

    rcx_log_init(&log);
    rcx_builder_init(&b, &heap, &log);
    rcx_builder_begin(&b, &call.shape);
    c->algo->build(&b, &call.shape);
    elements = call.shape.count + rcx_shape_out_count(&call.shape) + b.scratch;
    too_large = b.step_count > limits[g->extent].steps / size ||
                elements > limits[g->extent].elements / size;
    rcx_builder_free(&b);
    proof_call_free(&call);
    return too_large;
}

/* Return the number of runs, which differ in the order of arrivals. */
static int runs_of(const struct grid *g, int size)
{
    if (size > EVERY)
        return 1;
    return g->extent == PROOF_FULL && size <= WHOLE ? 8 : 2;
}

static bool prove(struct grid *g, const struct proof_case *c)
{
    const struct proof_options options = {.seed = 1 + (uint64_t)c->size,
                                          .runs = runs_of(g, c->size)};
    struct proof_report report;
    bool good;

    if (!proof_applies(c))
        return true;
    if (c->size > EVERY && is_too_large(g, c)) {
        g->summary->skipped++;
        return true;
    }
    good = proof_prove(c, &options, &report);
    if (good)
        record_level(g, c, &report);
    else
        snprintf(g->summary->text, PROOF_TEXT, "%s", report.text);
    g->summary->cases++;
    g->summary->messages += report.messages;
    return good;
}

/* Prove with an op that commutes. Prove with one that does not as well, if its
 * schedules differ. */
static bool prove_both(struct grid *g, const struct proof_case *c)
{
    struct proof_case other = *c;

    other.commutative = false;
    if (!prove(g, c))
        return false;
    return !rcx_colls[c->algo->coll].reduces || !proof_applies(&other) ||
           proof_same_schedules(c, &other) || prove(g, &other);
}

/* ---- The axes ------------------------------------------------------------ */

static bool prove_places(struct grid *g, struct proof_case c)
{
    const enum rcx_coll coll = c.algo->coll;

    for (int place = 0; place < PROOF_PLACES; place++) {
        if (!proof_has_place(&c, (enum proof_place)place))
            continue;
        if (place != PROOF_APART && !takes(g, c.size, place))
            continue;
        c.place = (enum proof_place)place;
        c.narrow = place == PROOF_MIXED;
        if (!prove_both(g, &c))
            return false;
        if (!rcx_coll_has_data(coll) || c.size > EVERY)
            break;
    }
    return true;
}

/* Use all three roots for few ranks, one in turn for more. */
static bool prove_roots(struct grid *g, struct proof_case c)
{
    const int roots[] = {0, 1, c.size - 1};
    const int n = c.size < 3 ? c.size : 3;

    if (!rcx_coll_is_rooted(c.algo->coll))
        return prove_places(g, c);
    if (c.size > WHOLE) {
        c.root = c.size > EVERY ? c.size / 3 : roots[g->summary->cases % 3];
        return prove_places(g, c);
    }
    for (int i = 0; i < n; i++) {
        c.root = roots[i];
        if (!prove_places(g, c))
            return false;
    }
    return true;
}

/* Irregular blocks are combined with every third count; for many ranks, with
 * the longest counts of the quick grid only. Blocks that ignore the count are
 * used once. */
static bool has_blocks(const struct grid *g, enum proof_blocks blocks, int size,
                       int i)
{
    const bool few = g->extent != PROOF_FULL && size > WHOLE;

    if (blocks == PROOF_EQUAL)
        return true;
    if (few && size <= EVERY)
        return i + 3 >= SMALL_COUNTS;
    if (blocks == PROOF_MOD_3)
        return i == 0;
    return (blocks == PROOF_RANDOM ? i == 0 : i % 3 == 0) && size <= EVERY;
}

/* Prove the case with blocks that do not lie side by side. */
static bool prove_gaps(struct grid *g, struct proof_case c)
{
    const int most = g->extent == PROOF_FULL ? WHOLE : GAPS;

    if (!rcx_colls[c.algo->coll].has_places || c.size > most)
        return true;
    for (int gaps = 1; gaps < PROOF_GAPS_ALL; gaps++) {
        c.gaps = (enum proof_gaps)gaps;
        if (!prove_roots(g, c))
            return false;
    }
    return true;
}

static bool prove_blocks(struct grid *g, struct proof_case c, int i)
{
    if (!rcx_coll_has_blocks(c.algo->coll))
        return prove_roots(g, c);
    for (int blocks = 0; blocks < PROOF_BLOCKS; blocks++) {
        c.blocks = (enum proof_blocks)blocks;
        if (!has_blocks(g, c.blocks, c.size, i) ||
            !proof_has_blocks(&c, c.blocks))
            continue;
        if (!prove_roots(g, c) || !prove_gaps(g, c))
            return false;
    }
    return true;
}

static int counts_of(int size, size_t counts[])
{
    const size_t p = (size_t)size, cube = (size_t)rcx_pow2_floor(size);
    const size_t even = p == cube ? p : p % 2 ? p * cube : p / 2 * cube;
    const size_t small[SMALL_COUNTS] = {0, 1, 2, p - 1, p, p + 1, 7 * p + 3};
    const size_t large[] = {0, 1, p};
    int n = 0;

    if (size > EVERY) {
        for (int i = 0; i < 3; i++)
            counts[n++] = large[i];
        return n;
    }
    for (int i = 0; i < SMALL_COUNTS; i++) {
        bool is_new = true;

        for (int k = 0; k < n; k++)
            is_new = is_new && counts[k] != small[i];
        if (is_new)
            counts[n++] = small[i];
    }
    if (even != p) /* for exact costs */
        counts[n++] = even;
    return n;
}

/* Prove a call in segments, of which the last ones are odd. */
static bool prove_segments(struct grid *g, struct proof_case c)
{
    const size_t p = (size_t)c.size;

    if (!rcx_coll_has_blocks(c.algo->coll) || c.size > EVERY ||
        rcx_colls[c.algo->coll].is_local ||
        (c.size > WHOLE && !takes(g, c.size, 0)))
        return true;
    c.segment = 2 * p;
    c.count = 5 * p;
    if (!prove_places(g, c))
        return false;
    c.count = 7 * p + 3;
    for (int blocks = 0; blocks < PROOF_BLOCKS; blocks++) {
        c.blocks = (enum proof_blocks)blocks;
        c.segment = c.blocks == PROOF_MOD_3 ? p / 2 + 1 : 2 * p;
        if (!proof_has_blocks(&c, c.blocks))
            continue;
        if (!prove_places(g, c) || !prove_gaps(g, c))
            return false;
    }
    return true;
}

static bool prove_counts(struct grid *g, struct proof_case c)
{
    size_t counts[COUNTS_MAX];
    int n = counts_of(c.size, counts);

    if (!rcx_coll_has_data(g->algo->coll))
        return prove_places(g, c);
    if (g->algo->is_by_nodes && c.size <= EVERY)
        counts[n++] =
            (size_t)c.size * (size_t)rcx_pow2_floor(c.size) * PROOF_SHARES;
    for (int i = 0; i < n; i++) {
        c.count = counts[i];
        if (i < SMALL_COUNTS && !takes(g, c.size, i))
            continue;
        if (!(i < SMALL_COUNTS ? prove_blocks(g, c, i) : prove_both(g, &c)))
            return false;
    }
    return prove_segments(g, c);
}

bool proof_param_value(const struct rcx_param *p, int k, int64_t *value_p)
{
    if (p->names && !p->names[k])
        return false;
    *value_p = p->names ? k : p->proved[k];
    return *value_p != RCX_PARAM_END;
}

/* Whether parameter i keeps its default: the algorithm of a phase matters
 * little, so few ranks suffice to prove the others. */
static bool is_settled(const struct grid *g, const struct proof_case *c, int i)
{
    return g->algo->is_by_nodes && g->algo->params[i].names &&
           g->extent != PROOF_FULL && c->size > GAPS;
}

/* Prove all combinations of the values of parameters i and up. */
static bool prove_params(struct grid *g, struct proof_case c, int i)
{
    const struct rcx_param *p = g->algo->params;

    if (i == RCX_PARAMS || !p || !p[i].name)
        return prove_counts(g, c);
    if (is_settled(g, &c, i))
        return prove_params(g, c, i + 1);
    for (int k = 0; proof_param_value(&p[i], k, &c.params[i]); k++)
        if (!prove_params(g, c, i + 1))
            return false;
    return true;
}

/* Maps of nodes apply to algorithms by nodes: all maps for few ranks; for more,
 * one in three in turn, then one in turn. */
static bool has_map(const struct grid *g, int size, int map)
{
    if (!g->algo->is_by_nodes)
        return map == PROOF_MAP_NONE;
    if (map == PROOF_MAP_NONE)
        return false;
    if (size <= GAPS || g->extent == PROOF_FULL)
        return true;
    return size <= WHOLE ? (size + map) % 3 == 0
                         : map == 1 + size % (PROOF_MAPS - 1);
}

static bool prove_size(struct grid *g, int size)
{
    struct proof_case c = {.algo = g->algo, .size = size, .commutative = true};

    rcx_params_reset(g->algo, c.params);
    for (int map = 0; map < PROOF_MAPS; map++) {
        if (!has_map(g, size, map))
            continue;
        c.map = (enum proof_map)map;
        if (!(size <= EVERY ? prove_params(g, c, 0) : prove_counts(g, c)))
            return false;
    }
    return true;
}

/* Leaders with shares of two lengths, between which the prices of two phases
 * cross, or a phase begins to halve the vector. All leaders must make the
 * choice of the longest share, whose cost is stated. */
static bool prove_shares(struct grid *g)
{
    static const struct {
        int size, per_node;
        size_t count;
        enum proof_map map;
    } some[] = {{15, 4, 386, PROOF_MAP_BLOCKS}, {46, 0, 325, PROOF_MAP_LEVELS}};
    const struct rcx_param *p = g->algo->params;

    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        struct proof_case c = {.algo = g->algo,
                               .size = some[i].size,
                               .count = some[i].count,
                               .commutative = true,
                               .map = some[i].map,
                               .per_node = some[i].per_node};

        rcx_params_reset(g->algo, c.params);
        for (int k = 0; proof_param_value(p, k, &c.params[0]); k++)
            if (!prove(g, &c))
                return false;
    }
    return true;
}

/* ---- The grid ------------------------------------------------------------ */

static bool check_levels(const struct grid *g)
{
    static const char *const names[] = {"LOOSE", "SAME", "RANK", "UNIFORM",
                                        "CANONICAL"};

    for (int i = 0; i < LEVELS; i++) {
        if (!g->example[i].algo || g->least_held[i] == (rcx_order_t)i)
            continue;
        /* other lengths of segments may choose phases that keep less */
        if (g->algo->is_by_nodes && i == RCX_ORDER_RANK)
            continue;
        snprintf(g->summary->text, PROOF_TEXT,
                 "%s %s states %s (as for p=%d), but keeps %s in all cases",
                 rcx_coll_name(g->algo->coll), g->algo->name, names[i],
                 g->example[i].size, names[g->least_held[i]]);
        return false;
    }
    return true;
}

bool proof_grid_run(const struct rcx_algo *algo, enum proof_extent extent,
                    struct proof_summary *summary_p)
{
    static const int every[] = {
        [PROOF_SMALL] = 5, [PROOF_QUICK] = WHOLE, [PROOF_FULL] = EVERY};
    /* larger sizes, and the least extent that includes them */
    static const struct {
        int size;
        enum proof_extent from;
    } some[] = {
        {8, PROOF_SMALL},   {16, PROOF_QUICK},  {17, PROOF_QUICK},
        {31, PROOF_QUICK},  {32, PROOF_QUICK},  {33, PROOF_QUICK},
        {48, PROOF_QUICK},  {63, PROOF_QUICK},  {64, PROOF_QUICK},
        {65, PROOF_QUICK},  {96, PROOF_FULL},   {100, PROOF_QUICK},
        {127, PROOF_FULL},  {128, PROOF_QUICK}, {129, PROOF_FULL},
        {255, PROOF_FULL},  {256, PROOF_FULL},  {257, PROOF_QUICK},
        {1000, PROOF_FULL}, {1023, PROOF_FULL}, {1024, PROOF_QUICK},
        {4096, PROOF_FULL},
    };
    struct grid g = {.algo = algo, .extent = extent, .summary = summary_p};
    bool good = true;

    *summary_p = (struct proof_summary){0};
    for (int i = 0; i < LEVELS; i++)
        g.least_held[i] = RCX_ORDER_CANONICAL;
    for (int p = 1; p <= every[extent] && good; p++)
        good = prove_size(&g, p);
    for (size_t i = 0; i < sizeof some / sizeof *some && good; i++)
        if (some[i].size > every[extent] && some[i].from <= extent)
            good = prove_size(&g, some[i].size);
    if (algo->is_by_nodes && algo->params && extent != PROOF_SMALL)
        good = good && prove_shares(&g);
    return good && check_levels(&g);
}
