/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector lists (rcx_allreduce_many): the result must have the bits of one long
 * vector, only vectors that are not contiguous may be copied, and wrong lists
 * must be rejected. Results of other types and ops are tested by the row of
 * allreduce_many in tests/support/collectives.c.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "capture.h"
#include "core/run/request/veclist.h"

enum { RANKS = 3, ALL = 300, MOST = 6, ROOM = 4 * ALL };

/* ---- Lists --------------------------------------------------------------- */

/* How the vectors lie in memory: contiguous, with gaps, or in reverse order. */
enum lie { ROW, APART, BACKWARDS, LIES };

struct list {
    size_t n;
    size_t counts[MOST];
    const void *in[MOST];
    void *out[MOST];
    double memory[2][ROOM];
};

static const size_t cuts[][MOST] = {
    {ALL},       {1, ALL - 1}, {0, 100, 0, 0, 200, 0}, {50, 50, 50, 50, 50, 50},
    {299, 0, 1},
};
enum { CUTS = sizeof cuts / sizeof *cuts };

/* Start of vector i, in elements. */
static size_t place(const struct list *l, enum lie lie, size_t i)
{
    size_t at = lie == BACKWARDS ? ALL + MOST : 0;

    for (size_t k = 0; k < i; k++)
        at += lie == BACKWARDS ? 0 : l->counts[k] + (lie == APART);
    for (size_t k = 0; lie == BACKWARDS && k <= i; k++)
        at -= l->counts[k] + 1;
    return at;
}

static double number(int rank, size_t i)
{
    return 1.0 / (double)(1 + serial_mix((uint64_t)rank, i, 5) % 1000);
}

static void fill(struct list *l, int rank)
{
    size_t at = 0;

    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->counts[i]; k++)
            ((double *)l->in[i])[k] = number(rank, at++);
}

static void open_list(struct list *l, const size_t counts[MOST], enum lie in,
                      enum lie out, bool in_place)
{
    memset(l, 0, sizeof *l);
    l->n = MOST;
    memcpy(l->counts, counts, sizeof l->counts);
    for (size_t i = 0; i < MOST; i++) {
        l->out[i] = &l->memory[1][place(l, out, i)];
        l->in[i] = in_place ? l->out[i] : &l->memory[0][place(l, in, i)];
        if (counts[i] == 0) /* must be ignored */
            l->in[i] = l->out[i] = i % 2 ? NULL : RCX_IN_PLACE;
    }
}

/* The result of one long vector. */
static void reduce_whole(struct job *job, rcx_op_t op, double out[ALL])
{
    static double in[RANKS][ALL], outs[RANKS][ALL];
    rcx_request_t *requests[RANKS];

    for (int rank = 0; rank < RANKS; rank++) {
        for (size_t i = 0; i < ALL; i++)
            in[rank][i] = number(rank, i);
        assert_ok(rcx_iallreduce(in[rank], outs[rank], ALL, RCX_FLOAT64, op,
                                 world_of(job, rank), &requests[rank]));
    }
    assert_ok(job_wait(job, requests));
    for (int rank = 0; rank < RANKS; rank++)
        assert_ok(rcx_request_free(&requests[rank]));
    memcpy(out, outs[0], sizeof outs[0]);
}

static void check_list(const struct list *l, const double expected[ALL])
{
    size_t at = 0;

    for (size_t i = 0; i < l->n; i++) {
        if (l->counts[i] > 0)
            assert_memory_equal(l->out[i], expected + at,
                                l->counts[i] * sizeof(double));
        at += l->counts[i];
    }
    assert_int_equal(at, ALL);
}

static rcx_status_t start_list(struct list *l, rcx_op_t op, rcx_comm_t *comm,
                               rcx_request_t **request_p)
{
    return rcx_iallreduce_many(l->n, l->in, l->out, l->counts, RCX_FLOAT64, op,
                               comm, request_p);
}

/* ---- The same bits ------------------------------------------------------- */

static struct list lists[RANKS];

