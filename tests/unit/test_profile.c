/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The profile: which calls are sampled and timed, the table that is computed
 * from the parts of all ranks, and the clocks of machines. Expected times are
 * worked out by hand from begins and ends.
 */
#include "test.h"

#include <string.h>

#include "core/api/profile.h"
#include "core/sched/coll.h"

/* ---- Samples ------------------------------------------------------------- */

static struct rcx_profile profile;
static struct rcx_profile_row rows[2];

static void open_row(struct rcx_profile_row *row)
{
    memset(row, 0, sizeof *row);
    row->limit = UINT64_MAX;
}

static void add(struct rcx_profile_row *row, uint64_t sequence, uint64_t took,
                bool quick)
{
    const struct rcx_timed_call call = {.sequence = sequence,
                                        .begin = 1000 * sequence,
                                        .end = 1000 * sequence + took,
                                        .site = &rows,
                                        .quick = quick};

    row->calls++;
    if (!quick || rcx_profile_samples(row, sequence))
        rcx_profile_add(&profile, row, &call);
}

static void ranks_sample_the_same_calls_whatever_these_take(void **state)
{
    enum { CALLS = 100000 };

    (void)state;
    open_row(&rows[0]);
    open_row(&rows[1]);
    for (uint64_t i = 0; i < CALLS; i++) {
        add(&rows[0], i, 10, true);
        add(&rows[1], i, 10 + i % 7, i % 3 > 0);
    }
    assert_int_equal(rows[0].samples, rows[1].samples);
    assert_in_range(rows[0].samples, RCX_PROFILE_SAMPLES / 4,
                    RCX_PROFILE_SAMPLES);
    for (unsigned i = 0; i < rows[0].samples; i++)
        assert_int_equal(rows[0].sample[i].sequence,
                         rows[1].sample[i].sequence);
}

static void all_calls_are_sampled_until_the_row_is_full(void **state)
{
    (void)state;
    open_row(&rows[0]);
    for (uint64_t i = 0; i < RCX_PROFILE_SAMPLES; i++)
        add(&rows[0], 3 * i, i, true);
    assert_int_equal(rows[0].samples, RCX_PROFILE_SAMPLES);
    assert_int_equal(rows[0].shift, 0);
    /* 0 + 1 + ... */
    assert_int_equal(rcx_profile_ticks(&rows[0]),
                     RCX_PROFILE_SAMPLES * (RCX_PROFILE_SAMPLES - 1) / 2);
}

static void
slow_calls_are_timed_one_by_one_and_quick_ones_by_samples(void **state)
{
    enum { CALLS = 50000, SLOW = 1000 };
    uint64_t slow = 0;

    (void)state;
    open_row(&rows[0]);
    memset(&profile, 0, sizeof profile);
    for (uint64_t i = 0; i < CALLS; i++) {
        const bool is_slow = i % (CALLS / SLOW) == 7;

        add(&rows[0], i, is_slow ? 5000 + i : 12, !is_slow);
        slow += is_slow ? 5000 + i : 0;
    }
    assert_int_equal(rows[0].slow_calls, SLOW);
    assert_int_equal(rcx_profile_ticks(&rows[0]), slow + 12 * (CALLS - SLOW));
    assert_int_equal(rows[0].longest, 5000 + CALLS - CALLS / SLOW + 7);
}

/* One in 97 takes 8 ms, which is a time slice, and then all take longer. */
static void an_interrupted_call_stands_for_itself_alone(void **state)
{
    enum { CALLS = 100000, SLICE = 8000000 };
    uint64_t all = 0, timed = 0;

    (void)state;
    open_row(&rows[0]);
    memset(&profile, 0, sizeof profile);
    for (uint64_t i = 0; i < CALLS; i++) {
        const bool is_interrupted = i % 97 == 96;
        const uint64_t took = i < CALLS / 2 ? 100 : 70000;

        if (is_interrupted && rcx_profile_samples(&rows[0], i))
            timed += SLICE;
        add(&rows[0], i, is_interrupted ? SLICE : took, true);
        all += took;
    }
    assert_true(timed >= SLICE);
    assert_in_range(rcx_profile_ticks(&rows[0]), timed + all / 10 * 9,
                    timed + all / 10 * 11);
}

