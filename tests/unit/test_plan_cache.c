/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan cache: hits, misses and evictions, and pinned programs. A call that
 * was made before must allocate nothing: the linker redirects all heap calls to
 * counters in this file.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "core/run/request/exact_stages.h"

/* ---- Counters of heap calls ---------------------------------------------- */

static unsigned long heap_calls;

#define WRAP(result, name, parameters, arguments)                              \
    result __real_##name parameters;                                           \
    result __wrap_##name parameters;                                           \
    result __wrap_##name parameters                                            \
    {                                                                          \
        heap_calls++;                                                          \
        return __real_##name arguments;                                        \
    }

WRAP(void *, malloc, (size_t bytes), (bytes))
WRAP(void *, calloc, (size_t n, size_t bytes), (n, bytes))
WRAP(void *, realloc, (void *ptr, size_t bytes), (ptr, bytes))
WRAP(void *, aligned_alloc, (size_t unit, size_t bytes), (unit, bytes))
WRAP(int, posix_memalign, (void **ptr, size_t unit, size_t bytes),
     (ptr, unit, bytes))
WRAP(void, free, (void *ptr), (ptr))

/* ---- The cache of one rank ----------------------------------------------- */

static rcx_context_t *context;
static rcx_comm_t *comm;
static int64_t in[4096], out[4096];

static void open_single(const char *limit)
{
    if (limit)
        setenv("RCX_PLAN_CACHE", limit, 1);
    assert_ok(rcx_init(NULL, &context));
    unsetenv("RCX_PLAN_CACHE");
    comm = rcx_world(context);
}

static void close_single(void)
{
    assert_ok(rcx_finalize(&context));
}

static void sum(size_t count)
{
    assert_ok(rcx_allreduce(in, out, count, RCX_INT64, RCX_SUM, comm));
}

static int entries(void)
{
    int n = 0;

    for (const struct rcx_program *e = comm->cache->recent; e; e = e->older)
        n++;
    return n;
}

/* The sizes of all entries must add up to the cache's size. */
static void check_bytes(void)
{
    size_t bytes = 0;

    for (const struct rcx_program *e = comm->cache->recent; e; e = e->older)
        bytes += e->bytes;
    assert_int_equal(comm->cache->bytes, bytes);
}

static void the_same_shape_is_found_again(void **state)
{
    (void)state;
    open_single(NULL);
    sum(10);
    assert_int_equal(comm->cache->misses, 1);
    assert_int_equal(comm->hits, 0);
    sum(10);
    sum(11);
    sum(10);
    assert_int_equal(comm->cache->misses, 2);
    assert_int_equal(comm->hits, 2);
    assert_int_equal(entries(), 2);
    check_bytes();
    close_single();
}

static void every_field_of_a_shape_distinguishes_plans(void **state)
{
    const size_t eight = 8;
    uint64_t misses = 0;

    (void)state;
    open_single(NULL);
#define assert_new(call)                                                       \
    do {                                                                       \
        for (int i = 0; i < 2; i++)                                            \
            assert_ok(call);                                                   \
        assert_int_equal(comm->cache->misses, ++misses);                       \
    } while (0)
    assert_new(rcx_allreduce(in, out, 8, RCX_INT64, RCX_SUM, comm));
    assert_new(rcx_allreduce(in, out, 9, RCX_INT64, RCX_SUM, comm));
    assert_new(rcx_allreduce(in, out, 8, RCX_UINT64, RCX_SUM, comm));
    assert_new(rcx_allreduce(in, out, 8, RCX_INT64, RCX_MAX, comm));
    assert_new(rcx_allreduce(out, out, 8, RCX_INT64, RCX_SUM, comm));
    assert_new(rcx_reduce(in, out, 8, RCX_INT64, RCX_SUM, 0, comm));
    assert_new(rcx_reduce_scatter_block(in, out, 8, RCX_INT64, RCX_SUM, comm));
    assert_new(rcx_reduce_scatter(in, out, &eight, RCX_INT64, RCX_SUM, comm));
    /* buffer addresses are not part of the shape */
    assert_ok(rcx_allreduce(in + 9, out + 3, 8, RCX_INT64, RCX_SUM, comm));
    assert_int_equal(comm->cache->misses, misses);
    close_single();
}

