/* SPDX-License-Identifier: BSD-3-Clause */
/* Overlap of the memory ranges that a call uses: the search in sorted ranges,
 * and rcx_alltoallv() with random blocks, compared with all pairs. */
#include "test.h"

#include <string.h>

#include "calls.h"
#include "capture.h"
#include "core/api/overlap.h"

enum { TRIES = 5000, MOST = 40, ROOM = 400 };

static char memory[ROOM];
static struct capture said;

static bool overlap(size_t a, size_t a_count, size_t b, size_t b_count)
{
    return a_count > 0 && b_count > 0 && a < b + b_count && b < a + a_count;
}

static size_t draw(uint64_t seed, uint64_t i, size_t most)
{
    return (size_t)(serial_mix(seed, i, 3) % (most + 1));
}

/* Draw disjoint ranges in random order; index is the position of each by
 * address. The number of ranges depends on seed. */
static size_t draw_regions(uint64_t seed, struct rcx_mem_range regions[])
{
    const size_t n = 1 + seed % MOST;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t to = draw(seed, i, i);

        at += draw(seed, 100 + i, 3);
        regions[i] = regions[to];
        regions[to].at = memory + at;
        regions[to].bytes = 1 + draw(seed, 200 + i, 5);
        regions[to].index = i;
        at += regions[to].bytes;
    }
    return n;
}

static void one_that_overlaps_is_found_among_sorted_ones(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TRIES; seed++) {
        struct rcx_mem_range regions[MOST], drawn[MOST];
        const size_t n = draw_regions(seed, drawn);
        const size_t at = draw(seed, 300, ROOM - 20);
        const size_t bytes = 1 + draw(seed, 301, 9);
        const struct rcx_mem_range *found;
        bool any = false;

        memcpy(regions, drawn, n * sizeof *regions);
        rcx_mem_ranges_sort(regions, n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(regions[i].index, i);
            any |= overlap((size_t)(drawn[i].at - memory), drawn[i].bytes, at,
                           bytes);
        }
        found = rcx_mem_ranges_overlap(regions, n, memory + at, bytes);
        assert_int_equal(found != NULL, any);
        if (found)
            assert_true(
                overlap((size_t)(found->at - memory), found->bytes, at, bytes));
    }
}

/* ---- Blocks of operand and result ---------------------------------------- */

enum { RANKS = 7, SENT, RECEIVED };

struct blocks {
    size_t counts[RANKS], displs[RANKS];
};

static struct blocks draw_blocks(uint64_t seed, uint64_t side, size_t most)
{
    struct blocks b;

    for (uint64_t i = 0; i < RANKS; i++) {
        const size_t count = draw(seed, 1000 * side + i, 6);

        b.counts[i] = i == 0 ? 2 : count > 3 ? 0 : count;
        b.displs[i] = draw(seed, 1000 * side + 500 + i, most);
    }
    return b;
}

/* Whether no blocks overlap. Offset by is added to the received blocks. */
static bool is_legal(const struct blocks *sent, const struct blocks *received,
                     size_t by)
{
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++)
            if (overlap(sent->displs[i], sent->counts[i],
                        by + received->displs[k], received->counts[k]) ||
                (i != k && overlap(received->displs[i], received->counts[i],
                                   received->displs[k], received->counts[k])))
                return false;
    return true;
}

static rcx_status_t call(const struct blocks *sent,
                         const struct blocks *received, size_t by,
                         rcx_comm_t *comm)
{
    rcx_request_t *request = NULL;
    rcx_status_t status;

    capture_begin(&said);
    status = rcx_alltoallv_init(memory, sent->counts, sent->displs, memory + by,
                                received->counts, received->displs, RCX_INT8,
                                comm, &request);
    capture_end(&said);
    if (status == RCX_OK)
        assert_ok(rcx_request_free(&request));
    else
        assert_non_null(strstr(said.text, "overlap"));
    return status;
}

static void blocks_of_both_sides_may_lie_among_each_other(void **state)
{
    static rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    const struct job_options options = {.params = &params, .seed = 5};
    struct job job;
    int legal = 0;

    (void)state;
    open_with(&job, RANKS, NULL, NULL, &options);
    for (uint64_t seed = 0; seed < TRIES; seed++) {
        const struct blocks sent = draw_blocks(seed, SENT, 150);
        const struct blocks received = draw_blocks(seed, RECEIVED, 150);
        const size_t by = 1 + draw(seed, 1, 30);
        const bool good = is_legal(&sent, &received, by);

        assert_int_equal(call(&sent, &received, by, world_of(&job, 0)),
                         good ? RCX_OK : RCX_ERR_ARG);
        legal += good;
    }
    assert_in_range(legal, TRIES / 10, TRIES - TRIES / 10);
    assert_ok(job_close(&job));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_overlaps_is_found_among_sorted_ones),
        cmocka_unit_test(blocks_of_both_sides_may_lie_among_each_other),
    };

    return cmocka_run_group_tests_name("mem_ranges", tests, NULL, NULL);
}
