/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uniform agreement: all orders of events for two and three members, and random
 * ones for more (agree_world.h). Usage: test_agree [RUNS].
 */
#include "agree_world.h"

#include "times.h"

/* ---- Checks -------------------------------------------------------------- */

/* All that returned a decision have the same word and failed members, also if
 * they died or left later; the word is the AND of the words of all members that
 * have not failed, and maybe of others. Returns how many live. */
static int check_decisions(void)
{
    const struct member *first = NULL;
    int decided = 0;

    note_returned();
    for (int i = 0; i < world.size; i++) {
        const struct member *m = &world.members[i];

        if (!m->has_returned)
            continue;
        decided += !has_ended(m);
        first = first ? first : m;
        assert_true(rcx_agree_word(m->agree) == rcx_agree_word(first->agree));
        assert_false(rcx_agree_has_failed(m->agree, i));
        for (int j = 0; j < world.size; j++) {
            const bool has_failed = rcx_agree_has_failed(m->agree, j);

            assert_int_equal(has_failed, rcx_agree_has_failed(first->agree, j));
            if (!has_failed)
                assert_true(
                    (rcx_agree_word(m->agree) & ~world.members[j].word) == 0);
        }
    }
    return decided;
}

/* Failures are those of processes alone: every member that lives decides, and
 * names only members that crashed or left. */
static void check_exact(void)
{
    int living = 0;

    for (int i = 0; i < world.size; i++)
        living += !has_ended(&world.members[i]);
    assert_int_equal(check_decisions(), living);
    for (int i = 0; i < world.size; i++)
        for (int j = 0; j < world.size; j++)
            if (world.members[i].has_returned &&
                rcx_agree_has_failed(world.members[i].agree, j))
                assert_true(has_ended(&world.members[j]));
}

/* ---- Tests --------------------------------------------------------------- */

static void without_failures_it_takes_two_disseminations(void **state)
{
    (void)state;
    for (int size = 1; size <= MOST; size++) {
        int rounds = 0;

        while (1 << rounds < size)
            rounds++;
        for (uint64_t seed = 0; seed < 10; seed++) {
            open_world(size, seed);
            run();
            check_exact();
            for (int i = 0; i < size; i++)
                assert_int_equal(world.members[i].sent, 2 * rounds);
            close_world();
        }
    }
}

/* Make each choice in turn, from each state that is new. */
static void explore_on(bool is_exact)
{
    struct state *now;
    int n;

    while (!is_over() && (n = count_events()) == 0)
        let_time_pass();
    if (is_over()) {
        is_exact ? check_exact() : (void)check_decisions();
        return;
    }
    if (note_seen())
        return;
    now = malloc(sizeof *now);
    save(now);
    for (int i = 0; i < n; i++) {
        do_event(i);
        explore_on(is_exact);
        restore(now);
    }
    free(now);
}

/* All orders of events, after begin(). far: a bit for each member of the other
 * node. */
static void explore(int size, unsigned far, const struct budget *budget,
                    void (*begin)(void))
{
    open_world(size, 1);
    world.is_explored = true;
    world.seen_count = world.seen_room = 0;
    world.left = *budget;
    for (int i = 0; i < size; i++)
        world.members[i].is_far = far >> i & 1;
    if (begin)
        begin();
    explore_on(far == 0 && !begin && budget->suspicions == 0 &&
               budget->overdue == 0);
    free(world.seen);
    world.seen = NULL;
    close_world();
    world.is_explored = false;
}

static void all_orders_of_two_members(void **state)
{
    (void)state;
    for (unsigned far = 0; far <= 1; far++)
        for (int i = 0; i < 16; i++)
            explore(2, far,
                    &(struct budget){i & 1, i >> 1 & 1, i >> 2 & 1, i >> 3},
                    NULL);
}

static void drop_all(void)
{
    while (world.count > 0)
        drop(0);
}

static void enter_all(void)
{
    for (int i = 0; i < world.size; i++)
        do_own(&(struct event){ENTER, i, 0});
    drop_all();
}

/* Member 0 leads without member 2. */
static void suspect_the_last(void)
{
    enter_all();
    rcx_agree_fail(world.members[0].agree, 2, false);
}

/* All have joined member 0, whose proposal is on its way. */
static void propose_to_all(void)
{
    enter_all();
    rcx_agree_overdue(world.members[0].agree);
    while (!world.members[0].agree->has_proposed)
        deliver(0);
}

