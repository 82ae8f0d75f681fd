/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves every algorithm of the registry as a phase: within groups that are not
 * the whole communicator, on operands that are not the whole vector. Then
 * proves an allreduce that consists of three phases over the rows and columns
 * of a grid.
 *
 * test_frames [NAME]: from the registry, only the algorithms called NAME.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/sched/params.h"
#include "sim/framed.h"
#include "grid.h"
#include "grid_allreduce.h"

enum { SIZES = TIMES(33, 9), SIDES = TIMES(6, 3) };

static const struct proof_options options = {.seed = 1, .runs = 2};

/* ---- Groups -------------------------------------------------------------- */

enum which { EVERY_SECOND, UPPER_HALF, LISTED, GROUPS };

struct group {
    struct simulated_frame frame;
    int members[SIZES];
    int size;
};

/* Make a group of an odd number of ranks in random order. */
static void draw_list(struct group *g, int size)
{
    uint64_t random = (uint64_t)size;

    for (int i = 0; i < size; i++) {
        const int k = (int)(rcx_random(&random) % (uint64_t)(i + 1));

        g->members[i] = g->members[k];
        g->members[k] = i;
    }
    g->size = size - (size + 1) % 2;
}

static void draw_group(struct group *g, enum which which, int size)
{
    g->frame = (struct simulated_frame){.size = size, .members = g->members};
    if (which == LISTED) {
        draw_list(g, size);
        return;
    }
    g->frame.stride = which == EVERY_SECOND ? 2 : 1;
    g->frame.first = which == UPPER_HALF ? size / 2 : size > 1;
    g->size = 0;
    for (int r = g->frame.first; r < size; r += g->frame.stride)
        g->members[g->size++] = r;
}

/* ---- Every algorithm ----------------------------------------------------- */

static unsigned cases;

static void prove(const struct proof_case *c)
{
    struct proof_report report;

    if (!proof_applies(c))
        return;
    if (!proof_prove(c, &options, &report))
        fail_msg("%s", report.text);
    cases++;
}

/* Whether counts are local: a phase never has such counts. */
static bool is_local(const struct rcx_algo *algo)
{
    return rcx_colls[algo->coll].is_local;
}

/* Prove every place, with the other axes in turn; i varies the cases of a
 * group. */
static void prove_places(struct proof_case c, struct simulated_frame *frame,
                         int i)
{
    const size_t p = (size_t)c.size, cube = (size_t)rcx_pow2_floor(c.size);
    const size_t even = p % 2 ? p * cube : p / 2 * cube;

    for (int place = 0; place < PROOF_PLACES; place++) {
        if (!proof_has_place(&c, (enum proof_place)place))
            continue;
        c.place = (enum proof_place)place;
        c.root = (i + place) % c.size;
        c.commutative = (i + place) % 3 != 0;
        if (rcx_coll_has_blocks(c.algo->coll))
            c.blocks = (enum proof_blocks)((i + place) % PROOF_BLOCKS);
        if (!proof_has_blocks(&c, c.blocks))
            c.blocks = PROOF_EQUAL;
        if (rcx_coll_has_data(c.algo->coll))
            c.count = (i + place) % 2 || c.blocks ? 7 * p + 3 : even;
        frame->in_scratch = (i / 2 + place) % 2;
        prove(&c);
    }
}

/* Prove all combinations of the values of parameters k and up. */
static void prove_params(struct proof_case c, struct simulated_frame *frame,
                         int k, int *i)
{
    const struct rcx_param *p = c.algo->params;

    if (k == RCX_PARAMS || !p || !p[k].name) {
        prove_places(c, frame, (*i)++);
        return;
    }
    for (int v = 0; proof_param_value(&p[k], v, &c.params[k]); v++)
        prove_params(c, frame, k + 1, i);
}

