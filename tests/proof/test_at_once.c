/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithms that combine all operands of an element at once: on every rank,
 * each reduction of their schedules is a part of a fused one with as many
 * operands as there are ranks. The proofs of results show that each operand is
 * in it once. So no message contains a partial result.
 */
#include "test.h"

#include "core/sched/algo.h"
#include "core/sched/params.h"
#include "support/built.h"

/* Whether the rank combines what it should: nothing, if it owns no element. */
static void check_rank(struct built *t, const struct rcx_algo *algo,
                       const struct rcx_shape *s)
{
    struct rcx_plan *plan;

    built_write(t, algo, s);
    plan = built_finish(t);
    if (!rcx_plan_combines_at_once(plan, s->size))
        fail_msg("%s %s, p=%d, count %zu, root %d, alias %d: rank %d combines "
                 "parts of the operands",
                 rcx_coll_name(s->coll), algo->name, s->size, s->count, s->root,
                 (int)s->alias, s->rank);
    rcx_heap_free(&t->heap, plan);
}

/* Blocks of other lengths, some empty: 0, 1, 2, 3, 0, ... */
static size_t fill_starts(size_t starts[], int size)
{
    starts[0] = 0;
    for (int i = 0; i < size; i++)
        starts[i + 1] = starts[i] + (size_t)(i % 4);
    return starts[size];
}

static void check_call(struct built *t, const struct rcx_algo *algo,
                       struct rcx_shape s)
{
    size_t starts[RCX_AT_ONCE_OPERANDS + 1];

    for (int form = 0; form < 4; form++) {
        const size_t counts[] = {1, (size_t)s.size, 5 * (size_t)s.size + 2,
                                 fill_starts(starts, s.size)};

        s.count = counts[form];
        s.displs = NULL;
        if (rcx_coll_has_blocks(s.coll) && form == 3)
            s.displs = starts;
        for (s.rank = 0; s.rank < s.size; s.rank++)
            check_rank(t, algo, &s);
    }
}

static void check(struct built *t, const struct rcx_algo *algo, int size)
{
    struct rcx_shape s = {.coll = algo->coll,
                          .size = size,
                          .elem_bytes = 8,
                          .commutative = true,
                          .at_once = true};
    const int roots = rcx_coll_is_rooted(algo->coll) ? 3 : 1;

    for (int k = 0; k < roots; k++) {
        s.root = k * (size - 1) / 2;
        for (int alias = 0; alias <= RCX_ALIAS_BLOCK; alias++) {
            if (!rcx_coll_allows(algo->coll, (enum rcx_alias)alias))
                continue;
            s.alias = (enum rcx_alias)alias;
            rcx_params_reset(algo, s.params);
            rcx_params_settle(algo, &s);
            check_call(t, algo, s);
        }
    }
}

static void all_operands_are_combined_at_once(void **state)
{
    struct built t;
    int algos = 0;

    (void)state;
    built_open(&t, NULL);
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        for (int p = 3; p <= RCX_AT_ONCE_OPERANDS && (*a)->at_once;
             p += p < 18 ? 1 : 23)
            check(&t, *a, p);
        algos += (*a)->at_once;
    }
    assert_true(algos > 0);
    assert_int_equal(built_close(&t), 0);
}

static void other_algorithms_do_not_fit(void **state)
{
    (void)state;
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        const struct rcx_shape s = {.coll = (*a)->coll,
                                    .size = 8,
                                    .count = 64,
                                    .elem_bytes = 8,
                                    .commutative = true,
                                    .at_once = true};

        assert_true((*a)->at_once || !rcx_algo_fits(*a, &s));
        assert_true(!(*a)->at_once || rcx_algo_any_at_once((*a)->coll));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_operands_are_combined_at_once),
        cmocka_unit_test(other_algorithms_do_not_fit),
    };

    return cmocka_run_group_tests_name("at_once", tests, NULL, NULL);
}