static void all_orders_of_three_members(void **state)
{
    static const struct {
        unsigned far;
        struct budget budget;
        void (*begin)(void);
    } cases[] = {
        {0, {.leaves = 2, .suspicions = 1}, NULL},
        {0, {.crashes = 1, .leaves = 1}, NULL},
        {0, {.crashes = 2}, suspect_the_last},
        {1 << 1, {.crashes = 1, .leaves = 1}, suspect_the_last},
        {0, {.crashes = 2, .suspicions = 1}, propose_to_all},
    };

    (void)state;
    for (int i = TIMES(0, 2); i < 5; i++)
        explore(3, cases[i].far, &cases[i].budget, cases[i].begin);
}

/* Up to two crashes, each before any message that the member sends. */
static void crashes_at_every_message(void **state)
{
    enum { SEEDS = TIMES(6, 1), SENT_MOST = 24 };

    (void)state;
    for (int size = 2; size <= 5; size++)
        for (int a = 0; a < size; a++)
            for (int b = 0; b <= a; b++) /* b == a: one crash */
                for (int i = 0; i < SENT_MOST; i++)
                    for (int j = 0; j < (a == b ? 1 : SENT_MOST); j++)
                        for (uint64_t seed = 0; seed < SEEDS; seed++) {
                            open_world(size, seed);
                            world.members[b].crashes_at = j;
                            world.members[a].crashes_at = i;
                            run();
                            check_exact();
                            close_world();
                        }
}

/* Take living members for failed at random moments. */
static void suspect_some(int events)
{
    for (int k = 0; k < events; k++) {
        struct member *m = &world.members[choose(world.size)];

        for (int i = choose(3 * world.size); i > 0 && happen(); i--)
            ;
        if (!is_through(m))
            rcx_agree_fail(m->agree, choose(world.size), false);
    }
}

static void run_at_random(uint64_t seed)
{
    int size;

    world.random = seed;
    size = choose(10) ? 2 + choose(7) : 2 + choose(MOST - 1);
    open_world(size, seed);
    for (int k = choose(4); k > 0; k--)
        world.members[choose(size)].crashes_at = choose(4 * size);
    if (choose(3) == 0) {
        for (int i = 0; i < size; i++)
            world.cut[i] = choose(2);
        world.is_cut = true;
    }
    suspect_some(choose(3) ? 0 : 1 + choose(4));
    run();
    check_decisions();
    close_world();
}

static int runs = TIMES(20000, 2000);

static void random_failures_suspicions_and_partitions(void **state)
{
    (void)state;
    for (int i = 0; i < runs; i++)
        run_at_random((uint64_t)i);
}

/* A network is cut: the smaller part, or the half without member 0, does not
 * decide; the larger part decides that the other has failed. */
static void a_smaller_part_is_cut_off(void **state)
{
    (void)state;
    for (int size = 2; size <= 9; size++)
        for (int n = 1; n < size; n++) {
            const bool is_less = 2 * n < size;

            open_world(size, 1);
            for (int i = 0; i < size; i++)
                world.cut[i] = i >= size - n; /* the last n */
            world.is_cut = true;
            run();
            for (int i = 0; i < size; i++) {
                const bool is_large =
                    world.cut[i] != (is_less || 2 * n == size);

                assert_int_equal(rcx_agree_state(world.members[i].agree),
                                 is_large ? RCX_AGREE_DECIDED
                                          : RCX_AGREE_CUT_OFF);
                for (int j = 0; j < size && is_large; j++)
                    assert_int_equal(
                        rcx_agree_has_failed(world.members[i].agree, j),
                        world.cut[i] != world.cut[j]);
            }
            close_world();
        }
}

/* Deliver all messages from one member to another one. */
static void pass_on(int from, int to)
{
    for (int i = 0; i < world.count; i++)
        if (world.packets[i].from == from && world.packets[i].to == to) {
            deliver(i);
            i = -1;
        }
}

/* Coordinator rank and members have all messages of each other. */
static void pass_both(int rank, const int members[], int n)
{
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < n; i++) {
            pass_on(rank, members[i]);
            pass_on(members[i], rank);
        }
}

