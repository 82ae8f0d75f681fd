/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uniform agreement (run/fault/agree.h) without a network: members of one
 * process, whose messages are delivered in any order. Members crash between any
 * two messages that they send, living ones are taken for failed, and networks
 * are cut. Usage: test_agree [RUNS].
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "core/run/fault/agree.h"
#include "times.h"

enum { MOST = 64, NEVER = 1 << 30, STEPS_MOST = 1000000, ALL_ORDERS = 200000 };

struct packet {
    int from, to;
    struct rcx_agree_msg *msg;
};

/* A member, and what is going to happen to it. */
struct member {
    struct rcx_agree *agree;
    uint64_t word;
    bool has_entered, has_crashed;
    int sent;            /* messages so far */
    int crashes_at;      /* instead of sending this one */
    bool has_seen[MOST]; /* that this one crashed */
};

static struct {
    int size;
    struct member members[MOST];
    struct packet *packets;
    int count, room;
    bool cut[MOST]; /* members on the other side of a broken network */
    bool is_cut;
    /* Choices: by a script that is enumerated, or at random. */
    bool is_random;
    uint64_t random;
    int script[4096], limits[4096], at, length;
} world;

static struct rcx_heap heap = RCX_HEAP_INIT;

/* ---- Choices ------------------------------------------------------------- */

/* A number below n. */
static int choose(int n)
{
    if (world.is_random || world.at == 4096) {
        world.random = world.random * UINT64_C(6364136223846793005) +
                       UINT64_C(1442695040888963407);
        return (int)((world.random >> 33) % (uint64_t)n);
    }
    if (world.at == world.length) {
        world.script[world.length] = 0;
        world.limits[world.length++] = n;
    }
    return world.script[world.at++];
}

/* The next script; false: that was the last one. */
static bool next_script(void)
{
    while (world.length > 0 &&
           world.script[world.length - 1] + 1 == world.limits[world.length - 1])
        world.length--;
    if (world.length == 0)
        return false;
    world.script[world.length - 1]++;
    return true;
}

/* ---- The world ----------------------------------------------------------- */

static void drop(int i)
{
    free(world.packets[i].msg);
    world.packets[i] = world.packets[--world.count];
}

static void send_packet(int to, const struct rcx_agree_msg *msg, void *arg)
{
    struct member *m = arg;
    const int from = (int)(m - world.members);
    const size_t bytes = rcx_agree_msg_bytes(world.size);

    m->has_crashed |= m->sent == m->crashes_at;
    if (m->has_crashed)
        return;
    m->sent++;
    if (world.is_cut && world.cut[from] != world.cut[to])
        return;
    if (world.count == world.room) {
        world.room = 2 * world.room + 16;
        world.packets =
            realloc(world.packets, (size_t)world.room * sizeof *world.packets);
    }
    world.packets[world.count] = (struct packet){from, to, malloc(bytes)};
    memcpy(world.packets[world.count++].msg, msg, bytes);
}

static void open_world(int size, uint64_t seed)
{
    world.size = size;
    world.random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    world.count = world.at = 0;
    world.is_cut = false;
    for (int i = 0; i < size; i++) {
        struct member *m = &world.members[i];

        *m = (struct member){.crashes_at = NEVER,
                             .word = ~(UINT64_C(1) << (i % 64))};
        m->agree = rcx_agree_create(
            &heap, &(struct rcx_agree_setting){
                       .size = size, .rank = i, .send = send_packet, .arg = m});
        assert_non_null(m->agree);
    }
}

static void close_world(void)
{
    while (world.count > 0)
        drop(0);
    for (int i = 0; i < world.size; i++)
        rcx_agree_destroy(world.members[i].agree);
    assert_int_equal(heap.live, 0);
}

static bool is_final(const struct member *m)
{
    return m->has_crashed || rcx_agree_state(m->agree) >= RCX_AGREE_DECIDED;
}

static void deliver(int i)
{
    const struct packet p = world.packets[i];
    struct member *m = &world.members[p.to];

    world.packets[i] = world.packets[--world.count];
    if (!m->has_crashed)
        rcx_agree_receive(m->agree, p.from, p.msg);
    free(p.msg);
}

/* The crashes that a member has not seen yet: the k-th, or -1. */
static int unseen(const struct member *m, int k)
{
    for (int i = 0; i < world.size; i++)
        if (world.members[i].has_crashed && !m->has_seen[i] && k-- == 0)
            return i;
    return -1;
}

/* One of: a message is delivered, a member enters, a member sees a crash.
 * False: nothing can happen. */
