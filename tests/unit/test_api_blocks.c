/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that move data, and prefix reductions: wrong arguments are
 * rejected, unusual but valid arguments are accepted, and a call does not write
 * to memory other than its result.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "calls.h"
#include "capture.h"
#include "core/sched/params.h"

enum { N = 8, RANKS = 2, MOST = 5 };

static struct capture said = {.asks_for_name = true};
static struct job job;
static int32_t in[8 * N], out[8 * N];
static rcx_request_t *request;

static int set_up(void **state)
{
    static rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    const struct job_options options = {.params = &params, .seed = 5};

    (void)state;
    open_with(&job, RANKS, NULL, NULL, &options);
    request = NULL;
    return 0;
}

/* After the errors of a test, no request must be left, and calls must work. */
static int tear_down(void **state)
{
    const struct call call = {.coll = ALLTOALLV, .count = 20, .kind = &sums};

    (void)state;
    assert_null(request);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(job.contexts[rank]->requests.live, 0);
    calls_run(&job, &call, false);
    assert_ok(job_close(&job));
    return 0;
}

static const size_t equal[] = {N, N, N, N, N};

/* Valid arguments of rank 0, for a test to change. */
static struct arguments right(void)
{
    return (struct arguments){.sendbuf = in,
                              .recvbuf = out,
                              .count = N,
                              .blocks = equal,
                              .sendcounts = equal,
                              .type = RCX_INT32,
                              .op = RCX_SUM,
                              .comm = world_of(&job, 0)};
}

/* Apply change to valid arguments: all forms must reject them with RCX_ERR_ARG.
 * The blocking call is last, as it would wait if it were accepted. */
#define assert_refuses(coll, change, ...)                                      \
    do {                                                                       \
        struct arguments a = right();                                          \
                                                                               \
        change;                                                                \
        for (int i_ = 1; i_ <= FORMS; i_++)                                    \
            assert_refused(                                                    \
                &said,                                                         \
                collective_call(coll, (enum form)(i_ % FORMS), &a, &request),  \
                RCX_ERR_ARG, __VA_ARGS__);                                     \
    } while (0)

/* Apply change to valid arguments: a request must be created without a log
 * line. */
#define assert_takes(coll, change)                                             \
    do {                                                                       \
        struct arguments a = right();                                          \
        rcx_status_t status_;                                                  \
                                                                               \
        change;                                                                \
        capture_begin(&said);                                                  \
        status_ = collective_call(coll, PERSISTENT, &a, &request);             \
        capture_end(&said);                                                    \
        assert_string_equal(said.text, "");                                    \
        assert_ok(status_);                                                    \
        assert_ok(rcx_request_free(&request));                                 \
    } while (0)

static void be_rank_1(struct arguments *a)
{
    a->comm = world_of(&job, 1);
}

/* Run a nonblocking call on all ranks of j, and wait for it. */
static void run(struct job *j, enum collective coll, struct arguments a[])
{
    rcx_request_t *requests[MOST];

    for (int r = 0; r < j->size; r++) {
        a[r].comm = world_of(j, r);
        assert_ok(collective_call(coll, NONBLOCKING, &a[r], &requests[r]));
    }
    assert_ok(job_wait(j, requests));
    for (int r = 0; r < j->size; r++)
        assert_ok(rcx_request_free(&requests[r]));
}

/* ---- Missing arguments --------------------------------------------------- */

static void counts_that_are_missing_are_named(void **state)
{
    (void)state;
    assert_refuses(GATHERV, a.blocks = NULL, "counts=NULL");
    assert_refuses(GATHERV, (a.blocks = NULL, a.root = 1), "counts=NULL");
    assert_refuses(SCATTERV, a.blocks = NULL, "counts=NULL");
    assert_refuses(SCATTERV, (a.blocks = NULL, a.root = 1), "counts=NULL");
    assert_refuses(ALLGATHERV, a.blocks = NULL, "counts=NULL");
    assert_refuses(ALLTOALLV, a.sendcounts = NULL, "sendcounts=NULL");
    assert_refuses(ALLTOALLV, a.blocks = NULL, "recvcounts=NULL");
    assert_refuses(ALLTOALLV, (a.blocks = NULL, a.sendbuf = RCX_IN_PLACE),
                   "recvcounts=NULL");
    assert_takes(ALLTOALLV, (a.sendcounts = NULL, a.sendbuf = RCX_IN_PLACE));
}

