/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ties of prices: which algorithms are as cheap as any, and which of them a
 * call gets. The algorithms are made up, but for the last tests, which choose
 * methods of calls.
 */
#include "test.h"

#include <math.h>
#include <string.h>

#include "built.h"
#include "capture.h"
#include "core/sched/price.h"
#include "core/sched/tuning.h"

/* An algorithm with parameters: the scratch and the messages of one rank, and
 * which rank that is. Others send one message. */
enum { SCRATCH, MESSAGES, WHERE };
enum { RANKS = 16 };

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const bool is_it = s->rank == s->params[WHERE];
    const struct rcx_span one = {.buffer = RCX_BUFFER_IN, .count = 1};

    if (is_it)
        rcx_span_scratch(b, (size_t)s->params[SCRATCH]);
    for (int64_t i = 0; i < (is_it ? s->params[MESSAGES] : 1); i++)
        rcx_step_send(b, (s->rank + 1) % s->size, one);
}

static const struct rcx_algo made_up = {
    .name = "made_up", .coll = RCX_COLL_ALLREDUCE, .build = build};

/* One that takes scratch for all that only one rank knows. */
static void build_of_one_rank(struct rcx_builder *b, const struct rcx_shape *s)
{
    const size_t own = (s->alias != RCX_ALIAS_NONE) + !!s->displs +
                       !!s->gotten + !!s->passing + !!s->neighbors +
                       !!s->in_places.starts + !!s->out_places.starts;

    rcx_span_scratch(b, s->count - (size_t)s->size + 2 * own);
}

static const struct rcx_algo of_one_rank = {.name = "of_one_rank",
                                            .coll = RCX_COLL_ALLTOALLV,
                                            .build = build_of_one_rank};

static struct built t;
static struct rcx_tie tie;

static struct rcx_shape shape_of(enum rcx_coll coll, int size, size_t count)
{
    return (struct rcx_shape){.coll = coll,
                              .size = size,
                              .count = count,
                              .elem_bytes = 8,
                              .commutative = true};
}

static int set_up(void **state)
{
    const struct rcx_shape s = shape_of(RCX_COLL_ALLREDUCE, RANKS, 100);

    (void)state;
    built_open(&t, NULL);
    rcx_tie_begin(&tie, &s);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return built_close(&t);
}

static void offer(double seconds, int scratch, int messages, int where)
{
    struct rcx_shape s = tie.shape;

    s.params[SCRATCH] = scratch;
    s.params[MESSAGES] = messages;
    s.params[WHERE] = where;
    rcx_tie_offer(&tie, &made_up, &s, seconds);
}

/* The tie must go to the i-th member. */
static void assert_goes_to(int i)
{
    const struct rcx_tie_member *member = NULL;

    assert_ok(rcx_tie_break(&tie, &t.builder, &member));
    assert_int_equal(member - tie.members, i);
}

/* ---- Members ------------------------------------------------------------- */

static void only_the_cheapest_are_members(void **state)
{
    (void)state;
    offer(2e-6, 0, 1, 0);
    offer(3e-6, 0, 1, 0);
    assert_int_equal(tie.count, 1);
    offer(2e-6, 0, 2, 0);
    assert_int_equal(tie.count, 2);
    offer(1e-6, 0, 3, 0);
    assert_int_equal(tie.count, 1);
    assert_int_equal(tie.members[0].params[MESSAGES], 3);
    offer(1e-6, 0, 4, 0);
    offer(INFINITY, 0, 5, 0);
    assert_int_equal(tie.count, 2);
}

/* A sum of the same terms in another order. */
static void prices_that_differ_by_rounding_are_equal(void **state)
{
    const double a = 0.1 + 0.2 + 0.3, b = 0.3 + 0.2 + 0.1;

    (void)state;
    assert_true(a != b);
    offer(a, 1, 1, 0);
    offer(b, 0, 1, 0);
    assert_int_equal(tie.count, 2);
    assert_goes_to(1);
    offer(a * (1 + 1e-9), 0, 0, 0);
    assert_int_equal(tie.count, 2);
    offer(a * (1 - 1e-9), 0, 0, 0);
    assert_int_equal(tie.count, 1);
}

static void there_is_room_for_so_many(void **state)
{
    (void)state;
    for (int i = 0; i < RCX_TIE_MEMBERS + 3; i++)
        offer(1, 0, 100 - i, 0);
    assert_int_equal(tie.count, RCX_TIE_MEMBERS);
    assert_goes_to(RCX_TIE_MEMBERS - 1);
}

/* ---- The winner ---------------------------------------------------------- */

static void a_tie_goes_to_less_scratch(void **state)
{
    (void)state;
    offer(1, 20, 1, 0);
    offer(1, 10, 9, 0);
    offer(1, 11, 1, 0);
    assert_goes_to(1);
}

static void a_tie_of_scratch_goes_to_fewer_messages(void **state)
{
    (void)state;
    offer(1, 10, 3, 0);
    offer(1, 10, 4, 0);
    offer(1, 10, 2, 0);
    assert_goes_to(2);
}

static void among_equals_the_first_is_taken(void **state)
{
    (void)state;
    offer(1, 10, 3, 0);
    offer(1, 10, 2, 0);
    offer(1, 10, 2, 0);
    assert_goes_to(1);
}

/* In a tree these ranks may have most: those near the root, half way around,
 * and the last ones. */
