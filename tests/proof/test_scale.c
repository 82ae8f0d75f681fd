/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A million ranks on nodes of 64 and of 128: the chosen algorithms have small
 * schedules. The times to choose and to write them are printed, not checked.
 */
#include "test.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "core/sched/algo.h"
#include "core/sched/method.h"
#include "core/sched/tuning.h"
#include "maps.h"

enum { MILLION = 1 << 20, WINDOW = 1024, ATTEMPTS = 10, MOST = 128 << 10 };

static struct rcx_heap heap = RCX_HEAP_INIT;
static struct rcx_log lines;
static struct rcx_builder builder;
static struct rcx_tuning tuning;

/* Times of the slowest rank; each is the least of several attempts. */
struct effort {
    double choose_us, write_us;
    size_t bytes;
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct rcx_plan *write(const struct rcx_shape *shape,
                              const struct rcx_method *m)
{
    struct rcx_shape s = *shape;
    struct rcx_plan *plan;

    memcpy(s.params, m->params, sizeof s.params);
    rcx_builder_begin(&builder, &s);
    m->algo->build(&builder, &s);
    assert_ok(rcx_sched_finish(&builder, WINDOW, &plan));
    return plan;
}

static void try_rank(const struct rcx_shape *s, struct rcx_method *m,
                     struct effort *e)
{
    double choose_us = INFINITY, write_us = INFINITY;

    for (int i = 0; i < ATTEMPTS; i++) {
        const double start = now_us();
        double chosen, written;
        struct rcx_plan *plan;

        assert_ok(rcx_method_choose(s, RCX_ORDER_LOOSE, &rcx_method_any,
                                    &tuning, &builder, m));
        chosen = now_us();
        plan = write(s, m);
        written = now_us();
        choose_us = fmin(choose_us, chosen - start);
        write_us = fmin(write_us, written - chosen);
        e->bytes = plan->bytes > e->bytes ? plan->bytes : e->bytes;
        rcx_heap_free(&heap, plan);
    }
    e->choose_us = fmax(e->choose_us, choose_us);
    e->write_us = fmax(e->write_us, write_us);
}

static void check(enum rcx_coll coll, size_t bytes,
                  const struct rcx_nodes *nodes)
{
    static const int ranks[] = {0, 1, 2, MILLION / 3, MILLION / 2, MILLION - 1};
    struct rcx_shape s = {.coll = coll,
                          .size = MILLION,
                          .count = bytes / 4,
                          .elem_bytes = 4,
                          .commutative = true,
                          .nodes = nodes};
    struct effort e = {.bytes = 0};
    struct rcx_method m;

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        s.rank = ranks[i];
        try_rank(&s, &m, &e);
    }
    print_message("# %s, %zu bytes, %d ranks a node: %s; %.0f us to choose, "
                  "%.0f to write %zu bytes\n",
                  rcx_coll_name(coll), bytes, nodes->most, m.algo->name,
                  e.choose_us, e.write_us, e.bytes);
    assert_true(e.bytes > 0 && e.bytes < MOST);
}

static void schedules_chosen_for_a_million_ranks_are_small(void **state)
{
    static const enum rcx_coll colls[] = {RCX_COLL_ALLREDUCE, RCX_COLL_REDUCE,
                                          RCX_COLL_BCAST, RCX_COLL_BARRIER};
    static const size_t bytes[] = {8, 4000, (64 << 10) + 4, 1 << 20, 16 << 20};
    struct rcx_refusal refusal;

    (void)state;
    rcx_log_init(&lines);
    rcx_builder_init(&builder, &heap, &lines);
    assert_ok(rcx_tuning_open(&tuning, &heap, "", &refusal));
    for (int per_node = 64; per_node <= 128; per_node *= 2) {
        struct rcx_nodes *nodes =
            proof_map_new(&heap, PROOF_MAP_BLOCKS, MILLION, per_node);

        assert_non_null(nodes);
        for (size_t i = 0; i < sizeof colls / sizeof *colls; i++)
            for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++)
                if (k == 0 || colls[i] != RCX_COLL_BARRIER)
                    check(colls[i], colls[i] == RCX_COLL_BARRIER ? 0 : bytes[k],
                          nodes);
        rcx_nodes_free(&heap, nodes);
    }
    rcx_tuning_close(&tuning, &heap);
    rcx_builder_free(&builder);
    assert_int_equal(heap.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_chosen_for_a_million_ranks_are_small),
    };

    return cmocka_run_group_tests_name("scale", tests, NULL, NULL);
}