/* The last call's program is compared first and by a shorter path. A difference
 * in any one argument must be noticed there too. */
static void a_call_that_differs_in_one_field_is_another_plan(void **state)
{
    (void)state;
    open_single(NULL);
    for (int i = 0; i < 8; i++)
        in[i] = i + 1;
    assert_ok(rcx_allreduce(in, out, 8, RCX_INT32, RCX_SUM, comm));
    assert_ok(rcx_allreduce(in, out, 8, RCX_INT64, RCX_SUM, comm));
    assert_memory_equal(in, out, 8 * sizeof *in);
    assert_ok(rcx_allreduce(in, out, 8, RCX_INT64, RCX_MAX, comm));
    assert_ok(rcx_allreduce(in, out, 7, RCX_INT64, RCX_MAX, comm));
    assert_ok(rcx_allreduce(out, out, 7, RCX_INT64, RCX_MAX, comm));
    assert_ok(rcx_reduce(out, out, 7, RCX_INT64, RCX_MAX, 0, comm));
    assert_int_equal(comm->cache->misses, 6);
    assert_int_equal(comm->hits, 0);
    close_single();
}

static uint64_t misses_of(struct job *job)
{
    return rcx_world(job->contexts[1])->cache->misses;
}

static void recvcounts_and_roots_distinguish_plans(void **state)
{
    static const size_t first[] = {3, 3, 0}, second[] = {3, 0, 3};
    struct call call = {.coll = REDUCE_SCATTER, .blocks = first, .kind = &sums};
    struct job job;

    (void)state;
    open_with(&job, 3, NULL, NULL, NULL);
    for (int round = 0; round < 3; round++) {
        call.blocks = first;
        calls_run(&job, &call, false);
        call.blocks = second;
        calls_run(&job, &call, false);
        assert_int_equal(misses_of(&job), 2);
    }
    call.coll = REDUCE;
    call.count = 5;
    for (call.root = 0; call.root < 3; call.root++)
        calls_run(&job, &call, true);
    assert_int_equal(misses_of(&job), 5);
    assert_ok(job_close(&job));
}

static void the_least_recently_used_go_first(void **state)
{
    size_t one;

    (void)state;
    open_single(NULL);
    sum(1);
    one = comm->cache->bytes;
    assert_true(one > 0);
    comm->cache->limit = 4 * one; /* all plans are equal */
    for (size_t count = 2; count <= 4; count++)
        sum(count);
    assert_int_equal(comm->context->evictions, 0);
    sum(1); /* now 2 is the least recently used */
    sum(5);
    assert_int_equal(comm->context->evictions, 1);
    assert_int_equal(entries(), 4);
    sum(1);
    assert_int_equal(comm->cache->misses, 5);
    sum(2);
    assert_int_equal(comm->cache->misses, 6);
    check_bytes();
    close_single();
}

static void the_cache_stays_within_its_limit(void **state)
{
    (void)state;
    open_single("64K");
    for (size_t count = 1; count <= 2000; count++) {
        sum(count);
        assert_true(comm->cache->bytes <= 64 << 10);
    }
    assert_true(entries() > 1);
    assert_int_equal(comm->context->evictions, 2000 - entries());
    check_bytes();
    close_single();
}

static void a_limit_of_zero_keeps_nothing(void **state)
{
    (void)state;
    open_single("0");
    for (int i = 0; i < 3; i++)
        sum(7);
    assert_int_equal(comm->cache->misses, 3);
    assert_int_equal(comm->cache->bytes, 0);
    assert_int_equal(entries(), 0);
    close_single();
}

