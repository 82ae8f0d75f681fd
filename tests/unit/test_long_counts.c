/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts and displacements beyond 32 and 40 bits, without the memory. If all
 * lengths are multiplied by a factor, segments and schedules must be the same,
 * with all offsets and counts multiplied by it. The proof suite checks the
 * short ones.
 */
#include "test.h"

#include <string.h>

#include "core/sched/algo.h"
#include "core/sched/params.h"
#include "core/sched/segment.h"

enum {
    MOST_RANKS = 9,
    WINDOW = 1024,
    /* UNIT is divisible repeatedly by all numbers of ranks and parts. */
    MOST_PARTS = 16,
    UNIT = 720720 * 16
};
/* Odd, so that high halves of products are not zero by chance. */
static const size_t factors[] = {401, 1000003};

static struct rcx_heap heap = RCX_HEAP_INIT;

/* A shape, and the displacements of its blocks. */
struct long_shape {
    struct rcx_shape s;
    size_t displs[MOST_RANKS + 1];
};

/* Length of block i: 0 to 3 units, and 12 for rank 1. If counts are local, the
 * length between two ranks is the same in both directions. */
static size_t units(const struct rcx_shape *s, int i)
{
    const int k = rcx_colls[s->coll].is_local ? (s->rank + i) % s->size : i;

    return k == 1 ? 12 : (size_t)(k * 7 % 4);
}

static void shape_long(struct long_shape *l, const struct rcx_algo *algo,
                       int size, int rank, bool irregular)
{
    l->s = (struct rcx_shape){.coll = algo->coll,
                              .size = size,
                              .rank = rank,
                              .root = rcx_coll_is_rooted(algo->coll) * size / 2,
                              .count = (size_t)size * UNIT,
                              .elem_bytes = 1,
                              .commutative = true};
    l->displs[0] = 0;
    for (int i = 0; i < size; i++)
        l->displs[i + 1] = l->displs[i] + UNIT * units(&l->s, i);
    if (!irregular)
        return;
    l->s.count = l->displs[size];
    l->s.displs = l->displs;
    l->s.gotten = rcx_colls[algo->coll].is_local ? l->displs : NULL;
}

/* Multiply all lengths of a shape by factor. */
static void lengthen(struct long_shape *to, const struct long_shape *from,
                     size_t factor)
{
    *to = *from;
    to->s.count *= factor;
    for (int i = 0; i <= from->s.size; i++)
        to->displs[i] *= factor;
    to->s.displs = from->s.displs ? to->displs : NULL;
    to->s.gotten = from->s.gotten ? to->displs : NULL;
}

static void check_step(const struct rcx_step *a, const struct rcx_step *b,
                       size_t factor)
{
    assert_int_equal(b->kind, a->kind);
    assert_int_equal(b->count, a->count * factor);
    assert_int_equal(b->waits, a->waits);
    assert_int_equal(b->successor_count, a->successor_count);
    if (rcx_step_is_message(a->kind)) {
        assert_int_equal(b->peer, a->peer);
        assert_int_equal(b->message, a->message);
    }
    if (a->kind != RCX_STEP_SEND) {
        assert_int_equal(b->dst, a->dst);
        assert_int_equal(b->dst_at, a->dst_at * factor);
    }
    if (a->kind != RCX_STEP_RECV) {
        assert_int_equal(b->left, a->left);
        assert_int_equal(b->left_at, a->left_at * factor);
    }
    if (a->kind == RCX_STEP_REDUCE) {
        assert_int_equal(b->right, a->right);
        assert_int_equal(b->right_at, a->right_at * factor);
    }
}

static struct rcx_plan *write(struct rcx_builder *b,
                              const struct rcx_algo *algo,
                              const struct rcx_shape *s,
                              const struct rcx_row *row)
{
    struct rcx_plan *plan;

    rcx_row_build(b, algo, s, row);
    assert_ok(rcx_sched_finish(b, WINDOW, &plan));
    return plan;
}