static void buffers_that_are_missing_are_named(void **state)
{
    static const enum collective both[] = {ALLGATHER, ALLGATHERV, ALLTOALL,
                                           ALLTOALLV, SCAN};

    (void)state;
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        assert_refuses(both[i], a.sendbuf = NULL, "sendbuf=NULL");
        assert_refuses(both[i], a.recvbuf = NULL, "recvbuf=NULL");
    }
    for (int root = 0; root < RANKS; root++) {
        assert_refuses(BCAST, (a.sendbuf = a.recvbuf = NULL, a.root = root),
                       "buf=NULL");
        assert_refuses(GATHER, (a.sendbuf = NULL, a.root = root),
                       "sendbuf=NULL");
        assert_refuses(GATHERV, (a.sendbuf = NULL, a.root = root),
                       "sendbuf=NULL");
        assert_refuses(SCATTER, (a.recvbuf = NULL, a.root = root),
                       "recvbuf=NULL");
        assert_refuses(SCATTERV, (a.recvbuf = NULL, a.root = root),
                       "recvbuf=NULL");
    }
    assert_refuses(GATHER, a.recvbuf = NULL, "recvbuf=NULL");
    assert_refuses(GATHERV, a.recvbuf = NULL, "recvbuf=NULL");
    assert_refuses(SCATTER, a.sendbuf = NULL, "sendbuf=NULL");
    assert_refuses(SCATTERV, a.sendbuf = NULL, "sendbuf=NULL");
    assert_refuses(EXSCAN, a.sendbuf = NULL, "sendbuf=NULL");
    assert_refuses(EXSCAN, (be_rank_1(&a), a.recvbuf = NULL), "recvbuf=NULL");
}

static void buffers_that_are_ignored_may_be_missing(void **state)
{
    static const size_t none[RANKS] = {0, 0}, not_own[RANKS] = {0, N};

    (void)state;
    assert_takes(GATHER, (a.recvbuf = NULL, a.root = 1));
    assert_takes(GATHERV, (a.recvbuf = NULL, a.root = 1));
    assert_takes(SCATTER, (a.sendbuf = NULL, a.root = 1));
    assert_takes(SCATTERV, (a.sendbuf = NULL, a.root = 1));
    assert_takes(EXSCAN, a.recvbuf = NULL); /* rank 0 has no result */
    assert_takes(ALLGATHERV, (a.sendbuf = a.recvbuf = NULL, a.blocks = none));
    assert_takes(ALLTOALLV,
                 (a.sendbuf = NULL, a.sendcounts = none, a.blocks = not_own));
    assert_takes(ALLTOALLV,
                 (a.recvbuf = NULL, a.sendcounts = not_own, a.blocks = none));
}

/* ---- RCX_IN_PLACE -------------------------------------------------------- */

static void the_in_place_mark_is_refused_where_it_means_nothing(void **state)
{
    static const enum collective all[] = {
        GATHER, GATHERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, SCAN};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_refuses(all[i], a.recvbuf = RCX_IN_PLACE, "recvbuf=RCX_IN_PLACE",
                       "sendbuf");
    assert_refuses(EXSCAN, (be_rank_1(&a), a.recvbuf = RCX_IN_PLACE),
                   "recvbuf=RCX_IN_PLACE", "sendbuf");
    assert_refuses(GATHER, (a.sendbuf = RCX_IN_PLACE, a.root = 1),
                   "sendbuf=RCX_IN_PLACE", "root");
    assert_refuses(GATHERV, (a.sendbuf = RCX_IN_PLACE, a.root = 1),
                   "sendbuf=RCX_IN_PLACE", "root");
    assert_refuses(SCATTER, (a.recvbuf = RCX_IN_PLACE, a.root = 1),
                   "recvbuf=RCX_IN_PLACE", "root");
    assert_refuses(SCATTERV, (a.recvbuf = RCX_IN_PLACE, a.root = 1),
                   "recvbuf=RCX_IN_PLACE", "root");
    assert_refuses(SCATTER, a.sendbuf = RCX_IN_PLACE, "sendbuf=RCX_IN_PLACE",
                   "recvbuf");
    assert_refuses(SCATTERV, a.sendbuf = RCX_IN_PLACE, "sendbuf=RCX_IN_PLACE",
                   "recvbuf");
    for (int root = 0; root < RANKS; root++)
        assert_refuses(BCAST, (a.recvbuf = RCX_IN_PLACE, a.root = root),
                       "buf=RCX_IN_PLACE");
}

