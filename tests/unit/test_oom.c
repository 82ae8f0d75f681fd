/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each allocation in turn fails: the call must return RCX_ERR_NOMEM, without a
 * crash, a leak, or a rank that waits forever.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "bootstrap/bootstraps.h"
#include "calls.h"
#include "core/run/context/context.h"

enum { MOST = 4000, MOST_ROUNDS = 20000 };

static const rcx_params_t quiet = {.field_mask = RCX_PARAM_LOG,
                                   .log = lines_discard};

static int take_left(void *dst, const void *left, const void *right,
                     size_t count, rcx_datatype_t type, void *arg)
{
    (void)right, (void)type, (void)arg;
    memmove(dst, left, count * sizeof(int64_t));
    return 0;
}

/* ---- A single process ---------------------------------------------------- */

static rcx_status_t open_single(const struct rcx_boot_args *args, void *arg,
                                struct rcx_boot **boot_p)
{
    (void)arg;
    return rcx_boot_single.open(args, boot_p);
}

/* Make all kinds of calls, until one of them fails. */
static rcx_status_t use_all(rcx_context_t *context)
{
    static int64_t in[100], out[100];
    const size_t hundred = 100;
    rcx_comm_t *comm = rcx_world(context);
    rcx_request_t *request = NULL;
    rcx_datatype_t type;
    rcx_op_t op;
    void *memory, *peer;
    rcx_status_t status = rcx_type_create(context, sizeof in[0], &type);

    if (status == RCX_OK)
        status = rcx_op_create(context, take_left, 0, NULL, &op);
    if (status == RCX_OK)
        status = rcx_mem_alloc(comm, 10, &memory);
    if (status == RCX_OK)
        status = rcx_mem_peers(comm, memory, &peer);
    for (int i = 0; i < 2 * COLLECTIVES && status == RCX_OK; i++) {
        const struct arguments a = {.sendbuf = in,
                                    .recvbuf = out,
                                    .count = 100,
                                    .blocks = &hundred,
                                    .sendcounts = &hundred,
                                    .type = i % 2 ? type : RCX_INT64,
                                    .op = i % 2 ? op : RCX_SUM,
                                    .comm = comm};

        status = collective_call((enum collective)(i / 2), BLOCKING, &a, NULL);
    }
    if (status == RCX_OK)
        status = rcx_allreduce_init(in, out, 98, type, op, comm, &request);
    if (status != RCX_OK)
        return status;
    status = rcx_start(request);
    if (status == RCX_OK)
        status = rcx_wait(request);
    assert_ok(rcx_request_free(&request));
    return status;
}

static void a_single_process_survives_every_lack_of_memory(void **state)
{
    rcx_status_t status = RCX_ERR_NOMEM;
    uint64_t budget = 0;

    (void)state;
    for (; status != RCX_OK && budget < MOST; budget++) {
        const struct rcx_boot_source source = {.open = open_single,
                                               .heap_budget = budget,
                                               .layout = RCX_TAG_LAYOUT};
        rcx_context_t *context = NULL;

        status = rcx_context_create(&quiet, &source, &context);
        if (status != RCX_OK) {
            assert_status(status, RCX_ERR_NOMEM);
            assert_null(context);
            continue;
        }
        status = use_all(context);
        if (status != RCX_OK)
            assert_status(status, RCX_ERR_NOMEM);
        assert_ok(rcx_finalize(&context));
    }
    assert_ok(status);
    assert_true(budget > 20); /* number of allocations that failed */
}

/* A call that failed for lack of memory must succeed once there is enough. */
static void a_call_that_found_no_memory_may_be_made_again(void **state)
{
    static int64_t in[100] = {1, 2, 3}, out[100];
    rcx_status_t status = RCX_ERR_NOMEM;
    rcx_context_t *context;

    (void)state;
    assert_ok(rcx_init(&quiet, &context));
    for (uint64_t budget = 0; status != RCX_OK && budget < MOST; budget++) {
        context->heap.budget = budget;
        status =
            rcx_allreduce(in, out, 100, RCX_INT64, RCX_SUM, rcx_world(context));
        if (status != RCX_OK)
            assert_status(status, RCX_ERR_NOMEM);
    }
    assert_ok(status);
    assert_memory_equal(in, out, sizeof in);
    context->heap.budget = UINT64_MAX;
    assert_ok(rcx_finalize(&context));
}