static void open_lists(size_t cut, enum lie in, enum lie out, int way)
{
    for (int rank = 0; rank < RANKS; rank++) {
        open_list(&lists[rank], cuts[(cut + (size_t)(way ? rank : 0)) % CUTS],
                  in, out, way == 2);
        fill(&lists[rank], rank);
    }
}

static void run_lists(struct job *job, rcx_op_t op, const double expected[ALL])
{
    rcx_request_t *requests[RANKS];

    for (int rank = 0; rank < RANKS; rank++)
        assert_ok(
            start_list(&lists[rank], op, world_of(job, rank), &requests[rank]));
    assert_ok(job_wait(job, requests));
    for (int rank = 0; rank < RANKS; rank++) {
        check_list(&lists[rank], expected);
        assert_ok(rcx_request_free(&requests[rank]));
    }
}

/* Run all lists: with the same cut on all ranks, with another cut on each rank,
 * and the latter in place. */
static void run_all_lists(const char *name, const char *value)
{
    static const rcx_op_t ops[] = {RCX_SUM, RCX_AVG};
    double expected[ALL];
    struct job job;

    open_with(&job, RANKS, name, value, NULL);
    for (size_t op = 0; op < 2; op++) {
        reduce_whole(&job, ops[op], expected);
        for (size_t i = 0; i < 3 * CUTS * LIES * LIES; i++) {
            open_lists(i / 3 % CUTS, (enum lie)(i / 3 / CUTS % LIES),
                       (enum lie)(i / 3 / CUTS / LIES), (int)(i % 3));
            run_lists(&job, ops[op], expected);
        }
    }
    assert_ok(job_close(&job));
}

static void a_list_has_the_bits_of_one_long_vector(void **state)
{
    (void)state;
    run_all_lists(NULL, NULL);
    run_all_lists("RCX_ALLREDUCE", "ring:segment=512,window=2");
    run_all_lists("RCX_ALLREDUCE", "recursive_doubling:segment=256,window=3");
    run_all_lists("RCX_ALLREDUCE", "direct");
    run_all_lists("RCX_CHECK", "full"); /* ranks' cuts may differ */
}

static void a_list_matches_a_vector_on_another_rank(void **state)
{
    double expected[ALL], in[ALL], out[ALL];
    rcx_request_t *requests[RANKS];
    struct job job;

    (void)state;
    open_with(&job, RANKS, "RCX_CHECK", "full", NULL);
    reduce_whole(&job, RCX_SUM, expected);
    open_lists(3, APART, BACKWARDS, 1);
    for (size_t i = 0; i < ALL; i++)
        in[i] = number(1, i);
    for (int rank = 0; rank < RANKS; rank++)
        if (rank != 1)
            assert_ok(start_list(&lists[rank], RCX_SUM, world_of(&job, rank),
                                 &requests[rank]));
    assert_ok(rcx_iallreduce(in, out, ALL, RCX_FLOAT64, RCX_SUM,
                             world_of(&job, 1), &requests[1]));
    assert_ok(job_wait(&job, requests));
    assert_memory_equal(out, expected, sizeof out);
    for (int rank = 0; rank < RANKS; rank++) {
        if (rank != 1)
            check_list(&lists[rank], expected);
        assert_ok(rcx_request_free(&requests[rank]));
    }
    assert_ok(job_close(&job));
}

/* After the creation of a persistent list its arrays are overwritten; before
 * each start its vectors get new data. */