static void in_place_it_is_the_other_buffer_that_is_missing(void **state)
{
    static const enum collective moves[] = {
        GATHER, GATHERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, SCAN};

    (void)state;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        assert_refuses(moves[i], (a.sendbuf = RCX_IN_PLACE, a.recvbuf = NULL),
                       "recvbuf=NULL");
    assert_refuses(SCATTER, (a.sendbuf = NULL, a.recvbuf = RCX_IN_PLACE),
                   "sendbuf=NULL");
}

/* ---- Overflow of counts -------------------------------------------------- */

static void sums_that_overflow_are_refused(void **state)
{
    static const enum collective equals[] = {GATHER, SCATTER, ALLGATHER,
                                             ALLTOALL};
    static const enum collective counted[] = {GATHERV, SCATTERV, ALLGATHERV};
    static const size_t many[RANKS] = {SIZE_MAX, 2};
    static const size_t wide[RANKS] = {SIZE_MAX / 8, SIZE_MAX / 8};
    static const size_t too_many[RANKS] = {N, SIZE_MAX};
    static const size_t behind[RANKS] = {0, SIZE_MAX - 1};
    static const size_t far[RANKS] = {0, SIZE_MAX / 8};

    (void)state;
    for (size_t i = 0; i < sizeof equals / sizeof *equals; i++)
        for (int root = 0; root < RANKS; root++)
            assert_refuses(equals[i],
                           (a.count = SIZE_MAX / 8 + 1, a.root = root),
                           "count=", "overflow");
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        for (int root = 0; root < RANKS; root++) {
            assert_refuses(counted[i], (a.blocks = many, a.root = root),
                           "counts:", "overflow");
            assert_refuses(counted[i], (a.blocks = wide, a.root = root),
                           "counts:", "overflow");
        }
        assert_refuses(counted[i], a.displs = behind,
                       "counts:", "the end of a block", "overflow");
        assert_refuses(counted[i], a.displs = far,
                       "counts:", "the end of a block", "overflow");
    }
    assert_refuses(ALLTOALLV, a.sendcounts = too_many,
                   "sendcounts:", "overflow");
    assert_refuses(ALLTOALLV, a.blocks = too_many, "recvcounts:", "overflow");
    assert_refuses(ALLTOALLV, a.senddispls = behind,
                   "sendcounts:", "the end of a block");
    assert_refuses(ALLTOALLV, a.displs = behind,
                   "recvcounts:", "the end of a block");
    assert_refuses(ALLTOALLV, (a.blocks = wide, a.sendbuf = RCX_IN_PLACE),
                   "recvcounts:", "overflow");
    assert_refuses(BCAST, a.count = SIZE_MAX / 2, "count=", "overflow");
    assert_refuses(SCAN, a.count = SIZE_MAX / 2, "count=", "overflow");
    assert_refuses(EXSCAN, a.count = SIZE_MAX / 2, "count=", "overflow");
}

static void a_block_to_itself_has_equal_send_and_receive_counts(void **state)
{
    static const size_t more[RANKS] = {N + 1, N};

    (void)state;
    assert_refuses(ALLTOALLV, a.sendcounts = more, "sendcounts[0]=9",
                   "recvcounts[0]=8");
    assert_refuses(ALLTOALLV, a.blocks = more, "sendcounts[0]=8",
                   "recvcounts[0]=9");
}