static bool happen(void)
{
    int n = world.count, k;

    for (int i = 0; i < world.size; i++) {
        const struct member *m = &world.members[i];

        n += !m->has_crashed && !m->has_entered;
        for (int j = 0; !is_final(m) && unseen(m, j) >= 0; j++)
            n++;
    }
    if (n == 0)
        return false;
    k = choose(n);
    if (k < world.count) {
        deliver(k);
        return true;
    }
    k -= world.count;
    for (int i = 0; i < world.size; i++) {
        struct member *m = &world.members[i];

        if (!m->has_crashed && !m->has_entered && k-- == 0) {
            m->has_entered = true;
            rcx_agree_enter(m->agree, m->word);
            return true;
        }
        for (int j = 0; !is_final(m) && unseen(m, j) >= 0; j++) {
            const int dead = unseen(m, j);

            if (k-- > 0)
                continue;
            m->has_seen[dead] = true;
            rcx_agree_fail(m->agree, dead, true);
            return true;
        }
    }
    return true;
}

static bool is_over(void)
{
    for (int i = 0; i < world.size; i++)
        if (!is_final(&world.members[i]))
            return false;
    return true;
}

/* Some member has waited too long. Coordinators are first, as their time is
 * shorter. */
static void let_time_pass(void)
{
    for (int leads = 1; leads >= 0; leads--)
        for (int i = 0; i < world.size; i++) {
            struct member *m = &world.members[i];

            if (is_final(m) || rcx_agree_leads(m->agree) != leads)
                continue;
            rcx_agree_overdue(m->agree);
            return;
        }
}

static void run(void)
{
    for (int steps = 0; !is_over(); steps++) {
        assert_in_range(steps, 0, STEPS_MOST);
        if (!happen())
            let_time_pass();
    }
    while (world.count > 0) /* late messages change nothing */
        deliver(0);
}

/* ---- Checks -------------------------------------------------------------- */

/* All that decided have the same word and failed members; the word is the AND
 * of the words of all members that have not failed, and maybe of others. */
static int check_decisions(void)
{
    const struct member *first = NULL;
    int decided = 0;

    for (int i = 0; i < world.size; i++) {
        const struct member *m = &world.members[i];

        if (m->has_crashed || rcx_agree_state(m->agree) != RCX_AGREE_DECIDED)
            continue;
        decided++;
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
 * names only members that crashed. */
static void check_exact(void)
{
    int living = 0;

    for (int i = 0; i < world.size; i++)
        living += !world.members[i].has_crashed;
    assert_int_equal(check_decisions(), living);
    for (int i = 0; i < world.size; i++)
        for (int j = 0; j < world.size; j++)
            if (!world.members[i].has_crashed &&
                rcx_agree_has_failed(world.members[i].agree, j))
                assert_true(world.members[j].has_crashed);
}

/* ---- Tests --------------------------------------------------------------- */

static void without_failures_it_takes_two_disseminations(void **state)
{
    (void)state;
    world.is_random = true;
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

/* Every order of events for 2 members, and many for 3, with a crash before any
 * message of any member. */
static void every_order_of_events_with_a_crash(void **state)
{
    (void)state;
    world.is_random = false;
    for (int size = 2; size <= 3; size++)
        for (int rank = -1; rank < size; rank++)
            for (int at = 0; at < (rank < 0 ? 1 : 8); at++) {
                int runs = 0;

                world.length = 0;
                do {
                    open_world(size, 1);
                    if (rank >= 0)
                        world.members[rank].crashes_at = at;
                    run();
                    check_exact();
                    close_world();
                } while (next_script() && ++runs < ALL_ORDERS / 10);
            }
}

/* Up to two crashes, each before any message that the member sends. */
static void crashes_at_every_message(void **state)
{
    enum { SEEDS = TIMES(6, 1), SENT_MOST = 24 };

    (void)state;
    world.is_random = true;
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
        if (!is_final(m))
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
    world.is_random = true;
    for (int i = 0; i < runs; i++)
        run_at_random((uint64_t)i);
}

/* A network is cut: the smaller part, or the half without member 0, does not
 * decide; the larger part decides that the other has failed. */
static void a_smaller_part_is_cut_off(void **state)
{
    (void)state;
    world.is_random = true;
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

/* Member 1 is silent until the others have decided without it. */
static void a_member_that_resumes_late_is_excluded(void **state)
{
    (void)state;
    world.is_random = true;
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

static void drop_all(void)
{
    while (world.count > 0)
        drop(0);
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
        cmocka_unit_test(every_order_of_events_with_a_crash),
        cmocka_unit_test(crashes_at_every_message),
        cmocka_unit_test(random_failures_suspicions_and_partitions),
        cmocka_unit_test(a_smaller_part_is_cut_off),
        cmocka_unit_test(a_member_that_resumes_late_is_excluded),
        cmocka_unit_test(the_value_of_the_highest_ballot_is_proposed_again),
    };

    if (argc > 1)
        runs = atoi(argv[1]);
    return cmocka_run_group_tests_name("agree", tests, NULL, NULL);
}