static void a_persistent_list_is_packed_at_each_start(void **state)
{
    static struct list kept[RANKS];
    rcx_request_t *requests[RANKS];
    double expected[ALL];
    struct job job;

    (void)state;
    open_with(&job, RANKS, "RCX_ALLREDUCE", "ring:segment=512,window=2", NULL);
    reduce_whole(&job, RCX_SUM, expected);
    open_lists(2, BACKWARDS, APART, 1);
    memcpy(kept, lists, sizeof kept);
    for (int rank = 0; rank < RANKS; rank++) {
        struct list *l = &lists[rank];

        assert_ok(rcx_allreduce_many_init(
            l->n, l->in, l->out, l->counts, RCX_FLOAT64, RCX_SUM,
            world_of(&job, rank), &requests[rank]));
        /* for two segments in flight */
        assert_int_equal(requests[rank]->veclist->scratch_bytes, 2 * 512);
        memset(l, 0xff, offsetof(struct list, memory));
    }
    for (int round = 0; round < 3; round++) {
        for (int rank = 0; rank < RANKS; rank++) {
            memset(lists[rank].memory, round, sizeof lists[rank].memory);
            fill(&kept[rank], rank);
            assert_ok(rcx_start(requests[rank]));
        }
        assert_ok(job_wait(&job, requests));
        for (int rank = 0; rank < RANKS; rank++)
            check_list(&kept[rank], expected);
    }
    for (int rank = 0; rank < RANKS; rank++)
        assert_ok(rcx_request_free(&requests[rank]));
    assert_ok(job_close(&job));
}

/* ---- Copies -------------------------------------------------------------- */

/* Start a list in a context of one rank, where it completes at once. */
static struct rcx_request *look_at(rcx_context_t *context, size_t cut,
                                   enum lie in, enum lie out, bool in_place,
                                   rcx_request_t **request_p)
{
    open_list(&lists[0], cuts[cut], in, out, in_place);
    assert_ok(start_list(&lists[0], RCX_SUM, rcx_world(context), request_p));
    return *request_p;
}

static void only_vectors_that_are_not_contiguous_are_copied(void **state)
{
    rcx_context_t *context;
    rcx_request_t *request;

    (void)state;
    assert_ok(rcx_init(NULL, &context));
    for (size_t cut = 0; cut < CUTS; cut++) {
        const bool one = cut == 0;

        for (int k = 0; k < LIES * LIES * 2; k++) {
            const enum lie in = (enum lie)(k / 2 % LIES);
            const enum lie out = (enum lie)(k / 2 / LIES);
            const bool in_place = k % 2;
            const bool packs = !one && (in_place ? out : in) != ROW;
            const bool unpacks = !one && out != ROW;
            const struct rcx_request *r =
                look_at(context, cut, in, out, in_place, &request);

            char *at_in = r->stages[0].in, *at_out = r->stages[0].out;

            assert_int_equal(r->veclist != NULL, packs || unpacks);
            if (r->veclist) {
                assert_int_equal(r->veclist->packs, packs);
                assert_int_equal(r->veclist->unpacks, unpacks);
                assert_int_equal(r->veclist->scratch != NULL, unpacks);
                rcx_veclist_pack(r->veclist, 0, 0, ALL * sizeof(double), &at_in,
                                 &at_out);
            }
            if (!packs)
                assert_true(at_in == lists[0].in[cut == 2]);
            if (!unpacks)
                assert_true(at_out == lists[0].out[cut == 2]);
            assert_ok(rcx_request_free(&request));
        }
    }
    assert_ok(rcx_finalize(&context));
}

/* Elements 60 to 91 of six vectors of 50 lie within the second vector, so a
 * segment of these must be used where it is. */
static void a_segment_within_a_vector_is_not_copied(void **state)
{
    enum { AT = 60 * sizeof(double), BYTES = 32 * sizeof(double) };
    rcx_context_t *context;
    rcx_request_t *request;
    char *in, *out;

    (void)state;
    assert_ok(rcx_init(NULL, &context));
    for (int k = 0; k < LIES * LIES * 2; k++) {
        const struct rcx_request *r =
            look_at(context, 3, (enum lie)(k / 2 % LIES),
                    (enum lie)(k / 2 / LIES), k % 2, &request);

        fill(&lists[0], 1);
        if (r->veclist) {
            rcx_veclist_pack(r->veclist, 7, AT, BYTES, &in, &out);
            assert_ptr_equal(out, (double *)lists[0].out[1] + 10);
            if (k % 2 || !r->veclist->packs)
                assert_ptr_equal(in, (const double *)lists[0].in[1] + 10);
            for (size_t i = 0; i < 32; i++)
                assert_true(((double *)(void *)in)[i] == number(1, 60 + i));
        }
        assert_ok(rcx_request_free(&request));
    }
    assert_ok(rcx_finalize(&context));
}

