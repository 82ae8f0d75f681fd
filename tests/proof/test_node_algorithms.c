/* SPDX-License-Identifier: BSD-3-Clause */
/* What must hold of all algorithms on the model of a node: they end, on every
 * lane, and a better machine is not slower. */
#include "test.h"

#include <math.h>

#include "prove.h"
#include "sim/node_model.h"
#include "times.h"

static struct rcx_heap heap = RCX_HEAP_INIT;

/* Two sockets of two caches of four cores. */
static const char large[] =
    "name large\n"
    "core copy=40GB/s combine=30GB/s\n"
    "level core cores=1 cache=64K out=30GB/s\n"
    "level cache cores=4 latency=25ns read=30GB/s in=30GB/s out=15GB/s\n"
    "level cache cache=256K cache-read=50GB/s inside=150GB/s\n"
    "level socket cores=8 latency=100ns read=15GB/s in=40GB/s out=40GB/s\n"
    "level socket memory=40GB/s memory-read=12GB/s\n"
    "level node cores=16 latency=200ns read=8GB/s\n"
    "lane send=30ns recv=30ns line=1ns flag=5ns gap=10ns readers=8 slot=112\n"
    "lane chunk=16K room=64K\n";

/* Seconds of an algorithm on a machine. NAN: it does not suit. */
static double predict(const struct proof_case *c, const struct node_machine *m,
                      struct node_lane lane)
{
    struct simulated_call call = proof_call_of(c, &heap);
    int core[16];
    struct simulation s;
    const struct node_piece piece = {.s = &s, .segments = 3};
    const struct node_call node = {.pieces = &piece,
                                   .piece_count = 1,
                                   .window = 2,
                                   .core = core,
                                   .machine = m,
                                   .lane = lane};
    double seconds = NAN;

    call.shape.elem_bytes = 8;
    node_place(m, NODE_COMPACT, c->size, core);
    if (rcx_algo_fits(c->algo, &call.shape)) {
        assert_true(simulation_open(&s, &call));
        if (!node_model_time(&node, &seconds))
            fail_msg("%s, lane %d%d: %s", c->algo->name, lane.staging,
                     lane.many_way, s.text);
        simulation_close(&s);
    }
    proof_call_free(&call);
    return seconds;
}

static struct node_machine machine(void)
{
    struct node_machine m;
    char why[NODE_TEXT] = "";

    if (!node_machine_parse(&m, large, why))
        fail_msg("%s", why);
    return m;
}

static struct proof_case case_of(const struct rcx_algo *algo, int size,
                                 size_t count)
{
    struct proof_case c = {.algo = algo,
                           .size = size,
                           .count = count,
                           .commutative = true,
                           .map = algo->is_by_nodes ? PROOF_MAP_BLOCKS
                                                    : PROOF_MAP_NONE,
                           .per_node = algo->is_by_nodes ? 4 : 0};

    rcx_params_reset(algo, c.params);
    return c;
}

static void every_algorithm_ends_on_every_lane(void **state)
{
    const struct node_machine m = machine();
    int predicted = 0;

    (void)state;
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        for (int i = 0; i < 2 * 3; i++) {
            const struct node_lane lane = {
                .staging = (enum node_staging)(i / 2), .many_way = i % 2};
            const struct proof_case small_one = case_of(*a, 13, 13);
            const struct proof_case long_one = case_of(*a, 13, 13 * 3000);
            const double few = predict(&small_one, &m, lane);
            const double many = predict(&long_one, &m, lane);

            if (isnan(few))
                continue;
            predicted++;
            if (!(few > 0 && (many > few || (*a)->coll == RCX_COLL_BARRIER)))
                fail_msg("%s: %g for 13 elements, %g for many", (*a)->name, few,
                         many);
        }
    assert_true(predicted > 100);
}

enum { FIGURES = 14, TRIED = TIMES(FIGURES, 2) };

/* Improve one figure of a machine. False: it is not tried. */
static bool improve(struct node_machine *m, int figure)
{
    double *const figures[FIGURES] = {&m->copy,
                                      &m->combine,
                                      &m->level[0].out,
                                      &m->level[1].read,
                                      &m->level[1].in,
                                      &m->level[1].out,
                                      &m->level[1].inside,
                                      &m->level[1].cache_read,
                                      &m->level[2].read,
                                      &m->level[2].in,
                                      &m->level[2].out,
                                      &m->level[2].memory,
                                      &m->level[2].memory_read,
                                      &m->level[3].read};

    if (figure == TRIED)
        return false;
    *figures[figure] *= 2;
    return true;
}

/* Ranks take work in the order in which it becomes ready, so that a faster link
 * may change that order for the worse; but only by some per cent. */
static void more_bandwidth_is_not_slower(void **state)
{
    const struct node_lane lane = {.staging = NODE_ONCE, .many_way = true};
    const struct node_machine m = machine();
    int slower = 0, all = 0;

    (void)state;
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        const struct proof_case c = case_of(*a, 16, 16 * 2048);
        const double before = predict(&c, &m, lane);
        struct node_machine better = m;

        for (int i = 0; !isnan(before) && improve(&better, i); i++) {
            const double after = predict(&c, &better, lane);

            all++;
            slower += after > before * 1.01;
            if (after > before * 1.1)
                fail_msg("%s %s: figure %d from %g to %g",
                         rcx_coll_name((*a)->coll), (*a)->name, i, before,
                         after);
            better = m;
        }
    }
    print_message("# %d of %d are slower by more than 1 %%\n", slower, all);
    assert_true(all > 36 * TRIED && slower * 10 < all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_ends_on_every_lane),
        cmocka_unit_test(more_bandwidth_is_not_slower),
    };

    return cmocka_run_group_tests_name("node_algorithms", tests, NULL, NULL);
}