static void the_rank_that_takes_most_decides(void **state)
{
    static const int behind[] = {
        0, 1, 2, 3, RANKS / 2, RANKS / 2 + 1, RANKS - 2, RANKS - 1};

    (void)state;
    for (int root = 0; root < RANKS; root += 5) {
        for (int i = 0; i < 8; i++) {
            set_up(NULL);
            tie.shape.root = root;
            offer(1, 10, 1, (root + behind[i]) % RANKS);
            offer(1, 9, 7, root);
            offer(1, 20, 1, (root + behind[i]) % RANKS);
            offer(1, 9, 5, (root + behind[i]) % RANKS);
            assert_goes_to(3);
            assert_int_equal(tear_down(NULL), 0);
        }
    }
}

/* An alltoallv has counts, positions and edges of one rank. */
static void what_one_rank_knows_is_not_looked_at(void **state)
{
    static const size_t lengths[RANKS + 1] = {0, 9, 100};
    static const struct rcx_neighbors neighbors = {.to = lengths};
    struct rcx_shape s = shape_of(RCX_COLL_ALLTOALLV, RANKS, 100);

    (void)state;
    s.rank = 3;
    s.alias = RCX_ALIAS_SAME;
    s.displs = s.gotten = s.passing = lengths;
    s.neighbors = &neighbors;
    s.in_places.starts = s.out_places.starts = lengths;
    rcx_tie_begin(&tie, &s);
    s.params[SCRATCH] = s.params[MESSAGES] = 1;
    rcx_tie_offer(&tie, &made_up, &s, 1);
    rcx_tie_offer(&tie, &of_one_rank, &s, 1);
    assert_goes_to(1);
}

static void without_memory_nothing_is_chosen(void **state)
{
    const struct rcx_tie_member *member = NULL;
    struct capture said = {.text = ""};

    (void)state;
    t.log.fn = capture_line;
    t.log.arg = &said;
    offer(1, 10, 1, 0);
    offer(1, 9, 1, 0);
    t.heap.budget = 0;
    assert_refused(&said, rcx_tie_break(&tie, &t.builder, &member),
                   RCX_ERR_NOMEM, "no memory", "method of allreduce");
    assert_null(member);
}

/* ---- Methods of calls ---------------------------------------------------- */

static void choose(const struct rcx_shape *s, struct rcx_method *m)
{
    const struct rcx_tuning no_rules = {.count = 0};

    assert_ok(rcx_method_choose(s, RCX_ORDER_LOOSE, &rcx_method_any, &no_rules,
                                &t.builder, m));
}

/* On two nodes of one rank, doubling and direct exchange one message each, and
 * doubling gets it in scratch as long as two vectors. */
static void a_call_gets_what_takes_less_scratch(void **state)
{
    static const uint64_t ids[] = {1, 2};
    struct rcx_nodes *nodes = rcx_nodes_create(&t.heap, ids, 2);
    struct rcx_shape s = shape_of(RCX_COLL_ALLREDUCE, 2, 64), first = s;
    struct rcx_method m;

    (void)state;
    assert_non_null(nodes);
    s.nodes = first.nodes = nodes;
    assert_string_equal(rcx_price_cheapest(&first, RCX_ORDER_LOOSE, NULL)->name,
                        "recursive_doubling");
    choose(&s, &m);
    assert_string_equal(m.algo->name, "direct");
    rcx_nodes_free(&t.heap, nodes);
}

/* What only one rank knows: its number, its positions of blocks, whether its
 * result is in place, and the lengths of blocks if counts are local. */
static void all_ranks_break_a_tie_alike(void **state)
{
    static const size_t starts[RANKS] = {0}, lengths[RANKS] = {7};
    struct rcx_method first, m;

    (void)state;
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++) {
        struct rcx_shape s = shape_of((enum rcx_coll)coll, RANKS, 1600);

        choose(&s, &first);
        for (s.rank = 0; s.rank < RANKS; s.rank++) {
            s.alias = s.rank % 2 ? RCX_ALIAS_SAME : RCX_ALIAS_NONE;
            s.in_places.starts = s.rank % 3 ? starts : NULL;
            if (rcx_colls[coll].is_local) {
                s.count = (size_t)s.rank;
                s.passing = lengths;
            }
            choose(&s, &m);
            assert_memory_equal(&m, &first, sizeof m);
        }
    }
}

static void no_tie_builds_nothing(void **state)
{
    const struct rcx_shape s = shape_of(RCX_COLL_SCAN, RANKS, 100);
    struct rcx_shape priced = s;
    struct rcx_method m;

    (void)state;
    assert_non_null(rcx_price_cheapest(&priced, RCX_ORDER_LOOSE, &tie));
    assert_int_equal(tie.count, 1);
    choose(&s, &m);
    assert_true(t.heap.calls == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(only_the_cheapest_are_members),
        TEST(prices_that_differ_by_rounding_are_equal),
        TEST(there_is_room_for_so_many),
        TEST(a_tie_goes_to_less_scratch),
        TEST(a_tie_of_scratch_goes_to_fewer_messages),
        TEST(among_equals_the_first_is_taken),
        TEST(the_rank_that_takes_most_decides),
        TEST(what_one_rank_knows_is_not_looked_at),
        TEST(without_memory_nothing_is_chosen),
        TEST(a_call_gets_what_takes_less_scratch),
        TEST(all_ranks_break_a_tie_alike),
        TEST(no_tie_builds_nothing),
    };

    return cmocka_run_group_tests_name("tie", tests, NULL, NULL);
}
