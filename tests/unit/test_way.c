/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for the way of long messages: what it learns from times, how
 * often it compares, and that messages of a channel follow it. */
#include "test.h"

#include "core/base/random.h"
#include "shm_ranks.h"
#include "transport/shm/fifo.h"
#include "transport/shm/way.h"

/* ONCE: messages until a first comparison has ended. */
enum { LAP = 16, ONCE = 2 * LAP + RCX_WAY_FIRST + 2 * RCX_WAY_TRIES };

/* A machine: what a message takes by each way. */
struct machine {
    uint64_t ticks[RCX_WAYS];
    unsigned noise; /* of ten messages, so many take ten times as long */
    uint64_t random;
};

static uint64_t take(struct machine *m, enum rcx_way way)
{
    const bool is_late = rcx_random(&m->random) % 10 < m->noise;

    return m->ticks[way] * (is_late ? 10 : 1) +
           rcx_random(&m->random) % (m->ticks[way] / 10 + 1);
}

/* Send n messages, each by the way that the search wants. Returns how many took
 * the ring. */
static int send_some(struct rcx_way_search *s, struct machine *m,
                     enum rcx_way *way, int n)
{
    int by_ring = 0;

    for (int i = 0; i < n; i++) {
        by_ring += *way == RCX_WAY_RING;
        *way = rcx_way_search_note(s, *way, take(m, *way));
    }
    return by_ring;
}

static void the_faster_way_is_found_from_each_guess(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const enum rcx_way better = i / 2, guess = i % 2;
        struct machine m = {.ticks = {9000, 9000}, .noise = 2};
        struct rcx_way_search s;
        enum rcx_way way = guess;

        m.ticks[better] = 6000;
        rcx_way_search_begin(&s, guess, LAP);
        send_some(&s, &m, &way, ONCE);
        assert_int_equal(way, better);
        assert_int_equal(s.way, better);
    }
}

/* The guess is kept where there is no difference, and comparisons are rare. */
static void equal_ways_do_not_alternate(void **state)
{
    struct machine m = {.ticks = {6000, 6100}};
    struct rcx_way_search s;
    enum rcx_way way = RCX_WAY_RING;
    int by_ring;

    (void)state;
    rcx_way_search_begin(&s, way, LAP);
    send_some(&s, &m, &way, 2 * RCX_WAY_RARELY);
    by_ring = send_some(&s, &m, &way, 100 * RCX_WAY_RARELY);
    assert_in_range(100 * RCX_WAY_RARELY - by_ring, 99 * RCX_WAY_TRIES,
                    100 * RCX_WAY_TRIES);
}

/* One in five messages is late for some reason. That changes nothing. */
static void late_messages_are_no_reason(void **state)
{
    struct machine m = {.ticks = {6000, 12000}, .noise = 2};
    struct rcx_way_search s;
    enum rcx_way way = RCX_WAY_RING;
    int by_ring;

    (void)state;
    rcx_way_search_begin(&s, way, LAP);
    by_ring = send_some(&s, &m, &way, 50 * RCX_WAY_RARELY);
    assert_int_equal(s.way, RCX_WAY_RING);
    assert_in_range(by_ring, 49 * RCX_WAY_RARELY, 50 * RCX_WAY_RARELY);
}

/* Cores that were near become far: copies take four times as long, the kernel
 * a bit longer. It is seen within some messages, though comparisons are rare
 * then. When they are near again, the kernel's times hardly change, so it takes
 * until the next comparison. */
static void a_change_of_the_machine_is_seen_soon(void **state)
{
    struct machine near = {.ticks = {6000, 12000}};
    struct machine far = {.ticks = {24000, 15000}};
    struct rcx_way_search s;
    enum rcx_way way = RCX_WAY_RING;

    (void)state;
    rcx_way_search_begin(&s, way, LAP);
    send_some(&s, &near, &way, 10 * RCX_WAY_RARELY + 100);
    assert_int_equal(s.way, RCX_WAY_RING);
    send_some(&s, &far, &way, RCX_WAY_RARELY / 8 + ONCE);
    assert_int_equal(s.way, RCX_WAY_KERNEL);
    send_some(&s, &far, &way, 10 * RCX_WAY_RARELY);
    assert_int_equal(s.way, RCX_WAY_KERNEL);
    send_some(&s, &near, &way, RCX_WAY_RARELY + ONCE);
    assert_int_equal(s.way, RCX_WAY_RING);
}

/* A program whose messages take very different times compares often, but loses
 * little by it. */