/* ---- Buffers in gaps between blocks -------------------------------------- */

static const size_t apart[RANKS] = {3 * N, 0}; /* a gap of 2 N from N on */

static void a_sendbuf_over_part_of_a_block_is_refused(void **state)
{
    static const enum collective moves[] = {GATHERV, ALLGATHERV, ALLTOALLV};

    (void)state;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        assert_refuses(moves[i], (a.displs = apart, a.sendbuf = out + N - 1),
                       "overlap");
        assert_refuses(moves[i],
                       (a.displs = apart, a.sendbuf = out + 4 * N - 1),
                       "overlap");
        assert_refuses(moves[i], a.sendbuf = out + 1, "overlap");
    }
    assert_refuses(GATHER, a.sendbuf = out + N - 1, "overlap");
    assert_refuses(ALLGATHER, a.sendbuf = out + N, "overlap");
    assert_refuses(SCATTER, a.recvbuf = in + N, "overlap");
    assert_refuses(SCATTERV, (a.displs = apart, a.recvbuf = in + 1), "overlap");
    assert_refuses(ALLTOALL, a.sendbuf = out + N, "overlap");
    assert_refuses(SCAN, a.sendbuf = out + 1, "overlap");
    assert_refuses(EXSCAN, (be_rank_1(&a), a.sendbuf = out + 1), "overlap");
}

static void a_sendbuf_in_a_gap_is_fine(void **state)
{
    (void)state;
    assert_takes(GATHERV, (a.displs = apart, a.sendbuf = out + N));
    assert_takes(ALLGATHERV, (a.displs = apart, a.sendbuf = out + N));
    assert_takes(ALLGATHERV, (a.displs = apart, a.sendbuf = out + 2 * N));
    assert_takes(ALLTOALLV, (a.displs = apart, a.sendbuf = out + N));
    assert_takes(SCATTERV, (a.displs = apart, a.recvbuf = in + N + 1));
}

static void data_in_a_gap_of_the_result_is_sent(void **state)
{
    int32_t memory[RANKS][4 * N];
    struct arguments a[RANKS] = {right(), right()};

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < 4 * N; i++)
            memory[r][i] = 1000 * r + i;
        a[r].recvbuf = memory[r];
        a[r].sendbuf = memory[r] + N;
        a[r].displs = apart;
    }
    run(&job, ALLGATHERV, a);
    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < N; i++) {
            assert_int_equal(memory[r][3 * N + i], N + i); /* rank 0's block */
            assert_int_equal(memory[r][i], 1000 + N + i);
            assert_int_equal(memory[r][N + i], 1000 * r + N + i);
            assert_int_equal(memory[r][2 * N + i], 1000 * r + 2 * N + i);
        }
    }
}

/* Blocks may be separate arrays: with RCX_BYTE, displacements are the distances
 * from the lowest array. */
static void separate_arrays_are_blocks(void **state)
{
    const size_t counts[RANKS] = {3, 500};
    struct arguments a[RANKS] = {right(), right()};
    unsigned char *arrays[RANKS][RANKS], given[500];
    size_t displs[RANKS][RANKS];

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        unsigned char *lowest = NULL;

        for (int k = 0; k < RANKS; k++) {
            arrays[r][k] = malloc(counts[k]);
            if (!lowest || arrays[r][k] < lowest)
                lowest = arrays[r][k];
        }
        for (int k = 0; k < RANKS; k++)
            displs[r][k] = (size_t)(arrays[r][k] - lowest);
        a[r].type = RCX_BYTE;
        a[r].sendbuf = given + r;
        a[r].recvbuf = lowest;
        a[r].blocks = counts;
        a[r].displs = displs[r];
    }
    a[1].sendbuf = given;
    for (int i = 0; i < 500; i++)
        given[i] = (unsigned char)(7 * i);
    run(&job, ALLGATHERV, a);
    for (int r = 0; r < RANKS; r++) {
        for (int k = 0; k < RANKS; k++) {
            assert_memory_equal(arrays[r][k], given, counts[k]);
            free(arrays[r][k]);
        }
    }
}