static void call_all_forms(rcx_comm_t *comm, rcx_request_t *persistent)
{
    struct list *l = &lists[0];
    rcx_request_t *request;

    assert_ok(rcx_allreduce_many(l->n, l->in, l->out, l->counts, RCX_FLOAT64,
                                 RCX_SUM, comm));
    assert_ok(start_list(l, RCX_SUM, comm, &request));
    assert_ok(rcx_request_free(&request));
    assert_ok(rcx_start(persistent));
}

static void a_list_that_is_repeated_allocates_nothing(void **state)
{
    struct list *l = &lists[0];
    rcx_context_t *context;
    rcx_request_t *request;
    uint64_t calls;

    (void)state;
    assert_ok(rcx_init(NULL, &context));
    open_list(l, cuts[3], BACKWARDS, APART, false);
    assert_ok(rcx_allreduce_many_init(l->n, l->in, l->out, l->counts,
                                      RCX_FLOAT64, RCX_SUM, rcx_world(context),
                                      &request));
    call_all_forms(rcx_world(context), request);
    calls = context->heap.calls;
    for (int i = 0; i < 10; i++)
        call_all_forms(rcx_world(context), request);
    assert_int_equal(context->heap.calls, calls);
    assert_ok(rcx_request_free(&request));
    assert_ok(rcx_finalize(&context));
}

static void a_list_of_nothing_is_an_operation_of_nothing(void **state)
{
    static const size_t zeros[MOST];
    rcx_context_t *context;

    (void)state;
    assert_ok(rcx_init(NULL, &context));
    open_list(&lists[0], zeros, ROW, ROW, false);
    assert_ok(rcx_allreduce_many(MOST, lists[0].in, lists[0].out, zeros,
                                 RCX_FLOAT64, RCX_SUM, rcx_world(context)));
    assert_ok(rcx_allreduce_many(0, NULL, NULL, NULL, RCX_FLOAT64, RCX_SUM,
                                 rcx_world(context)));
    assert_ok(rcx_allreduce_many(0, RCX_IN_PLACE, NULL, NULL, RCX_FLOAT64,
                                 RCX_SUM, rcx_world(context)));
    assert_ok(rcx_finalize(&context));
}

/* ---- Errors -------------------------------------------------------------- */

/* After an abort, messages may still read or write the packed copy, so the
 * context must keep it, and must not unpack it. */
static void a_packed_copy_is_kept_when_its_communicator_fails(void **state)
{
    struct rcx_veclist *veclists[RANKS];
    rcx_request_t *requests[RANKS];
    struct job job;

    (void)state;
    open_with(&job, RANKS, NULL, NULL, NULL);
    open_lists(3, APART, APART, 0);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_ok(start_list(&lists[rank], RCX_SUM, world_of(&job, rank),
                             &requests[rank]));
        veclists[rank] = requests[rank]->veclist;
        memset(lists[rank].memory[1], 0x11, sizeof lists[rank].memory[1]);
    }
    for (int rank = 0; rank < RANKS; rank++)
        assert_ok(rcx_comm_abort(world_of(&job, rank)));
    for (int rank = 0; rank < RANKS; rank++) {
        const unsigned char *bytes = (void *)lists[rank].memory[1];

        assert_status(rcx_wait(requests[rank]), RCX_ERR_COMM_FAILED);
        assert_ok(rcx_request_free(&requests[rank]));
        assert_ptr_equal(job.contexts[rank]->veclists.kept, veclists[rank]);
        for (size_t i = 0; i < sizeof lists[rank].memory[1]; i++)
            assert_int_equal(bytes[i], 0x11); /* nothing is unpacked */
    }
    job_abandon(&job);
}

static struct capture said = {.asks_for_name = true};
static const rcx_params_t logged = {
    .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};