static void plans_that_requests_hold_are_kept(void **state)
{
    enum { HELD = 50 };
    rcx_request_t *requests[HELD];

    (void)state;
    open_single("0");
    for (size_t i = 0; i < HELD; i++)
        assert_ok(rcx_allreduce_init(in, out, i + 1, RCX_INT64, RCX_SUM, comm,
                                     &requests[i]));
    assert_int_equal(entries(), HELD);
    for (size_t count = 1000; count < 1100; count++)
        sum(count);
    assert_int_equal(entries(), HELD);
    for (int i = 0; i < HELD; i++) {
        in[i] = i + 100;
        out[i] = 0;
        assert_ok(rcx_start(requests[i]));
        assert_ok(rcx_wait(requests[i]));
        assert_int_equal(out[i], i + 100);
    }
    for (int i = 0; i < HELD; i++)
        assert_ok(rcx_request_free(&requests[i]));
    assert_int_equal(entries(), 0);
    assert_int_equal(comm->cache->bytes, 0);
    close_single();
}

/* ---- Repeated calls ------------------------------------------------------ */

static void a_repeated_call_of_a_single_process_allocates_nothing(void **state)
{
    static const size_t counts[] = {0, 1, 7, 4096};
    const size_t *n;

    (void)state;
    setenv("RCX_ALLREDUCE", "auto:segment=64,window=3", 1);
    open_single(NULL);
    unsetenv("RCX_ALLREDUCE");
    for (int round = 0; round < 4; round++) {
        const uint64_t calls = context->heap.calls;

        heap_calls = 0;
        for (n = counts; n < counts + 4; n++) {
            sum(*n);
            assert_ok(rcx_reduce(in, out, *n, RCX_INT64, RCX_SUM, 0, comm));
            assert_ok(rcx_reduce_scatter(in, out, n, RCX_INT64, RCX_SUM, comm));
            assert_ok(rcx_allreduce(RCX_IN_PLACE, out, *n, RCX_FLOAT64, RCX_AVG,
                                    comm));
        }
        if (round == 0)
            continue;
        assert_int_equal(context->heap.calls, calls);
        assert_int_equal(heap_calls, 0);
    }
    close_single();
}

static uint64_t calls_of(const struct job *job)
{
    uint64_t calls = 0;

    for (int i = 0; i < job->size; i++)
        calls += job->contexts[i]->heap.calls;
    return calls;
}

/* The heap calls of the simulated network, which holds more messages when ranks
 * wait. Each block was allocated by a call, and freed by another if it is not
 * live. */
static uint64_t heap_calls_of_network(const struct job *job)
{
    return 2 * job->sim_heap.calls - job->sim_heap.live;
}

static void repeat_persistent(int size, const char *method, size_t count,
                              const struct kind *kind)
{
    const struct call call = {.coll = ALLREDUCE, .count = count, .kind = kind};
    uint64_t before = 0, network;
    struct calls c;
    struct job job;

    open_with(&job, size, "RCX_ALLREDUCE", method, NULL);
    calls_open(&c, &job, &call);
    calls_make(&c, true);
    if (kind != &sums) { /* programs of stages depend on the numbers */
        calls_start(&c);
        calls_wait(&c, RCX_OK);
    }
    before = calls_of(&job);
    network = heap_calls_of_network(&job);
    heap_calls = 0;
    for (int i = 0; i < 30; i++) {
        calls_start(&c);
        calls_wait(&c, RCX_OK);
    }
    assert_int_equal(heap_calls, heap_calls_of_network(&job) - network);
    assert_int_equal(calls_of(&job), before); /* not even in the first start */
    calls_check(&c);
    calls_close(&c);
    assert_ok(job_close(&job));
}

static void a_persistent_call_allocates_nothing_once_it_is_made(void **state)
{
    static const char *const methods[] = {
        "recursive_doubling", "ring", "ring:segment=64,window=3",
        "recursive_doubling:segment=64,window=8", "ring:segment=512,window=2"};

    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        for (int size = 1; size <= 5; size++) {
            repeat_persistent(size, methods[i], 1, &sums);
            repeat_persistent(size, methods[i], 100, &sums);
            repeat_persistent(size, methods[i], 1001, &sums);
        }
    }
}