/* ---- Several ranks ------------------------------------------------------- */

/* Whether all requests complete within MOST_ROUNDS rounds of progress. */
static bool completes(struct job *job, struct calls *c)
{
    for (int i = 0; i < MOST_ROUNDS; i++) {
        int active = 0;

        for (int rank = 0; rank < job->size; rank++) {
            rcx_progress(job->contexts[rank]);
            active += c->requests[rank]->state == RCX_REQUEST_ACTIVE;
        }
        if (active == 0)
            return true;
    }
    return false;
}

/*
 * Rank 1 has memory for budget more allocations. Either the creation of its
 * persistent request fails, or the request runs: all memory is allocated at
 * creation. Returns whether it was created.
 */
static bool run_short(struct job *job, const struct call *call, uint64_t budget)
{
    struct rcx_heap *heap = &job->contexts[1]->heap;
    struct calls c;
    rcx_status_t status;

    calls_open(&c, job, call);
    heap->budget = budget;
    status = calls_make_one(&c, 1, true);
    if (status == RCX_OK) {
        for (int rank = 0; rank < job->size; rank++)
            if (rank != 1)
                assert_ok(calls_make_one(&c, rank, true));
        calls_start(&c);
        assert_true(completes(job, &c));
        calls_wait(&c, RCX_OK);
        calls_check(&c);
    } else {
        assert_status(status, RCX_ERR_NOMEM);
        assert_null(c.requests[1]);
    }
    heap->budget = UINT64_MAX;
    calls_close(&c);
    return status == RCX_OK;
}

static void a_created_request_runs_without_more_memory(void **state)
{
    static const char *const methods[] = {
        "recursive_doubling", "ring", "ring:segment=256,window=3",
        "recursive_doubling:segment=512,window=2"};
    static const size_t recvcounts[] = {30, 0, 71};

    (void)state;
    for (int coll = 0; coll < COLLECTIVES; coll++) {
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            const struct call call = {.coll = (enum collective)coll,
                                      .root = 1,
                                      .count = 101,
                                      .blocks = recvcounts,
                                      .kind = &sums};
            uint64_t budget = 0;
            bool made = false;

            for (; !made && budget < MOST; budget++) {
                const struct job_options options = {.params = &quiet};
                struct job job;

                open_with(&job, 3, "RCX_ALLREDUCE", methods[m], &options);
                made = run_short(&job, &call, budget);
                assert_ok(job_close(&job));
            }
            assert_true(made);
            assert_true(budget > 5);
        }
    }
}

static rcx_status_t open_rank(const struct rcx_boot_args *args, void *arg,
                              struct rcx_boot **boot_p)
{
    return inproc_open(arg, 0, args, boot_p);
}

static void a_rank_that_cannot_be_created_leaves_nothing(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    rcx_context_t *context = NULL;
    uint64_t budget = 0;

    (void)state;
    for (; !context && budget < MOST; budget++) {
        struct inproc *inproc = inproc_create(&heap, 2);
        struct rcx_sim *sim = rcx_sim_create(&heap, 2, 1);
        const struct rcx_boot_source source = {.open = open_rank,
                                               .arg = inproc,
                                               .heap_budget = budget,
                                               .layout = RCX_TAG_LAYOUT,
                                               .transport =
                                                   rcx_sim_port(sim, 0)};
        const rcx_status_t status =
            rcx_context_create(&quiet, &source, &context);

        assert_status(status, context ? RCX_OK : RCX_ERR_NOMEM);
        if (context) {
            mark_failed(context->world); /* no peer exists */
            rcx_finalize(&context);
            budget = MOST;
        }
        rcx_sim_destroy(sim);
        inproc_destroy(inproc);
        assert_int_equal(heap.live, 0);
    }
    assert_int_equal(budget, MOST + 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_process_survives_every_lack_of_memory),
        cmocka_unit_test(a_call_that_found_no_memory_may_be_made_again),
        cmocka_unit_test(a_created_request_runs_without_more_memory),
        cmocka_unit_test(a_rank_that_cannot_be_created_leaves_nothing),
    };

    return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