static void sums_of_counts_that_differ_are_a_mismatch(void **state)
{
    const struct job_options options = {.params = &logged, .seed = 1};
    rcx_request_t *requests[RANKS];
    rcx_error_info_t info;
    struct job job;

    (void)state;
    open_with(&job, RANKS, "RCX_CHECK", "full", &options);
    open_lists(3, APART, APART, 0);
    lists[1].counts[2]--;
    for (int rank = 0; rank < RANKS; rank++)
        assert_ok(start_list(&lists[rank], RCX_SUM, world_of(&job, rank),
                             &requests[rank]));
    job_wait(&job, requests);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_status(rcx_wait(requests[rank]), RCX_ERR_MISMATCH);
        assert_ok(rcx_request_free(&requests[rank]));
        assert_ok(rcx_comm_error(world_of(&job, rank), &info));
        assert_ok(info.status);
        assert_non_null(
            strstr(info.text, "count is 300 on rank 0 and 299 on rank 1"));
    }
    assert_ok(job_close(&job));
}

/* All three forms must reject the list with a line that contains word. */
static void refuse(rcx_comm_t *comm, const struct list *l, const void *in,
                   const void *out, const void *counts, const char *word)
{
    const void *const *sends = in;
    void *const *recvs = (void *const *)out;
    rcx_request_t *request = NULL;

    assert_refused(&said,
                   rcx_allreduce_many(l->n, sends, recvs, counts, RCX_FLOAT64,
                                      RCX_SUM, comm),
                   RCX_ERR_ARG, word);
    assert_refused(&said,
                   rcx_iallreduce_many(l->n, sends, recvs, counts, RCX_FLOAT64,
                                       RCX_SUM, comm, &request),
                   RCX_ERR_ARG, word);
    assert_refused(&said,
                   rcx_allreduce_many_init(l->n, sends, recvs, counts,
                                           RCX_FLOAT64, RCX_SUM, comm,
                                           &request),
                   RCX_ERR_ARG, word);
    assert_null(request);
}

static void a_wrong_argument_of_a_list_is_named(void **state)
{
    struct list *l = &lists[0];
    rcx_context_t *context;
    rcx_comm_t *comm;

    (void)state;
    assert_ok(rcx_init(&logged, &context));
    comm = rcx_world(context);
#define WRONG(change, in, out, counts, word)                                   \
    do {                                                                       \
        open_list(l, cuts[3], APART, APART, false);                            \
        change;                                                                \
        refuse(comm, l, in, out, counts, word);                                \
    } while (0)
    WRONG(, NULL, l->out, l->counts, "sendbufs=NULL");
    WRONG(, l->in, NULL, l->counts, "recvbufs=NULL");
    WRONG(, l->in, l->out, NULL, "counts=NULL");
    WRONG(, l->in, RCX_IN_PLACE, l->counts, "recvbufs=RCX_IN_PLACE");
    WRONG(l->in[2] = NULL, l->in, l->out, l->counts, "sendbufs[2]=NULL");
    WRONG(l->out[3] = NULL, l->in, l->out, l->counts, "recvbufs[3]=NULL");
    WRONG(l->out[3] = NULL, RCX_IN_PLACE, l->out, l->counts,
          "recvbufs[3]=NULL");
    WRONG(l->in[1] = RCX_IN_PLACE, l->in, l->out, l->counts,
          "sendbufs[1]=RCX_IN_PLACE");
    WRONG(l->out[1] = RCX_IN_PLACE, l->in, l->out, l->counts,
          "recvbufs[1]=RCX_IN_PLACE");
    WRONG(l->counts[4] = SIZE_MAX, l->in, l->out, l->counts, "overflows");
    WRONG(l->counts[4] = SIZE_MAX / 8, l->in, l->out, l->counts, "overflows");
    WRONG(l->counts[4] = SIZE_MAX / 16, l->in, l->out, l->counts, "overflows");
    WRONG(l->out[4] = l->out[2], l->in, l->out, l->counts, "overlap");
    WRONG(l->out[4] = (char *)l->out[2] + 8 * 49, l->in, l->out, l->counts,
          "recvbufs[4]");
    WRONG(l->in[4] = l->out[4], l->in, l->out, l->counts, "in all vectors");
    WRONG(l->in[0] = l->out[5], l->in, l->out, l->counts, "recvbufs[5]");
    open_list(l, cuts[3], APART, APART, false);
    l->in[4] = l->in[0]; /* operands may overlap */
    assert_ok(rcx_allreduce_many(l->n, l->in, l->out, l->counts, RCX_FLOAT64,
                                 RCX_SUM, comm));
    assert_refused(
        &said,
        rcx_allreduce_many(l->n, l->in, l->out, l->counts, 99, RCX_SUM, comm),
        RCX_ERR_ARG, "datatype=99");
    assert_refused(&said,
                   rcx_iallreduce_many(l->n, l->in, l->out, l->counts,
                                       RCX_FLOAT64, RCX_SUM, comm, NULL),
                   RCX_ERR_ARG, "request_p=NULL");
    assert_ok(rcx_finalize(&context));
}