/* ---- Overlapping blocks -------------------------------------------------- */

static void blocks_of_a_result_that_overlap_are_refused(void **state)
{
    static const enum collective moves[] = {GATHERV, ALLGATHERV, ALLTOALLV};
    static const size_t by_one[RANKS] = {0, N - 1}, back[RANKS] = {N - 1, 0};
    static const size_t same[RANKS] = {5, 5};
    static const size_t inner[RANKS] = {3, 0}, short_one[RANKS] = {1, N};

    (void)state;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        assert_refuses(moves[i], a.displs = by_one, "displs", "blocks 0", "1",
                       "overlap");
        assert_refuses(moves[i], a.displs = back, "displs", "blocks 1",
                       "overlap");
        assert_refuses(moves[i], a.displs = same, "displs", "overlap");
        assert_refuses(moves[i],
                       (a.displs = inner, a.blocks = a.sendcounts = short_one),
                       "displs", "blocks 1", "overlap");
    }
    assert_refuses(ALLTOALLV, a.displs = by_one, "recvdispls");
    assert_refuses(ALLTOALLV, (a.sendbuf = RCX_IN_PLACE, a.displs = by_one),
                   "recvdispls");
}

/* Blocks 0 and 4 of 5 overlap: not only neighbours in rank order are
 * compared. */
static void any_two_blocks_of_many_are_found(void **state)
{
    enum { P = 5 };
    static const size_t at[P] = {40, 0, 20, 10, 46}; /* 0 and 4 */
    static const size_t apart_again[P] = {40, 0, 20, 10, 48};
    struct job many;
    struct job_options options = {.seed = 1};
    static rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};

    (void)state;
    options.params = &params;
    open_with(&many, P, NULL, NULL, &options);
    assert_refuses(ALLGATHERV, (a.comm = world_of(&many, 2), a.displs = at),
                   "blocks 0", "(elements 40 to 47", "and 4", "(46 to 53");
    assert_takes(ALLGATHERV,
                 (a.comm = world_of(&many, 2), a.displs = apart_again));
    assert_ok(job_close(&many));
}

static void blocks_that_do_not_overlap_are_fine(void **state)
{
    static const size_t by_one[RANKS] = {0, N - 1}, touch[RANKS] = {N, 0};
    static const size_t inside[RANKS] = {3, 0}, empty[RANKS] = {0, N};

    (void)state;
    assert_takes(GATHERV, a.displs = touch);
    assert_takes(GATHERV, (a.displs = by_one, a.root = 1)); /* not the root */
    assert_takes(ALLGATHERV, (a.displs = inside, a.blocks = empty));
    assert_takes(ALLTOALLV, a.displs = touch);
}

/* Blocks that are only read may overlap: both ranks of a scatterv get elements
 * of the same memory. */
static void blocks_of_an_operand_may_overlap(void **state)
{
    static const size_t displs[RANKS] = {2, 1};
    struct arguments a[RANKS] = {right(), right()};
    int32_t got[RANKS][N];

    (void)state;
    for (int i = 0; i < 2 * N; i++)
        in[i] = 100 + i;
    for (int r = 0; r < RANKS; r++) {
        a[r].recvbuf = got[r];
        a[r].displs = displs;
    }
    run(&job, SCATTERV, a);
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < N; i++)
            assert_int_equal(got[r][i], 100 + (int)displs[r] + i);
}

/* ---- Memory that a call must not write ----------------------------------- */

enum { LONG = 50000 };

static void run_all_algorithms(enum rcx_coll coll,
                               void (*check)(struct job *j, size_t count))
{
    static const int sizes[] = {2, MOST};

    for (int i = 0; i < 2; i++) {
        struct job j;

        open_with(&j, sizes[i], NULL, NULL, NULL);
        for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
            struct rcx_shape shape = {.coll = coll, .size = sizes[i]};

            if ((*a)->coll != coll)
                continue;
            rcx_params_reset(*a, shape.params);
            if (!rcx_algo_fits(*a, &shape))
                continue;
            job_force(&j, *a, SIZE_MAX);
            check(&j, 3);
            check(&j, LONG);
        }
        job_unforce(&j, coll);
        assert_ok(job_close(&j));
    }
}