/* ---- The table ----------------------------------------------------------- */

static struct rcx_heap heap;
static struct rcx_parts parts;
static struct rcx_profile_table table;

static void *append(size_t bytes)
{
    unsigned char *data =
        rcx_heap_grow(&heap, parts.data, parts.bytes, parts.bytes + bytes);

    assert_non_null(data);
    parts.data = data;
    parts.bytes += bytes;
    return memset(data + parts.bytes - bytes, 0, bytes);
}

static int open_parts(void **state)
{
    (void)state;
    heap = RCX_HEAP_INIT;
    parts = (struct rcx_parts){.heap = &heap};
    return 0;
}

static int close_parts(void **state)
{
    (void)state;
    rcx_profile_table_free(&table);
    rcx_heap_free(&heap, parts.data);
    return (int)heap.live;
}

/* What a rank has seen of calls: when each began and ended. */
struct seen {
    enum rcx_coll coll;
    int root, calls, first, members;
    int64_t times[3][2];
};

/* A part of a rank with one row, whose time is the sum of its samples unless
 * it is given. */
static struct rcx_part_row *add_part(int rank, int comm_rank,
                                     const struct seen *s, uint64_t calls,
                                     double seconds)
{
    const size_t samples = (size_t)s->calls;
    const size_t bytes = sizeof(struct rcx_profile_part) +
                         sizeof(struct rcx_part_row) +
                         samples * sizeof(struct rcx_part_sample);
    struct rcx_profile_part *part = append(bytes);
    struct rcx_part_row *row = (void *)(part + 1);
    struct rcx_part_sample *sample = (void *)(row + 1);
    double sum = 0;

    *part = (struct rcx_profile_part){
        .bytes = bytes, .rank = rank, .rows = 1, .run_s = 1e-3};
    for (size_t i = 0; i < samples; i++) {
        const int64_t *t = s->times[i];

        /* in another order on each rank */
        sample[(i + (size_t)rank) % samples] = (struct rcx_part_sample){
            .sequence = 40 + i, t[0], t[1] - t[0], s->root};
        sum += 1e-9 * (double)(t[1] - t[0]);
    }
    *row = (struct rcx_part_row){.comm = 1,
                                 .rank = comm_rank,
                                 .size = s->members,
                                 .first = s->first,
                                 .coll = (uint8_t)s->coll,
                                 .bytes = 2,
                                 .samples = (uint32_t)samples,
                                 .algorithm = "ring",
                                 .calls = calls ? calls : samples,
                                 .seconds = calls ? seconds : sum};
    return row;
}

static void assert_ns(double seconds, double ns)
{
    assert_true(1e9 * seconds > ns - 1e-3 && 1e9 * seconds < ns + 1e-3);
}

static void assert_spread(const struct rcx_spread *s, double least,
                          double median, double most)
{
    assert_ns(s->least, least);
    assert_ns(s->median, median);
    assert_ns(s->most, most);
}

static const struct rcx_profile_line *compute(int size)
{
    assert_true(rcx_profile_compute(&table, &parts, size));
    assert_int_equal(table.lines, 1);
    return table.line;
}

static void a_rank_waits_until_the_latest_has_begun(void **state)
{
    static const struct seen seen[3] = {
        {RCX_COLL_ALLREDUCE, 0, 2, 0, 3, {{0, 1200}, {2000, 3000}}},
        {RCX_COLL_ALLREDUCE, 0, 2, 0, 3, {{100, 1250}, {2900, 3100}}},
        {RCX_COLL_ALLREDUCE, 0, 2, 0, 3, {{1000, 1300}, {2500, 3000}}}};
    const struct rcx_profile_line *line;

    (void)state;
    for (int i = 0; i < 3; i++)
        add_part(i, i, &seen[i], 0, 0);
    line = compute(3);
    assert_int_equal(line->compared, 2);
    assert_int_equal(line->calls, 2);
    /* times 2200, 1350, 800; waiting 1000 + 900, 900 + 0, 0 + 400 */
    assert_spread(&line->time, 800, 1350, 2200);
    assert_spread(&line->waiting, 400, 900, 1900);
    assert_spread(&line->moving, 300, 400, 450);
    /* 1900 of 3200 for rank 2, in the first call */
    assert_int_equal(line->latest, 2);
    assert_ns(line->latest_part, 1e9 * 1900 / 3200);
    assert_spread(&table.share, 800e3, 1350e3, 2200e3);
}