/* A block that is put back must be found again. If more than RCX_SCRATCH_IDLE
 * bytes are idle, an allocation of another size must free them. */
static void much_idle_scratch_is_freed_by_another_allocation(void **state)
{
    static const size_t sizes[] = {1 << 10, RCX_SCRATCH_IDLE / 2,
                                   RCX_SCRATCH_IDLE};
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_scratch scratch = {.idle = 0};

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        const size_t other = RCX_SCRATCH_IDLE / 4 >> turn;

        for (int i = 0; i < 3; i++) {
            void *block = rcx_scratch_get(&scratch, &heap, sizes[i]);

            assert_non_null(block);
            rcx_scratch_put(&scratch, block, sizes[i]);
            heap_calls = 0;
            assert_ptr_equal(rcx_scratch_get(&scratch, &heap, sizes[i]), block);
            assert_int_equal(heap_calls, 0);
            rcx_scratch_put(&scratch, block, sizes[i]);
        }
        assert_true(scratch.idle > RCX_SCRATCH_IDLE);
        rcx_scratch_put(&scratch, rcx_scratch_get(&scratch, &heap, other),
                        other);
        assert_int_equal(scratch.idle, other);
    }
    rcx_scratch_free(&scratch, &heap);
    assert_int_equal(scratch.idle, 0);
}

static void repeat_nonblocking(const char *method, size_t count,
                               const struct kind *kind)
{
    const struct call call = {.coll = ALLREDUCE, .count = count, .kind = kind};
    struct calls c;
    struct job job;
    uint64_t before = 0, network = 0;

    open_with(&job, 4, "RCX_ALLREDUCE", method, NULL);
    calls_open(&c, &job, &call);
    for (int i = 0; i < 30; i++) {
        calls_make(&c, false);
        calls_wait(&c, RCX_OK);
        for (int rank = 0; rank < 4; rank++)
            assert_ok(rcx_request_free(&c.requests[rank]));
        if (i > 0)
            continue;
        before = calls_of(&job);
        network = heap_calls_of_network(&job);
        heap_calls = 0;
    }
    assert_int_equal(heap_calls, heap_calls_of_network(&job) - network);
    assert_int_equal(calls_of(&job), before);
    calls_check(&c);
    calls_close(&c);
    assert_ok(job_close(&job));
}

static void a_repeated_nonblocking_call_allocates_nothing(void **state)
{
    (void)state;
    repeat_nonblocking("ring:segment=64,window=3", 333, &sums);
}

/* At once and in stages, with several chunks, and accumulators, which are
 * packed in short messages. */
static void repeated_exact_sums_allocate_nothing(void **state)
{
    enum { KINDS = 6 };
    static const struct kind some[KINDS] = {
        {.type = RCX_FLOAT32, .op = RCX_SUM_EXACT},
        {.type = RCX_FLOAT64, .op = RCX_SUM_EXACT},
        {.type = RCX_FLOAT64, .op = RCX_AVG_EXACT},
        {.type = RCX_BFLOAT16, .op = RCX_SUM_FLOAT},
        {.type = RCX_EXACT_FLOAT32, .op = RCX_SUM},
        {.type = RCX_EXACT_FLOAT64, .op = RCX_SUM}};
    static const char *const methods[] = {"auto", "ring",
                                          "pairwise:segment=512,window=3"};

    (void)state;
    for (int i = 0; i < KINDS * 3; i++) {
        const char *const method = methods[i / KINDS];
        const struct kind *const kind = &some[i % KINDS];

        repeat_persistent(4, method, 1, kind);
        repeat_persistent(3, method, 700, kind);
        repeat_nonblocking(method, 2, kind);
        repeat_nonblocking(method, 700, kind);
    }
    repeat_persistent(3, "ring", RCX_EXACT_CHUNK + 600, &some[0]);
    repeat_nonblocking("ring", RCX_EXACT_CHUNK + 600, &some[1]);
    repeat_persistent(3, "ring", RCX_EXACT_CHUNK + 600, &some[3]);
}