static void check_row(struct rcx_builder *b, const struct rcx_algo *algo,
                      const struct long_shape *shapes[2],
                      const struct rcx_row rows[2], size_t factor)
{
    struct rcx_plan *plans[2];

    assert_int_equal(rows[1].first, rows[0].first * factor);
    assert_int_equal(rows[1].width, rows[0].width * factor);
    assert_int_equal(rows[1].segments, rows[0].segments);
    assert_int_equal(rcx_row_out_count(&rows[1], &shapes[1]->s),
                     rcx_row_out_count(&rows[0], &shapes[0]->s) * factor);
    for (int i = 0; i < 2; i++)
        plans[i] = write(b, algo, &shapes[i]->s, &rows[i]);
    assert_int_equal(plans[1]->step_count, plans[0]->step_count);
    assert_int_equal(plans[1]->scratch, plans[0]->scratch * factor);
    for (uint32_t i = 0; i < plans[0]->step_count; i++)
        check_step(&plans[0]->steps[i], &plans[1]->steps[i], factor);
    for (int i = 0; i < 2; i++)
        rcx_heap_free(&heap, plans[i]);
}

/* Cut both shapes into segments, of limit and of factor * limit elements, and
 * compare all rows. */
static void check_cut(struct rcx_builder *b, const struct rcx_algo *algo,
                      const struct long_shape *shapes[2], size_t limit,
                      size_t factor)
{
    struct rcx_cutter cutters[2];
    struct rcx_row rows[2];

    for (int i = 0; i < 2; i++)
        assert_ok(rcx_cutter_open(&cutters[i], &heap, &shapes[i]->s,
                                  i ? limit * factor : limit));
    while (rcx_cutter_next(&cutters[0], &rows[0])) {
        assert_true(rcx_cutter_next(&cutters[1], &rows[1]));
        check_row(b, algo, shapes, rows, factor);
    }
    assert_false(rcx_cutter_next(&cutters[1], &rows[1]));
    for (int i = 0; i < 2; i++)
        rcx_cutter_close(&cutters[i]);
}

static bool check_rank(struct rcx_builder *b, const struct rcx_algo *algo,
                       int size, int rank, bool irregular)
{
    struct long_shape usual, longer;
    const struct long_shape *shapes[] = {&usual, &longer};

    shape_long(&usual, algo, size, rank, irregular);
    rcx_params_reset(algo, usual.s.params);
    rcx_params_settle(algo, &usual.s);
    for (int i = 0; i < RCX_PARAMS; i++)
        if (usual.s.params[i] > MOST_PARTS)
            usual.s.params[i] = MOST_PARTS;
    if (!rcx_algo_fits(algo, &usual.s))
        return false;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        lengthen(&longer, &usual, factors[i]);
        check_cut(b, algo, shapes, 0, factors[i]);
        if (!rcx_colls[algo->coll].is_local)
            check_cut(b, algo, shapes, UNIT, factors[i]);
    }
    assert_true(size < 3 || longer.s.count >> 40 > 0);
    return true;
}

static void long_counts_have_the_schedules_of_short_ones(void **state)
{
    struct rcx_builder b;
    struct rcx_log log;

    (void)state;
    rcx_log_init(&log);
    rcx_builder_init(&b, &heap, &log);
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        const struct rcx_coll_row *row = &rcx_colls[(*a)->coll];
        int checked = 0;

        /* Algorithms that forward blocks have a limit that does not depend on
         * the length. Algorithms by nodes choose their phases by the length,
         * and the phases are in the table as well. */
        if (row->gives == RCX_EXTENT_NONE || (*a)->passing || (*a)->is_by_nodes)
            continue;
        for (int size = 1; size <= MOST_RANKS; size++)
            for (int rank = 0; rank < size; rank++)
                for (int lists = 0; lists < 2; lists++)
                    if (lists ? row->has_places ||
                                    (*a)->coll == RCX_COLL_REDUCE_SCATTER
                              : !row->is_local)
                        checked += check_rank(&b, *a, size, rank, lists);
        if (checked == 0)
            fail_msg("%s %s fits no shape", row->name, (*a)->name);
    }
    rcx_builder_free(&b);
    assert_int_equal(heap.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_counts_have_the_schedules_of_short_ones),
    };

    return cmocka_run_group_tests_name("long_counts", tests, NULL, NULL);
}