/* A connection that breaks is seen before the process has ended. */
static void deaths_that_are_seen_late_make_a_quorum(void **state)
{
    struct rcx_agree *a;

    (void)state;
    open_world(4, 1);
    for (int i = 2; i < 4; i++)
        rcx_agree_enter(world.members[i].agree, 0);
    drop_all();
    a = world.members[2].agree;
    for (int i = 0; i < 2; i++) {
        rcx_agree_fail(a, i, false);
        rcx_agree_fail(world.members[3].agree, i, false);
    }
    pass_both(2, (const int[]){3}, 1);
    assert_true(rcx_agree_lacks_quorum(a));
    assert_int_equal(rcx_agree_state(a), RCX_AGREE_RECOVER);
    rcx_agree_fail(a, 0, true);
    assert_true(rcx_agree_lacks_quorum(a));
    rcx_agree_fail(a, 1, true);
    pass_both(2, (const int[]){3}, 1);
    assert_int_equal(check_decisions(), 2);
    close_world();
}

/* Member 1 is silent until the others have decided without it. */
static void a_member_that_resumes_late_is_excluded(void **state)
{
    (void)state;
    for (int size = 3; size <= 9; size++) {
        open_world(size, 1);
        for (int i = 0; i < size; i++)
            world.cut[i] = i == 1;
        world.is_cut = true;
        world.members[1].has_entered = true; /* it is stopped */
        for (int steps = 0;
             rcx_agree_state(world.members[0].agree) != RCX_AGREE_DECIDED;
             steps++) {
            assert_in_range(steps, 0, STEPS_MOST);
            if (!happen())
                let_time_pass();
        }
        while (happen())
            ;
        world.is_cut = false;
        rcx_agree_enter(world.members[1].agree, 0);
        run();
        assert_int_equal(rcx_agree_state(world.members[1].agree),
                         RCX_AGREE_EXCLUDED);
        assert_int_equal(check_decisions(), size - 1);
        close_world();
    }
}

static void fail_at(const int members[], int n, int failed)
{
    for (int i = 0; i < n; i++)
        rcx_agree_fail(world.members[members[i]].agree, failed, false);
}

/*
 * Member 6 alone accepts what member 0 proposes. Then members 1, 3, 4 and 5
 * decide what member 1 proposes without member 6; member 2 has joined, but the
 * proposal does not reach it. As the next coordinator it learns the older
 * value first.
 */
static void the_value_of_the_highest_ballot_is_proposed_again(void **state)
{
    static const int all[] = {1, 2, 3, 4, 5, 6}, most[] = {3, 4, 5};

    (void)state;
    open_world(7, 1);
    for (int i = 0; i < 7; i++) {
        world.members[i].has_entered = true;
        rcx_agree_enter(world.members[i].agree, world.members[i].word);
    }
    drop_all();
    rcx_agree_overdue(world.members[0].agree);
    pass_both(0, all, 5);
    pass_on(0, 6);
    pass_on(6, 0); /* all have joined: member 0 proposes */
    pass_on(0, 6);
    drop_all();
    fail_at(all, 5, 0);
    pass_both(1, all + 1, 4);
    rcx_agree_overdue(world.members[1].agree); /* of member 6: it proposes */
    pass_both(1, most, 3);
    rcx_agree_overdue(world.members[1].agree); /* of member 2: it decides */
    assert_int_equal(rcx_agree_state(world.members[1].agree),
                     RCX_AGREE_DECIDED);
    drop_all();
    fail_at(all + 5, 1, 0);
    fail_at(all + 1, 5, 1);
    pass_on(6, 2);
    pass_both(2, most, 3);
    pass_both(2, all + 2, 4);
    assert_int_equal(check_decisions(), 5);
    assert_int_equal(rcx_agree_state(world.members[6].agree),
                     RCX_AGREE_EXCLUDED);
    close_world();
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_failures_it_takes_two_disseminations),
        cmocka_unit_test(all_orders_of_two_members),
        cmocka_unit_test(all_orders_of_three_members),
        cmocka_unit_test(crashes_at_every_message),
        cmocka_unit_test(random_failures_suspicions_and_partitions),
        cmocka_unit_test(a_smaller_part_is_cut_off),
        cmocka_unit_test(deaths_that_are_seen_late_make_a_quorum),
        cmocka_unit_test(a_member_that_resumes_late_is_excluded),
        cmocka_unit_test(the_value_of_the_highest_ballot_is_proposed_again),
    };

    if (argc > 1)
        runs = atoi(argv[1]);
    return cmocka_run_group_tests_name("agree", tests, NULL, NULL);
}
