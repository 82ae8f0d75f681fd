/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments: the rows of hand-written and random blocks, and reduce_scatter in
 * segments by all algorithms and in all places.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "core/sched/segment.h"

enum { MOST_BLOCKS = 12, TRIALS = 2000 };

static struct rcx_heap heap;

/* ---- Rows ---------------------------------------------------------------- */

/* A reduce_scatter with blocks of these lengths. The shape refers to displs. */
static struct rcx_shape scatter(int size, const size_t lengths[],
                                size_t displs[])
{
    displs[0] = 0;
    for (int i = 0; i < size; i++)
        displs[i + 1] = displs[i] + lengths[i];
    return (struct rcx_shape){.coll = RCX_COLL_REDUCE_SCATTER,
                              .size = size,
                              .count = displs[size],
                              .displs = displs,
                              .elem_bytes = 8,
                              .commutative = true};
}

static void assert_rows(const struct rcx_shape *s, size_t limit,
                        const struct rcx_row rows[], int n)
{
    struct rcx_cutter cutter;
    struct rcx_row row;

    assert_ok(rcx_cutter_open(&cutter, &heap, s, limit));
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < n; i++) {
            assert_true(rcx_cutter_next(&cutter, &row));
            assert_int_equal(row.first, rows[i].first);
            assert_int_equal(row.width, rows[i].width);
            assert_int_equal(row.segments, rows[i].segments);
        }
        assert_false(rcx_cutter_next(&cutter, &row));
        rcx_cutter_rewind(&cutter);
    }
    rcx_cutter_close(&cutter);
}

static void a_vector_is_cut_with_the_rest_at_its_end(void **state)
{
    struct rcx_shape s = {.coll = RCX_COLL_ALLREDUCE, .size = 5, .count = 23};

    (void)state;
    assert_rows(&s, 10, (struct rcx_row[]){{0, 10, 2}, {20, 3, 1}}, 2);
    assert_rows(&s, 23, (struct rcx_row[]){{0, 23, 1}}, 1);
    assert_rows(&s, 0, (struct rcx_row[]){{0, 23, 1}}, 1);
    assert_rows(&s, 1, (struct rcx_row[]){{0, 1, 23}}, 1);
    s.count = 0;
    assert_rows(&s, 10, (struct rcx_row[]){{0, 0, 1}}, 1);
}

static void equal_blocks_are_cut_alike(void **state)
{
    struct rcx_shape s = {
        .coll = RCX_COLL_REDUCE_SCATTER, .size = 4, .count = 4 * 7};

    (void)state;
    assert_rows(&s, 8, (struct rcx_row[]){{0, 2, 3}, {6, 1, 1}}, 2);
    assert_rows(&s, 3, (struct rcx_row[]){{0, 1, 7}}, 1);
    assert_rows(&s, 28, (struct rcx_row[]){{0, 7, 1}}, 1);
}

static void blocks_end_within_segments(void **state)
{
    const size_t lengths[] = {0, 3, 20, 3};
    size_t displs[5];
    const struct rcx_shape s = scatter(4, lengths, displs);

    (void)state;
    /* Three blocks have elements. First two of each, then their third and four
     * of the block of 20, then only that block. */
    assert_rows(&s, 6,
                (struct rcx_row[]){{0, 2, 1}, {2, 4, 1}, {6, 6, 2}, {18, 2, 1}},
                4);
    assert_rows(&s, 2, (struct rcx_row[]){{0, 1, 3}, {3, 2, 8}, {19, 1, 1}}, 3);
    assert_rows(&s, 0, (struct rcx_row[]){{0, 20, 1}}, 1);
}

static size_t elements_of(const struct rcx_shape *s, const struct rcx_row *row,
                          uint64_t segment)
{
    struct rcx_shape mine = *s;
    const struct rcx_row one = {row->first + segment * row->width, row->width,
                                1};
    size_t sum = 0;

    for (int i = 0; i < s->size; i++) {
        mine.rank = i;
        sum += rcx_row_out_count(&one, &mine);
    }
    return sum;
}

static size_t blocks_longer_than(const struct rcx_shape *s, size_t length)
{
    size_t n = 0;

    for (int i = 0; i < s->size; i++)
        n += s->displs[i + 1] - s->displs[i] > length;
    return n;
}

/* Whether a segment of n elements, which ends at element end of each block, is
 * as long as the limit allows. The last one of several in a row may be shorter
 * if a block ends with it: all segments of a row are equal. */
static bool is_longest(const struct rcx_shape *s, size_t limit, size_t n,
                       size_t end, bool is_last_of_several)
{
    const size_t more = blocks_longer_than(s, end);

    return more == 0 || n + more > limit ||
           (is_last_of_several && blocks_longer_than(s, end - 1) > more);
}