static void times_without_order_cost_little(void **state)
{
    struct rcx_way_search s;
    enum rcx_way way = RCX_WAY_RING;
    uint64_t random = SEED;
    int by_kernel = 0;

    (void)state;
    rcx_way_search_begin(&s, way, LAP);
    for (int i = 0; i < 20000; i++) {
        const uint64_t ticks = 1000 << rcx_random(&random) % 10;

        by_kernel += way == RCX_WAY_KERNEL;
        way = rcx_way_search_note(&s, way,
                                  way == RCX_WAY_KERNEL ? 4 * ticks : ticks);
    }
    assert_in_range(by_kernel, 0, 20000 / 8);
}

/* Times that a 32-bit number does not hold. */
static void a_message_may_take_an_hour(void **state)
{
    struct machine m = {.ticks = {UINT64_C(1) << 44, 5000}};
    struct rcx_way_search s;
    enum rcx_way way = RCX_WAY_RING;

    (void)state;
    rcx_way_search_begin(&s, way, LAP);
    send_some(&s, &m, &way, ONCE);
    assert_int_equal(s.way, RCX_WAY_KERNEL);
}

static void classes_are_powers_of_two(void **state)
{
    (void)state;
    assert_int_equal(rcx_way_class(RCX_WAY_LEAST), 0);
    assert_int_equal(rcx_way_class(2 * RCX_WAY_LEAST - 1), 0);
    assert_int_equal(rcx_way_class(2 * RCX_WAY_LEAST), 1);
    assert_int_equal(rcx_way_class((size_t)RCX_WAY_LEAST << 11), 11);
    assert_int_equal(rcx_way_class(SIZE_MAX), RCX_WAY_CLASSES - 1);
}

/* ---- Messages of a channel ----------------------------------------------- */

static const struct mode searching = {
    .ring = 16 * RING, .cma_from = SIZE_MAX, .searches_ways = true};

static uint32_t wrong_guesses(void)
{
    return atomic_load(&channel_of(1, 0)->in->wrong_guesses);
}

/* The receiver says which way; the sender's next message of that class, and of
 * no other one, takes it. */
static void the_sender_follows(void **state)
{
    const size_t bytes = 2 * RCX_WAY_LEAST;

    (void)state;
    ranks_open(&searching);
    for (size_t i = 0; i < searching.ring / bytes + RCX_WAY_FIRST; i++) {
        assert_int_equal(wrong_guesses(), 0);
        exchange(0, 1, bytes);
    }
    assert_int_equal(wrong_guesses(), 1u << 1); /* it compares */
    assert_true(rcx_way_is_read(channel_of(0, 1), bytes));
    assert_false(rcx_way_is_read(channel_of(0, 1), bytes / 2));
    assert_false(rcx_way_is_read(channel_of(0, 1), 2 * bytes));
    assert_false(rcx_way_is_read(channel_of(1, 0), bytes));
    exchange(0, 1, bytes);
    assert_int_equal(channel_of(1, 0)->ways->of[1].tried[RCX_WAY_KERNEL], 1);
    for (int i = 0; i < 3 * RCX_WAY_SOON; i++)
        exchange(0, 1, bytes);
    ranks_close();
}

/* Without memory for what is learnt, the first guess remains. */
static void without_memory_nothing_is_learnt(void **state)
{
    (void)state;
    ranks_open(&searching);
    ranks[1].heap.budget = 0;
    exchange(0, 1, RCX_WAY_LEAST);
    assert_null(channel_of(1, 0)->ways);
    ranks_close();
}

/* The kernel does not let this rank read: each message arrives all the same,
 * and what asking for it takes is the time of that way. */
static void a_read_that_is_refused_counts_as_one(void **state)
{
    (void)state;
    ranks_open(&searching);
    channel_of(1, 0)->pid = 1 << 30; /* no such process */
    for (size_t i = 0;
         i < searching.ring / RCX_WAY_LEAST + RCX_WAY_FIRST + 2 * RCX_WAY_TRIES;
         i++)
        exchange(0, 1, RCX_WAY_LEAST);
    assert_int_equal(channel_of(1, 0)->ways->of[0].tried[RCX_WAY_KERNEL],
                     RCX_WAY_TRIES);
    ranks_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_faster_way_is_found_from_each_guess),
        cmocka_unit_test(equal_ways_do_not_alternate),
        cmocka_unit_test(late_messages_are_no_reason),
        cmocka_unit_test(a_change_of_the_machine_is_seen_soon),
        cmocka_unit_test(times_without_order_cost_little),
        cmocka_unit_test(a_message_may_take_an_hour),
        cmocka_unit_test(classes_are_powers_of_two),
        cmocka_unit_test(the_sender_follows),
        cmocka_unit_test(without_memory_nothing_is_learnt),
        cmocka_unit_test(a_read_that_is_refused_counts_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
