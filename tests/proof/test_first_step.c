/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first step of a call with local counts tells each rank the lengths of all
 * blocks that it receives in the second step. Proofs of the second step use
 * these lengths as case.c computes them; this test shows that the first step
 * delivers them.
 */
#include "test.h"

#include <string.h>

#include "core/base/random.h"
#include "sim/simulate.h"
#include "sim/timing.h"

enum { MOST = 64, MOVES = MOST * MOST, ALL = TIMES(33, 17) };

/* number of elements from rank i to rank j */
static size_t counts[MOST][MOST];

static void draw_counts(int p, uint64_t *random)
{
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++)
            counts[i][j] = rcx_random(random) % 3 ? rcx_random(random) : 0;
}

/* ---- By the definition: every block in transit --------------------------- */

struct lengths {
    size_t count[MOST]; /* blocks that each rank has received */
    size_t length[MOST][MOVES];
};

/* Move all blocks of distance way by this digit, and record them at their new
 * rank. */
static void move(struct lengths *lengths, int p, int (*at)[MOST], int way,
                 int by)
{
    for (int giver = 0; giver < p; giver++) {
        const int rank = at[giver][way] = (at[giver][way] + by) % p;

        lengths->length[rank][lengths->count[rank]++] =
            counts[giver][(giver + way) % p];
    }
}

static void walk(struct lengths *lengths, int p, int radix)
{
    static int at[MOST][MOST];
    int weight = 1;

    memset(lengths->count, 0, sizeof lengths->count);
    for (int giver = 0; giver < p; giver++)
        for (int way = 0; way < p; way++)
            at[giver][way] = giver;
    while (weight * radix < p)
        weight *= radix;
    for (; weight > 0; weight /= radix)
        for (int digit = 1; digit < radix; digit++)
            for (int way = 1; way < p; way++)
                if (way / weight % radix == digit)
                    move(lengths, p, at, way, digit * weight);
    for (int giver = 0; giver < p; giver++)
        for (int way = 0; way < p; way++)
            assert_int_equal(at[giver][way], (giver + way) % p);
}

/* ---- By the schedules ---------------------------------------------------- */

static size_t vectors[MOST][MOST];
static size_t scratch[MOST][3 * MOVES];

static void set_buffers(struct simulation *s)
{
    for (int r = 0; r < s->size; r++) {
        char **base = s->ranks[r].base;

        assert_true(s->ranks[r].plan->scratch <= 3 * MOVES);
        memcpy(vectors[r], counts[r], sizeof vectors[r]);
        base[RCX_BUFFER_IN] = base[RCX_BUFFER_OUT] = (char *)vectors[r];
        base[RCX_BUFFER_TMP] = (char *)scratch[r];
    }
}

static void check(const struct simulation *s, const struct lengths *lengths)
{
    for (int r = 0; r < s->size; r++) {
        for (int giver = 0; giver < s->size; giver++)
            assert_true(vectors[r][giver] == counts[giver][r]);
        for (size_t k = 0; k < lengths->count[r]; k++)
            assert_true(scratch[r][k] == lengths->length[r][k]);
    }
}

static void prove(const struct rcx_algo *algo, int p, int radix, uint64_t seed)
{
    static struct lengths lengths;
    const struct rcx_reducer reducer = {.elem_bytes = sizeof(size_t)};
    enum rcx_alias alias[MOST];
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_run run = {
        .reducer = &reducer, .seed = seed, .sends = SENDS_MIXED, .late = -1};
    struct simulated_call call = {.algo = algo,
                                  .shape = {.coll = algo->coll,
                                            .size = p,
                                            .count = (size_t)p,
                                            .elem_bytes = sizeof(size_t)},
                                  .alias = alias,
                                  .heap = &heap,
                                  .layout = RCX_TAG_LAYOUT};
    struct simulation s;
    struct rcx_cost cost;

    for (int r = 0; r < p; r++)
        alias[r] = RCX_ALIAS_SAME;
    call.shape.params[0] = radix; /* limit is 0: it is for the second step */
    draw_counts(p, &seed);
    walk(&lengths, p, radix < p ? radix : p > 2 ? p : 2);
    if (!simulation_open(&s, &call))
        fail_msg("p=%d, radix %d: %s", p, radix, s.text);
    set_buffers(&s);
    if (!simulation_run(&s, &run))
        fail_msg("p=%d, radix %d: %s", p, radix, s.text);
    check(&s, &lengths);
    for (int r = 0; r < p; r++)
        assert_int_equal(algo->passing(&s.ranks[r].shape), lengths.count[r]);
    assert_true(simulation_clock(&s, &cost));
    assert_true(2 * cost.rounds == algo->cost(&call.shape).rounds);
    assert_true(cost.volume == (double)lengths.count[0]);
    simulation_close(&s);
    assert_int_equal(heap.live, 0);
}

static void prove_radixes(const struct rcx_algo *algo, int p)
{
    static const int radixes[] = {2, 3, 4, 5, 8, 1000};

    for (size_t i = 0; i < sizeof radixes / sizeof *radixes; i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            prove(algo, p, radixes[i], seed);
}

static void every_rank_learns_the_lengths_it_needs(void **state)
{
    int found = 0;

    (void)state;
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        if (!(*a)->passing)
            continue;
        found++;
        for (int p = 1; p <= ALL; p++)
            prove_radixes(*a, p);
        prove_radixes(*a, 48);
        prove_radixes(*a, MOST);
    }
    assert_true(found > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_learns_the_lengths_it_needs),
    };

    return cmocka_run_group_tests_name("first_step", tests, NULL, NULL);
}