static void algorithm_is_proved_in_groups(void **state)
{
    const struct rcx_algo *algo = *state;

    cases = 0;
    for (int size = 1; size <= SIZES; size++) {
        for (int which = 0; which < GROUPS; which++) {
            struct group g;
            int i = size + which;

            draw_group(&g, (enum which)which, size);

            struct proof_case c = {.algo = algo,
                                   .size = g.size,
                                   .commutative = true,
                                   .frame = &g.frame};

            rcx_params_reset(algo, c.params);
            prove_params(c, &g.frame, 0, &i);
        }
    }
    print_message("# %s %s: %u cases\n", rcx_coll_name(algo->coll), algo->name,
                  cases);
}

/* ---- Wrong frames -------------------------------------------------------- */

enum mistake { PEERS, IN_OFFSET, OUT_OFFSET, MISTAKES };

struct spoiling {
    enum mistake mistake;
    const struct group *g;
};

static int member_of(const struct group *g, int rank)
{
    int i = 0;

    while (g->members[i] != rank)
        i++;
    return i;
}

static void shift(uint8_t buffer, size_t *at, enum mistake mistake)
{
    if (mistake == IN_OFFSET && buffer == RCX_BUFFER_IN)
        *at -= FRAMED_IN_AT;
    if (mistake == OUT_OFFSET && buffer == RCX_BUFFER_OUT)
        *at -= FRAMED_OUT_AT;
}

/* Change the steps to those of a frame that omits one translation. */
static void spoil(struct rcx_builder *b, const struct rcx_shape *s, void *arg)
{
    const struct spoiling *spoiling = arg;

    (void)s;
    for (uint32_t i = 0; i < b->step_count; i++) {
        struct rcx_step *step = &b->steps[i];

        if (spoiling->mistake == PEERS && rcx_step_is_message(step->kind))
            step->peer = member_of(spoiling->g, step->peer);
        if (step->kind != RCX_STEP_SEND)
            shift(step->dst, &step->dst_at, spoiling->mistake);
        if (step->kind != RCX_STEP_RECV)
            shift(step->left, &step->left_at, spoiling->mistake);
        if (step->kind == RCX_STEP_REDUCE)
            shift(step->right, &step->right_at, spoiling->mistake);
    }
}

/* Make a group of an odd number of ranks; of an even number if the algorithm
 * requires that. */
static bool draw_suited(struct proof_case *c, struct group *g, int size)
{
    draw_group(g, LISTED, size);
    c->size = g->size;
    if (proof_applies(c))
        return true;
    draw_group(g, EVERY_SECOND, size);
    c->size = g->size;
    return proof_applies(c);
}

static void a_frame_that_forgets_something_is_caught(void **state)
{
    struct group g;
    struct proof_report report;

    (void)state;
    for (int size = 6; size <= 9; size++) {
        for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
            struct proof_case c = {.algo = *a,
                                   .count = 23,
                                   .root = 1,
                                   .commutative = true,
                                   .frame = &g.frame};

            if (!rcx_coll_has_data((*a)->coll) || is_local(*a))
                continue;
            rcx_params_reset(*a, c.params);
            if (!draw_suited(&c, &g, size))
                continue;
            for (int k = 0; k < MISTAKES; k++) {
                struct spoiling spoiling = {(enum mistake)k, &g};
                const struct simulation_hooks hooks = {.steps = spoil,
                                                       .arg = &spoiling};
                struct proof_options spoiled = options;

                assert_true(proof_prove(&c, &spoiled, &report));
                spoiled.hooks = &hooks;
                if (proof_prove(&c, &spoiled, &report))
                    fail_msg("%s %s, p=%d: mistake %d is not noticed",
                             rcx_coll_name((*a)->coll), (*a)->name, g.size, k);
            }
        }
    }
}

/* ---- A composition ------------------------------------------------------- */

/* Prove the grid with every reduce_scatter and every allreduce, in both
 * forms. */