static void receivers_of_a_broadcast_wait_for_the_root_alone(void **state)
{
    static const struct seen seen[3] = {
        {RCX_COLL_BCAST, 1, 1, 0, 3, {{0, 700}}},
        {RCX_COLL_BCAST, 1, 1, 0, 3, {{500, 650}}}, /* leaves before rank 2 */
        {RCX_COLL_BCAST, 1, 1, 0, 3, {{900, 950}}}};
    const struct rcx_profile_line *line;

    (void)state;
    for (int i = 0; i < 3; i++)
        add_part(i, i, &seen[i], 0, 0);
    line = compute(3);
    assert_spread(&line->waiting, 0, 0, 500);
    assert_spread(&line->moving, 50, 150, 200);
    assert_int_equal(line->latest, 1);
}

static void a_prefix_sum_waits_for_lower_ranks_only(void **state)
{
    static const struct seen seen[3] = {
        {RCX_COLL_SCAN, 0, 1, 0, 3, {{300, 310}}},
        {RCX_COLL_SCAN, 0, 1, 0, 3, {{100, 400}}},
        {RCX_COLL_SCAN, 0, 1, 0, 3, {{0, 450}}}};

    (void)state;
    for (int i = 0; i < 3; i++)
        add_part(i, i, &seen[i], 0, 0);
    assert_spread(&compute(3)->waiting, 0, 200, 300);
}

static void a_leaf_that_leaves_early_has_not_waited(void **state)
{
    static const struct seen seen[2] = {
        {RCX_COLL_REDUCE, 1, 1, 0, 2, {{0, 50}}},
        {RCX_COLL_REDUCE, 1, 1, 0, 2, {{800, 900}}}};

    (void)state;
    add_part(0, 0, &seen[0], 0, 0);
    add_part(1, 1, &seen[1], 0, 0);
    assert_spread(&compute(2)->waiting, 0, 0, 0);
}

static void calls_without_a_sample_move_as_long_as_the_mean_one(void **state)
{
    static const struct seen seen[2] = {
        {RCX_COLL_BARRIER, 0, 2, 0, 2, {{0, 700}, {1000, 1300}}},
        {RCX_COLL_BARRIER, 0, 2, 0, 2, {{600, 700}, {1100, 1300}}}};
    const struct rcx_profile_line *line;

    (void)state;
    add_part(0, 0, &seen[0], 100, 90e-6);
    add_part(1, 1, &seen[1], 100, 20e-6);
    line = compute(2);
    /* 100 and 200 ns of moving: 150 a call, on both */
    assert_spread(&line->moving, 15e3, 15e3, 15e3);
    assert_spread(&line->waiting, 5e3, 40e3, 75e3);
}

/* 4 bytes on each of 7 ranks; then 1 to 7 bytes, 28 in all. */
static void bytes_are_the_mean_of_exact_sums(void **state)
{
    static const struct seen seen = {RCX_COLL_REDUCE, 0, 1, 0, 7, {{0, 50}}};

    for (int differ = 0; differ <= 1; differ++) {
        close_parts(state);
        open_parts(state);
        for (int i = 0; i < 7; i++)
            add_part(i, i, &seen, 0, 0)->moved = differ ? (uint64_t)i + 1 : 4;
        assert_int_equal(compute(7)->moved, 4);
    }
}

static void parts_of_a_split_are_compared_apart_and_share_a_line(void **state)
{
    static const struct seen seen[4] = {
        {RCX_COLL_ALLREDUCE, 0, 1, 0, 2, {{0, 500}}},
        {RCX_COLL_ALLREDUCE, 0, 1, 1, 2, {{9000, 9100}}},
        {RCX_COLL_ALLREDUCE, 0, 1, 0, 2, {{400, 500}}},
        {RCX_COLL_ALLREDUCE, 0, 1, 1, 2, {{9000, 9100}}}};
    const struct rcx_profile_line *line;

    (void)state;
    for (int i = 0; i < 4; i++)
        add_part(i, i / 2, &seen[i], 0, 0);
    line = compute(4);
    assert_int_equal(line->ranks, 4);
    assert_spread(&line->waiting, 0, 0, 400);
    assert_int_equal(line->latest, 2);
}