static void exscan_once(struct job *j, size_t count)
{
    static int32_t given[LONG], got[MOST][LONG], kept[LONG];
    struct arguments a[MOST];

    for (int r = 0; r < j->size; r++)
        a[r] = (struct arguments){.sendbuf = given,
                                  .recvbuf = got[r],
                                  .count = count,
                                  .type = RCX_INT32,
                                  .op = RCX_SUM};
    for (size_t i = 0; i < LONG; i++) {
        given[i] = (int32_t)(i % 1000);
        kept[i] = got[0][i] = -(int32_t)i;
    }
    run(j, EXSCAN, a);
    assert_memory_equal(got[0], kept, sizeof kept);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(got[j->size - 1][i], (j->size - 1) * given[i]);
    a[0].recvbuf = NULL;
    run(j, EXSCAN, a);
    for (int r = 0; r < j->size; r++) /* rank 0 keeps its operand */
        memcpy(got[r], given, sizeof given);
    for (int r = 0; r < j->size; r++) {
        a[r].recvbuf = got[r];
        a[r].sendbuf = RCX_IN_PLACE;
    }
    run(j, EXSCAN, a);
    assert_memory_equal(got[0], given, sizeof given);
    assert_int_equal(got[j->size - 1][count - 1],
                     (j->size - 1) * given[count - 1]);
}

static void exscan_leaves_the_result_of_rank_0_unchanged(void **state)
{
    (void)state;
    run_all_algorithms(RCX_COLL_EXSCAN, exscan_once);
}

static void bcast_once(struct job *j, size_t count)
{
    const size_t bytes = LONG * sizeof(int32_t);
    static int32_t got[MOST][LONG];
    int32_t *given = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int root = j->size / 2;
    struct arguments a[MOST];

    assert_true(given != MAP_FAILED);
    for (size_t i = 0; i < LONG; i++)
        given[i] = (int32_t)(3 * i);
    assert_int_equal(mprotect(given, bytes, PROT_READ), 0);
    for (int r = 0; r < j->size; r++)
        a[r] = (struct arguments){.recvbuf = r == root ? given : got[r],
                                  .count = count,
                                  .type = RCX_INT32,
                                  .root = root};
    memset(got, 0, sizeof got);
    run(j, BCAST, a);
    for (int r = 0; r < j->size; r++)
        if (r != root)
            assert_memory_equal(got[r], given, count * sizeof **got);
    munmap(given, bytes);
}

/* The root's buffer is in memory that is read-only, so a write would end the
 * test. */
static void bcast_does_not_write_at_the_root(void **state)
{
    (void)state;
    run_all_algorithms(RCX_COLL_BCAST, bcast_once);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(counts_that_are_missing_are_named),
        TEST(buffers_that_are_missing_are_named),
        TEST(buffers_that_are_ignored_may_be_missing),
        TEST(the_in_place_mark_is_refused_where_it_means_nothing),
        TEST(in_place_it_is_the_other_buffer_that_is_missing),
        TEST(sums_that_overflow_are_refused),
        TEST(a_block_to_itself_has_equal_send_and_receive_counts),
        TEST(a_sendbuf_over_part_of_a_block_is_refused),
        TEST(a_sendbuf_in_a_gap_is_fine),
        TEST(data_in_a_gap_of_the_result_is_sent),
        TEST(separate_arrays_are_blocks),
        TEST(blocks_of_a_result_that_overlap_are_refused),
        TEST(any_two_blocks_of_many_are_found),
        TEST(blocks_that_do_not_overlap_are_fine),
        TEST(blocks_of_an_operand_may_overlap),
        TEST(exscan_leaves_the_result_of_rank_0_unchanged),
        TEST(bcast_does_not_write_at_the_root),
    };

    return cmocka_run_group_tests_name("api_blocks", tests, NULL, NULL);
}