/* ---- Random overlaps ----------------------------------------------------- */

static bool overlap(const char *a, size_t a_bytes, const char *b,
                    size_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* Whether l is legal by the definition in rcx.h. */
static bool is_legal(const struct list *l)
{
    bool in_place = true;

    for (size_t i = 0; i < l->n; i++)
        in_place &= l->counts[i] == 0 || l->in[i] == l->out[i];
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->n; k++) {
            if (l->counts[i] == 0 || l->counts[k] == 0)
                continue;
            if (i != k &&
                overlap(l->out[i], l->counts[i], l->out[k], l->counts[k]))
                return false;
            if (!(in_place && i == k) &&
                overlap(l->in[i], l->counts[i], l->out[k], l->counts[k]))
                return false;
        }
    return true;
}

static void draw(struct list *l, uint64_t seed)
{
    char *memory = (char *)l->memory;
    const bool in_place = seed % 3 == 0;

    l->n = seed % (MOST + 1);
    for (size_t i = 0; i < l->n; i++) {
        const uint64_t random = serial_mix(seed, i, 77);

        l->counts[i] = random % 7;
        l->out[i] = memory + (random >> 8) % 90;
        l->in[i] = in_place ? l->out[i] : memory + (random >> 24) % 200;
    }
}

static void every_illegal_overlap_of_vectors_is_found(void **state)
{
    enum { TRIES = 20000 };
    struct list *l = &lists[0];
    rcx_context_t *context;
    int legal = 0;

    (void)state;
    assert_ok(rcx_init(&logged, &context));
    for (uint64_t seed = 0; seed < TRIES; seed++) {
        const rcx_status_t expected =
            (draw(l, seed), is_legal(l)) ? RCX_OK : RCX_ERR_ARG;

        legal += expected == RCX_OK;
        assert_int_equal(rcx_allreduce_many(l->n, l->in, l->out, l->counts,
                                            RCX_INT8, RCX_SUM,
                                            rcx_world(context)),
                         expected);
    }
    assert_in_range(legal, TRIES / 10, TRIES - TRIES / 10);
    assert_ok(rcx_finalize(&context));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_has_the_bits_of_one_long_vector),
        cmocka_unit_test(a_list_matches_a_vector_on_another_rank),
        cmocka_unit_test(a_persistent_list_is_packed_at_each_start),
        cmocka_unit_test(only_vectors_that_are_not_contiguous_are_copied),
        cmocka_unit_test(a_segment_within_a_vector_is_not_copied),
        cmocka_unit_test(a_list_that_is_repeated_allocates_nothing),
        cmocka_unit_test(a_list_of_nothing_is_an_operation_of_nothing),
        cmocka_unit_test(a_packed_copy_is_kept_when_its_communicator_fails),
        cmocka_unit_test(sums_of_counts_that_differ_are_a_mismatch),
        cmocka_unit_test(a_wrong_argument_of_a_list_is_named),
        cmocka_unit_test(every_illegal_overlap_of_vectors_is_found),
    };

    return cmocka_run_group_tests_name("many", tests, NULL, NULL);
}