/* ---- Internal calls ------------------------------------------------------ */

static int add_int64(void *dst, const void *left, const void *right,
                     size_t count, rcx_datatype_t type, void *arg)
{
    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)dst)[i] =
            ((const int64_t *)left)[i] + ((const int64_t *)right)[i];
    return 0;
}

/* An allreduce with an op that may fail. It ends with an internal allreduce:
 * one int32, min, in place. */
static void sum_by_user_op(struct job *job)
{
    rcx_request_t *requests[MOST_RANKS];
    int64_t one = 1, sums[MOST_RANKS];
    rcx_op_t ops[MOST_RANKS];

    for (int i = 0; i < job->size; i++) {
        assert_ok(rcx_op_create(job->contexts[i], add_int64, RCX_OP_COMMUTATIVE,
                                NULL, &ops[i]));
        assert_ok(rcx_iallreduce(&one, &sums[i], 1, RCX_INT64, ops[i],
                                 world_of(job, i), &requests[i]));
    }
    assert_ok(job_wait(job, requests));
    for (int i = 0; i < job->size; i++) {
        assert_int_equal(sums[i], job->size);
        assert_ok(rcx_request_free(&requests[i]));
        assert_ok(rcx_op_free(job->contexts[i], &ops[i]));
    }
}

/* A user's allreduce of the same shape, in place on rank 0 only. It must not
 * use the program of the internal call. */
static void find_least(struct job *job)
{
    rcx_request_t *requests[MOST_RANKS];
    int32_t given[MOST_RANKS], least[MOST_RANKS];

    for (int i = 0; i < job->size; i++) {
        given[i] = least[i] = 10 + (i + 1) % job->size;
        assert_ok(rcx_iallreduce(i ? (void *)&given[i] : RCX_IN_PLACE,
                                 &least[i], 1, RCX_INT32, RCX_MIN,
                                 world_of(job, i), &requests[i]));
        assert_true(rcx_call_is_users(&requests[i]->program->call));
    }
    assert_ok(job_wait(job, requests));
    for (int i = 0; i < job->size; i++) {
        assert_int_equal(least[i], 10);
        assert_ok(rcx_request_free(&requests[i]));
    }
}

static void a_users_call_is_not_taken_for_an_internal_one(void **state)
{
    static const struct {
        const char *name, *value;
        int size;
    } cases[] = {{"RCX_CHECK", "full", 2}, {"RCX_ALLREDUCE", "ring", 4}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job;

        open_with(&job, cases[i].size, cases[i].name, cases[i].value, NULL);
        for (int k = 0; k < 2; k++) {
            sum_by_user_op(&job);
            find_least(&job);
        }
        assert_ok(job_close(&job));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_shape_is_found_again),
        cmocka_unit_test(every_field_of_a_shape_distinguishes_plans),
        cmocka_unit_test(a_call_that_differs_in_one_field_is_another_plan),
        cmocka_unit_test(recvcounts_and_roots_distinguish_plans),
        cmocka_unit_test(the_least_recently_used_go_first),
        cmocka_unit_test(the_cache_stays_within_its_limit),
        cmocka_unit_test(a_limit_of_zero_keeps_nothing),
        cmocka_unit_test(plans_that_requests_hold_are_kept),
        cmocka_unit_test(a_repeated_call_of_a_single_process_allocates_nothing),
        cmocka_unit_test(a_persistent_call_allocates_nothing_once_it_is_made),
        cmocka_unit_test(much_idle_scratch_is_freed_by_another_allocation),
        cmocka_unit_test(a_repeated_nonblocking_call_allocates_nothing),
        cmocka_unit_test(repeated_exact_sums_allocate_nothing),
        cmocka_unit_test(a_users_call_is_not_taken_for_an_internal_one),
    };

    return cmocka_run_group_tests_name("plan_cache", tests, NULL, NULL);
}