/* Each element must be in exactly one segment. A segment must not exceed the
 * limit, unless it has one element of each block, and must not be shorter than
 * necessary. All segments of a row must have the same number of elements. */
static void assert_cut(const struct rcx_shape *s, size_t limit)
{
    struct rcx_cutter cutter;
    struct rcx_row row;
    size_t sum = 0, at = 0;

    assert_ok(rcx_cutter_open(&cutter, &heap, s, limit));
    while (rcx_cutter_next(&cutter, &row)) {
        assert_int_equal(row.first, at);
        for (uint64_t i = 0; i < row.segments; i++) {
            const size_t n = elements_of(s, &row, i);

            assert_true(n <= limit || row.width == 1);
            assert_true(is_longest(s, limit, n, at + (i + 1) * row.width,
                                   row.segments > 1 && i + 1 == row.segments));
            assert_int_equal(n, elements_of(s, &row, 0));
            sum += n;
        }
        at += row.segments * row.width;
    }
    assert_int_equal(sum, s->count);
    rcx_cutter_close(&cutter);
}

static void every_element_is_in_one_segment(void **state)
{
    size_t lengths[MOST_BLOCKS], displs[MOST_BLOCKS + 1];

    (void)state;
    srand(1);
    for (int call = 0; call < TRIALS; call++) {
        const int size = 1 + rand() % MOST_BLOCKS, most = 1 + rand() % 40;
        struct rcx_shape s;

        for (int i = 0; i < size; i++)
            lengths[i] = (size_t)(rand() % 3 ? rand() % most : 0);
        s = scatter(size, lengths, displs);
        assert_cut(&s, (size_t)(1 + rand() % 60));
    }
}

/* ---- Calls --------------------------------------------------------------- */

/* Run all places. Blocks end in different segments, and some are empty. */
static void run_forms(struct job *job, const size_t recvcounts[])
{
    for (int place = 0; place <= MIXED; place++) {
        const struct call irregular = {.coll = REDUCE_SCATTER,
                                       .place = (enum place)place,
                                       .blocks = recvcounts,
                                       .kind = &sums};
        const struct call equal = {.coll = REDUCE_SCATTER_BLOCK,
                                   .place = (enum place)place,
                                   .count = 37,
                                   .kind = &sums};

        calls_run(job, &irregular, false);
        calls_run(job, &irregular, true);
        calls_run(job, &equal, true);
    }
}

static void all_algorithms_scatter_in_segments(void **state)
{
    const size_t rising[] = {0, 1, 5, 9, 13, 40, 41, 90, 2};
    const size_t falling[] = {70, 33, 0, 33, 7, 1, 0, 3, 100};

    (void)state;
    for (int size = 1; size <= 9; size++) {
        const struct job_options options = {.seed = (uint64_t)size};
        struct job job;

        assert_ok(job_open(&job, size, &options));
        for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
            if ((*a)->coll != RCX_COLL_REDUCE_SCATTER)
                continue;
            job_force(&job, *a, 80);
            run_forms(&job, rising);
            run_forms(&job, falling);
        }
        assert_ok(job_close(&job));
    }
}

static void segments_show_in_the_algorithm(void **state)
{
    struct job job;
    const struct call call = {
        .coll = REDUCE_SCATTER_BLOCK, .count = 100, .kind = &sums};
    struct calls c;

    (void)state;
    open_with(&job, 3, "RCX_REDUCE_SCATTER", "pairwise:segment=240,window=2",
              NULL);
    calls_open(&c, &job, &call);
    calls_make(&c, true);
    assert_string_equal(rcx_request_method(c.requests[1]),
                        "pairwise:segment=240,window=2");
    assert_int_equal(c.requests[1]->program->segments, 10);
    calls_start(&c);
    calls_wait(&c, RCX_OK);
    calls_check(&c);
    calls_close(&c);
    assert_ok(job_close(&job));
}

static int set_up(void **state)
{
    (void)state;
    heap = RCX_HEAP_INIT;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return heap.live == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vector_is_cut_with_the_rest_at_its_end),
        cmocka_unit_test(equal_blocks_are_cut_alike),
        cmocka_unit_test(blocks_end_within_segments),
        cmocka_unit_test(every_element_is_in_one_segment),
        cmocka_unit_test(all_algorithms_scatter_in_segments),
        cmocka_unit_test(segments_show_in_the_algorithm),
    };

    return cmocka_run_group_tests_name("segments", tests, set_up, tear_down);
}