static void prove_grid(struct proof_case c, int rows, int columns)
{
    c.size = rows * columns;
    c.params[GRID_COLUMNS] = columns;
    for (int form = 0; form < GRID_FORMS; form++) {
        c.params[GRID_FORM] = form;
        for (int i = 0; i < grid_phases(); i++) {
            c.params[GRID_PHASES] = i;
            c.commutative = (rows + i) % 2;
            c.place =
                (enum proof_place)((i + form) % 2 ? PROOF_APART : PROOF_MIXED);
            /* uneven counts: exact costs require ranks in step */
            c.count = i % 3 ? 2 * (size_t)c.size + 1 : (size_t)c.size - 1;
            prove(&c);
        }
    }
}

static void an_allreduce_of_a_grids_rows_and_columns_is_proved(void **state)
{
    const struct proof_case c = {.algo = &grid_allreduce, .commutative = true};

    (void)state;
    cases = 0;
    for (int rows = 1; rows <= SIDES; rows++)
        for (int columns = 1; columns <= SIDES; columns++)
            prove_grid(c, rows, columns);
    print_message("# %u cases\n", cases);
}

/* If phases keep all ranks in step, the cost of a composition is the sum of
 * their costs. */
static void a_grid_of_rings_costs_the_sum_of_its_phases(void **state)
{
    struct proof_case c = {.algo = &grid_allreduce, .commutative = true};
    struct proof_report report;
    const double r = 3, k = 4, p = r * k, n = 24 * p;

    (void)state;
    c.size = (int)p;
    c.count = (size_t)n;
    c.params[GRID_COLUMNS] = (int64_t)k;
    c.params[GRID_FORM] = GRID_SCATTER;
    c.params[GRID_PHASES] = grid_phase_named("ring");
    if (!proof_prove(&c, &options, &report))
        fail_msg("%s", report.text);
    assert_true(report.cost.rounds == 2 * (k - 1) + 2 * (r - 1));
    assert_true(report.cost.volume == 2 * n * (p - 1) / p);
    assert_true(report.cost.combines == n * (p - 1) / p);
}

/* The phases of the grid are frames within a frame. */
static void a_grid_is_proved_in_a_group(void **state)
{
    struct group g;
    struct proof_case c = {
        .algo = &grid_allreduce, .commutative = true, .frame = &g.frame};

    (void)state;
    draw_group(&g, LISTED, TIMES(33, 9));
    prove_grid(c, 3, g.size / 3);
    draw_group(&g, UPPER_HALF, 30 < SIZES ? 30 : 8);
    g.frame.in_scratch = true;
    prove_grid(c, g.size / 2 % 2 ? 3 : 2, g.size / (g.size / 2 % 2 ? 3 : 2));
}

/* ---- The list of tests --------------------------------------------------- */

static struct CMUnitTest test_of(const struct rcx_algo *algo)
{
    char name[128];

    snprintf(name, sizeof name, "%s %s is proved in groups",
             rcx_coll_name(algo->coll), algo->name);
    return (struct CMUnitTest){.name = strdup(name),
                               .test_func = algorithm_is_proved_in_groups,
                               .initial_state = (void *)algo};
}

int main(int argc, char **argv)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(a_frame_that_forgets_something_is_caught),
        cmocka_unit_test(an_allreduce_of_a_grids_rows_and_columns_is_proved),
        cmocka_unit_test(a_grid_of_rings_costs_the_sum_of_its_phases),
        cmocka_unit_test(a_grid_is_proved_in_a_group),
    };
    const size_t fixed = sizeof others / sizeof *others;
    struct CMUnitTest *tests;
    size_t n = 0, known = 0;
    int failures;

    while (rcx_algo_table[known])
        known++;
    tests = calloc(known + fixed, sizeof *tests);
    for (size_t i = 0; i < known; i++)
        if ((argc < 2 || strcmp(argv[1], rcx_algo_table[i]->name) == 0) &&
            !is_local(rcx_algo_table[i]))
            tests[n++] = test_of(rcx_algo_table[i]);
    memcpy(tests + n, others, sizeof others);
    /* cmocka's macro for this call accepts arrays only */
    failures = _cmocka_run_group_tests("frames", tests, n + fixed, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        free((char *)tests[i].name);
    free(tests);
    return failures;
}