static void
ranks_without_a_part_are_counted_and_the_others_compared(void **state)
{
    static const struct seen seen[2] = {
        {RCX_COLL_ALLREDUCE, 0, 1, 0, 3, {{0, 500}}},
        {RCX_COLL_ALLREDUCE, 0, 1, 0, 3, {{400, 500}}}};

    (void)state;
    add_part(0, 0, &seen[0], 0, 0);
    add_part(2, 2, &seen[1], 0, 0);
    assert_spread(&compute(3)->waiting, 0, 200, 400);
    assert_int_equal(table.ranks, 2);
    assert_int_equal(table.size, 3);
    assert_int_equal(table.line->latest, 2);
}

static void
nothing_is_known_of_calls_that_no_two_ranks_have_sampled(void **state)
{
    static const struct seen some = {RCX_COLL_ALLREDUCE, 0, 1, 0, 2,
                                     {{0, 500}}};
    static const struct seen none = {RCX_COLL_ALLREDUCE, 0, 0, 0, 2, {{0}}};

    (void)state;
    add_part(0, 0, &some, 0, 0);
    add_part(1, 1, &none, 5, 1e-6);
    assert_int_equal(compute(2)->compared, 0);
}

static void no_memory_for_a_table_is_no_table(void **state)
{
    static const struct seen seen = {RCX_COLL_ALLREDUCE, 0, 1, 0, 1,
                                     {{0, 500}}};

    (void)state;
    add_part(0, 0, &seen, 0, 0);
    for (uint64_t budget = 0; budget < 4; budget++) {
        heap.budget = budget;
        assert_false(rcx_profile_compute(&table, &parts, 1));
    }
    heap.budget = UINT64_MAX;
    assert_true(rcx_profile_compute(&table, &parts, 1));
}

/* ---- Clocks -------------------------------------------------------------- */

static void times_are_aligned_by_a_line_through_both_measurements(void **state)
{
    struct rcx_observer o = {.marks = 0};

    (void)state;
    assert_int_equal(rcx_observer_align(&o, 12345), 12345);
    o.mark[o.marks++] = (struct rcx_clock_mark){1000000, 500, 10};
    assert_int_equal(rcx_observer_align(&o, 7000000), 6999500);
    /* the other clock gains 1 ns in 10 us */
    o.mark[o.marks++] = (struct rcx_clock_mark){11000000, 1500, 10};
    assert_int_equal(rcx_observer_align(&o, 1000000), 999500);
    assert_int_equal(rcx_observer_align(&o, 6000000), 5999000);
    assert_int_equal(rcx_observer_align(&o, 11000000), 10998500);
}

#define TABLE_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, open_parts, close_parts)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_sample_the_same_calls_whatever_these_take),
        cmocka_unit_test(all_calls_are_sampled_until_the_row_is_full),
        cmocka_unit_test(
            slow_calls_are_timed_one_by_one_and_quick_ones_by_samples),
        cmocka_unit_test(an_interrupted_call_stands_for_itself_alone),
        TABLE_TEST(a_rank_waits_until_the_latest_has_begun),
        TABLE_TEST(receivers_of_a_broadcast_wait_for_the_root_alone),
        TABLE_TEST(a_prefix_sum_waits_for_lower_ranks_only),
        TABLE_TEST(a_leaf_that_leaves_early_has_not_waited),
        TABLE_TEST(calls_without_a_sample_move_as_long_as_the_mean_one),
        TABLE_TEST(bytes_are_the_mean_of_exact_sums),
        TABLE_TEST(parts_of_a_split_are_compared_apart_and_share_a_line),
        TABLE_TEST(ranks_without_a_part_are_counted_and_the_others_compared),
        TABLE_TEST(nothing_is_known_of_calls_that_no_two_ranks_have_sampled),
        TABLE_TEST(no_memory_for_a_table_is_no_table),
        cmocka_unit_test(times_are_aligned_by_a_line_through_both_measurements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
