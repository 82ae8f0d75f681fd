/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong arguments of all functions: each call returns an error code and logs
 * one line, which names the argument and valid values. The communicator must
 * work as before. test_api_blocks.c has the arguments of collectives that move
 * data.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "capture.h"

enum { N = 8 };

static struct capture said = {.asks_for_name = true};
static struct job job; /* two ranks; rank 0 passes the wrong arguments */
static rcx_context_t *context;
static rcx_comm_t *comm;
static int32_t in[4 * N], out[4 * N];
static rcx_request_t *request;

static int set_up(void **state)
{
    static rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    const struct job_options options = {.params = &params, .seed = 3};

    (void)state;
    open_with(&job, 2, NULL, NULL, &options);
    context = job.contexts[0];
    comm = rcx_world(context);
    request = NULL;
    return 0;
}

/* After the errors of a test, no request must be left, and calls must work. */
static int tear_down(void **state)
{
    const struct call call = {.coll = ALLREDUCE, .count = 20, .kind = &sums};

    (void)state;
    assert_null(request);
    assert_int_equal(context->requests.live, 0);
    calls_run(&job, &call, false);
    assert_ok(job_close(&job));
    return 0;
}

static int fine(void *dst, const void *left, const void *right, size_t count,
                rcx_datatype_t type, void *arg)
{
    (void)dst, (void)left, (void)right, (void)count, (void)type, (void)arg;
    return 0;
}

/* All three forms of a call must return status. The blocking call is last, as
 * it would wait if it were accepted. */
#define assert_all_refused(name, status, arguments, ...)                       \
    do {                                                                       \
        assert_refused(&said, PERSISTENT(name, arguments), status,             \
                       __VA_ARGS__);                                           \
        assert_refused(&said, NONBLOCKING(name, arguments), status,            \
                       __VA_ARGS__);                                           \
        assert_refused(&said, BLOCKING(name, arguments), status, __VA_ARGS__); \
    } while (0)
#define UNPACK(...) __VA_ARGS__
#define BLOCKING(name, arguments) rcx_##name(UNPACK arguments)
#define NONBLOCKING(name, arguments) rcx_i##name(UNPACK arguments, &request)
#define PERSISTENT(name, arguments)                                            \
    rcx_##name##_init(UNPACK arguments, &request)

/* ---- Collectives --------------------------------------------------------- */

/* Every collective coll_ for which is_true holds must return status in every
 * form, and log a line that names its function. */
#define assert_all_refuse(is_true, status, arguments, ...)                     \
    do {                                                                       \
        for (int i_ = 0; i_ < COLLECTIVES * FORMS; i_++) {                     \
            const enum collective coll_ = (enum collective)(i_ / FORMS);       \
            char function_[48];                                                \
                                                                               \
            snprintf(function_, sizeof function_,                              \
                     "rcx_%s: ", collectives[coll_].name);                     \
            if (is_true)                                                       \
                assert_refused(&said,                                          \
                               collective_call(coll_,                          \
                                               (enum form)((i_ + 1) % FORMS),  \
                                               arguments, &request),           \
                               status, __VA_ARGS__, function_);                \
        }                                                                      \
    } while (0)

static const size_t equal_blocks[2] = {N, N};

/* Valid arguments of rank 0, for a test to change. */
static struct arguments some_arguments(void)
{
    return (struct arguments){.sendbuf = in,
                              .recvbuf = out,
                              .count = N,
                              .blocks = equal_blocks,
                              .sendcounts = equal_blocks,
                              .type = RCX_INT32,
                              .op = RCX_SUM,
                              .comm = comm};
}

static void a_null_communicator_is_refused(void **state)
{
    struct arguments a = some_arguments();

    (void)state;
    a.comm = NULL;
    assert_all_refuse(true, RCX_ERR_ARG, &a, "comm");
}

static void a_buffer_that_is_missing_is_named(void **state)
{
    const size_t counts[2] = {0, N}; /* rank 0 has no result */

    (void)state;
    assert_all_refused(allreduce, RCX_ERR_ARG,
                       (NULL, out, N, RCX_INT32, RCX_SUM, comm),
                       "sendbuf=NULL");
    assert_all_refused(allreduce, RCX_ERR_ARG,
                       (in, NULL, N, RCX_INT32, RCX_SUM, comm), "recvbuf=NULL");
    assert_all_refused(reduce, RCX_ERR_ARG,
                       (in, NULL, N, RCX_INT32, RCX_SUM, 0, comm),
                       "recvbuf=NULL");
    assert_all_refused(reduce, RCX_ERR_ARG,
                       (NULL, out, N, RCX_INT32, RCX_SUM, 1, comm),
                       "sendbuf=NULL");
    assert_all_refused(reduce_scatter, RCX_ERR_ARG,
                       (NULL, NULL, counts, RCX_INT32, RCX_SUM, comm),
                       "sendbuf=NULL");
    assert_all_refused(reduce_scatter, RCX_ERR_ARG,
                       (in, out, NULL, RCX_INT32, RCX_SUM, comm), "recvcounts");
    assert_all_refused(reduce_scatter_block, RCX_ERR_ARG,
                       (in, NULL, N, RCX_INT32, RCX_SUM, comm), "recvbuf=NULL");
}

static void in_place_it_is_recvbuf_that_is_missing(void **state)
{
    (void)state;
    assert_all_refused(allreduce, RCX_ERR_ARG,
                       (RCX_IN_PLACE, NULL, N, RCX_INT32, RCX_SUM, comm),
                       "recvbuf=NULL");
}

static void in_place_at_a_rank_that_receives_nothing_is_refused(void **state)
{
    (void)state;
    assert_all_refused(reduce, RCX_ERR_ARG,
                       (RCX_IN_PLACE, out, N, RCX_INT32, RCX_SUM, 1, comm),
                       "sendbuf=RCX_IN_PLACE", "root");
}

static void recvbuf_cannot_be_the_in_place_mark(void **state)
{
    (void)state;
    assert_all_refused(allreduce, RCX_ERR_ARG,
                       (in, RCX_IN_PLACE, N, RCX_INT32, RCX_SUM, comm),
                       "recvbuf");
}

static void a_number_that_is_no_type_is_refused(void **state)
{
    static const rcx_datatype_t bad[] = {0, -1, 37, 4095, 4096, 1 << 30};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct arguments a = some_arguments();

        a.type = bad[i];
        assert_all_refuse(collectives[coll_].gets != EXTENT_NONE, RCX_ERR_ARG,
                          &a, "datatype=", "1..36", "rcx_type_create");
    }
}

static void a_number_that_is_no_op_is_refused(void **state)
{
    static const rcx_op_t bad[] = {0, -1, 16, 256, 276, 4095, 4096, 1 << 30};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct arguments a = some_arguments();

        a.op = bad[i];
        assert_all_refuse(collectives[coll_].reduces, RCX_ERR_ARG, &a,
                          "op=", "257..275", "rcx_op_create");
    }
}

static void an_op_that_the_type_does_not_have_is_unsupported(void **state)
{
    rcx_datatype_t opaque;

    (void)state;
    assert_all_refused(allreduce, RCX_ERR_UNSUPPORTED,
                       (in, out, N, RCX_FLOAT32, RCX_BAND, comm), "band",
                       "float32");
    assert_all_refused(allreduce, RCX_ERR_UNSUPPORTED,
                       (in, out, N, RCX_INT32, RCX_AVG, comm), "avg", "int32");
    assert_all_refused(allreduce, RCX_ERR_UNSUPPORTED,
                       (in, out, N, RCX_FLOAT16, RCX_SUM_EXACT, comm),
                       "sum_exact", "float16");
    assert_all_refused(allreduce, RCX_ERR_UNSUPPORTED,
                       (in, out, N, RCX_FLOAT32, RCX_SUM_FLOAT, comm),
                       "sum_float", "float32");
    assert_all_refused(allreduce, RCX_ERR_UNSUPPORTED,
                       (in, out, 1, RCX_COMPLEX_FLOAT, RCX_MAX, comm), "max");
    assert_all_refused(reduce, RCX_ERR_UNSUPPORTED,
                       (in, out, 1, RCX_2INT, RCX_SUM, 0, comm), "2int");
    assert_ok(rcx_type_create(context, 4, &opaque));
    assert_all_refused(allreduce, RCX_ERR_UNSUPPORTED,
                       (in, out, N, opaque, RCX_SUM, comm), "sum", "user");
    assert_ok(rcx_type_free(context, &opaque));
}

static void a_root_out_of_range_is_refused(void **state)
{
    static const int bad[] = {-1, 2, 1000000};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct arguments a = some_arguments();

        a.root = bad[i];
        assert_all_refuse(collective_is_rooted(coll_), RCX_ERR_ARG, &a,
                          "root=", "0..1");
    }
}

static void buffers_that_overlap_by_part_are_refused(void **state)
{
    const size_t counts[2] = {2, 6};

    (void)state;
    assert_all_refused(allreduce, RCX_ERR_ARG,
                       (in, in + 1, N, RCX_INT32, RCX_SUM, comm), "sendbuf",
                       "recvbuf", "RCX_IN_PLACE");
    assert_all_refused(allreduce, RCX_ERR_ARG,
                       (in + 7, in, N, RCX_INT32, RCX_SUM, comm), "overlap");
    assert_all_refused(reduce, RCX_ERR_ARG,
                       (in, in + 7, N, RCX_INT32, RCX_SUM, 0, comm), "overlap");
    assert_all_refused(reduce_scatter_block, RCX_ERR_ARG,
                       (in, in + 15, N, RCX_INT32, RCX_SUM, comm), "overlap");
    assert_all_refused(reduce_scatter, RCX_ERR_ARG,
                       (in, in + 2, counts, RCX_INT32, RCX_SUM, comm),
                       "overlap"); /* with rank 1's block */
}

static void buffers_that_touch_are_fine(void **state)
{
    (void)state;
    capture_begin(&said);
    assert_ok(
        rcx_allreduce_init(in, in + N, N, RCX_INT32, RCX_SUM, comm, &request));
    assert_ok(rcx_request_free(&request));
    assert_ok(
        rcx_allreduce_init(in + N, in, N, RCX_INT32, RCX_SUM, comm, &request));
    assert_ok(rcx_request_free(&request));
    capture_end(&said);
    assert_string_equal(said.text, "");
}

static void sizes_beyond_all_memory_are_refused(void **state)
{
    const size_t many[2] = {SIZE_MAX, 2};
    const size_t wide[2] = {SIZE_MAX / 8, SIZE_MAX / 8};

    (void)state;
    assert_all_refused(allreduce, RCX_ERR_ARG,
                       (in, out, SIZE_MAX, RCX_INT32, RCX_SUM, comm),
                       "count=", "overflow");
    assert_all_refused(allreduce, RCX_ERR_ARG,
                       (in, out, SIZE_MAX / 8 + 1, RCX_INT64, RCX_SUM, comm),
                       "count=");
    assert_all_refused(allreduce, RCX_ERR_ARG,
                       (in, out, SIZE_MAX, RCX_INT8, RCX_SUM, comm), "count=");
    assert_all_refused(reduce_scatter_block, RCX_ERR_ARG,
                       (in, out, SIZE_MAX / 2 + 1, RCX_INT8, RCX_SUM, comm),
                       "count=");
    assert_all_refused(reduce_scatter, RCX_ERR_ARG,
                       (in, out, many, RCX_INT8, RCX_SUM, comm), "recvcounts",
                       "overflow");
    assert_all_refused(reduce_scatter, RCX_ERR_ARG,
                       (in, out, wide, RCX_INT32, RCX_SUM, comm), "recvcounts",
                       "overflow");
}

static void an_algorithm_that_breaks_the_order_is_unsupported(void **state)
{
    static rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    const struct job_options options = {.params = &params};
    struct job ring;

    (void)state;
    open_with(&ring, 3, "RCX_ALLREDUCE", "ring", &options);
    assert_refused(&said,
                   rcx_allreduce_init(in, out, N, RCX_INT32, RCX_REPLACE,
                                      rcx_world(ring.contexts[0]), &request),
                   RCX_ERR_UNSUPPORTED, "ring", "rank");
    assert_ok(job_close(&ring));
}

/* ---- Requests ------------------------------------------------------------ */

static void no_place_for_an_output_is_refused(void **state)
{
    (void)state;
    assert_refused(&said,
                   rcx_iallreduce(in, out, N, RCX_INT32, RCX_SUM, comm, NULL),
                   RCX_ERR_ARG, "request_p");
    assert_refused(
        &said, rcx_allreduce_init(in, out, N, RCX_INT32, RCX_SUM, comm, NULL),
        RCX_ERR_ARG, "request_p");
    assert_refused(&said, rcx_op_create(context, fine, 0, NULL, NULL),
                   RCX_ERR_ARG, "op_p");
    assert_refused(&said, rcx_type_create(context, 1, NULL), RCX_ERR_ARG,
                   "type_p");
    assert_refused(&said, rcx_mem_alloc(comm, 1, NULL), RCX_ERR_ARG, "ptr_p");
    assert_refused(&said, rcx_init(NULL, NULL), RCX_ERR_ARG, "context_p");
}

static void a_freed_request_is_refused(void **state)
{
    rcx_request_t *stale;
    int done = 7;

    (void)state;
    assert_ok(
        rcx_allreduce_init(in, out, N, RCX_INT32, RCX_SUM, comm, &request));
    stale = request;
    assert_ok(rcx_request_free(&request));
    assert_null(request);
    assert_refused(&said, rcx_start(stale), RCX_ERR_ARG, "request");
    assert_refused(&said, rcx_wait(stale), RCX_ERR_ARG, "request");
    assert_refused(&said, rcx_test(stale, &done), RCX_ERR_ARG, "request");
    assert_int_equal(done, 7);
    assert_null(rcx_request_method(stale));
    assert_refused(&said, rcx_request_free(&stale), RCX_ERR_ARG, "request");
    assert_non_null(stale);
}

static void only_a_persistent_request_can_be_started(void **state)
{
    const struct call call = {.coll = ALLREDUCE, .count = N, .kind = &sums};
    struct calls c;

    (void)state;
    calls_open(&c, &job, &call);
    calls_make(&c, false);
    assert_refused(&said, rcx_start(c.requests[0]), RCX_ERR_ARG, "request",
                   "_init");
    calls_wait(&c, RCX_OK);
    assert_refused(&said, rcx_start(c.requests[0]), RCX_ERR_ARG, "request",
                   "_init");
    calls_check(&c);
    calls_close(&c);
}

static void an_active_request_can_be_neither_started_nor_freed(void **state)
{
    const struct call call = {.coll = ALLREDUCE, .count = N, .kind = &sums};
    struct calls c;

    (void)state;
    calls_open(&c, &job, &call);
    calls_make(&c, true);
    assert_ok(rcx_start(c.requests[0]));
    assert_refused(&said, rcx_start(c.requests[0]), RCX_ERR_BUSY, "request",
                   "active");
    assert_refused(&said, rcx_request_free(&c.requests[0]), RCX_ERR_BUSY,
                   "request", "active");
    assert_non_null(c.requests[0]);
    assert_ok(rcx_start(c.requests[1]));
    calls_wait(&c, RCX_OK);
    calls_check(&c);
    calls_close(&c);
}

static void a_test_without_a_place_for_its_answer_is_refused(void **state)
{
    (void)state;
    assert_ok(
        rcx_allreduce_init(in, out, N, RCX_INT32, RCX_SUM, comm, &request));
    assert_refused(&said, rcx_test(request, NULL), RCX_ERR_ARG, "done_p");
    assert_ok(rcx_request_free(&request));
}

/* ---- Contexts ------------------------------------------------------------ */

static void a_context_with_live_requests_stays(void **state)
{
    rcx_context_t *same = context;

    (void)state;
    assert_ok(
        rcx_allreduce_init(in, out, N, RCX_INT32, RCX_SUM, comm, &request));
    assert_refused(&said, rcx_finalize(&same), RCX_ERR_BUSY, "1 request");
    assert_ptr_equal(same, context);
    assert_ok(rcx_request_free(&request));
}

static void memory_that_rcx_did_not_allocate_is_refused(void **state)
{
    void *ptr = NULL, *peer;

    (void)state;
    assert_refused(&said, rcx_mem_free(comm, in), RCX_ERR_ARG, "ptr=");
    assert_refused(&said, rcx_mem_alloc(NULL, 1, &ptr), RCX_ERR_ARG, "comm");
    assert_refused(&said, rcx_mem_alloc(comm, SIZE_MAX, &ptr), RCX_ERR_NOMEM,
                   "bytes=");
    assert_null(ptr);
    assert_ok(rcx_mem_alloc(comm, 0, &ptr));
    assert_refused(&said, rcx_mem_peers(NULL, ptr, &peer), RCX_ERR_ARG, "comm");
    assert_refused(&said, rcx_mem_peers(comm, ptr, NULL), RCX_ERR_ARG, "peers");
    assert_ok(rcx_mem_free(comm, ptr));
    assert_refused(&said, rcx_mem_free(comm, ptr), RCX_ERR_ARG, "ptr=");
}

static void memory_that_is_registered_is_known_once(void **state)
{
    static char own[100];
    void *ptr = NULL;

    (void)state;
    assert_refused(&said, rcx_mem_register(NULL, own, 1), RCX_ERR_ARG, "comm");
    assert_refused(&said, rcx_mem_deregister(NULL, own), RCX_ERR_ARG, "comm");
    assert_refused(&said, rcx_mem_register(comm, NULL, 1), RCX_ERR_ARG, "ptr");
    assert_refused(&said, rcx_mem_register(comm, own, SIZE_MAX), RCX_ERR_ARG,
                   "bytes=");
    assert_refused(&said, rcx_mem_deregister(comm, own), RCX_ERR_ARG, "ptr=");
    assert_ok(rcx_mem_register(comm, own + 10, 20));
    for (int at = 0; at < 40; at++)
        for (size_t bytes = 1; bytes < 30; bytes += 7) {
            const bool is_apart = at + (int)bytes <= 10 || at >= 30;

            if (!is_apart) {
                assert_refused(&said, rcx_mem_register(comm, own + at, bytes),
                               RCX_ERR_ARG, "ptr=", "overlaps");
                continue;
            }
            assert_ok(rcx_mem_register(comm, own + at, bytes));
            assert_ok(rcx_mem_deregister(comm, own + at));
        }
    assert_refused(&said, rcx_mem_free(comm, own + 10), RCX_ERR_ARG, "ptr=");
    assert_ok(rcx_mem_alloc(comm, 64, &ptr));
    assert_refused(&said, rcx_mem_register(comm, ptr, 1), RCX_ERR_ARG,
                   "overlaps");
    assert_refused(&said, rcx_mem_deregister(comm, ptr), RCX_ERR_ARG, "ptr=");
    assert_ok(rcx_mem_free(comm, ptr));
    assert_ok(rcx_mem_deregister(comm, own + 10));
    assert_refused(&said, rcx_mem_deregister(comm, own + 10), RCX_ERR_ARG,
                   "ptr=");
}

static void local_reductions_check_their_arguments(void **state)
{
    (void)state;
#define LOCAL(dst, left, right, count, type, op)                               \
    rcx_reduce_local(context, dst, left, right, count, type, op)
    assert_refused(&said, LOCAL(NULL, in, in, 1, RCX_INT32, RCX_SUM),
                   RCX_ERR_ARG, "dst=NULL");
    assert_refused(&said, LOCAL(out, NULL, in, 1, RCX_INT32, RCX_SUM),
                   RCX_ERR_ARG, "left=NULL");
    assert_refused(&said, LOCAL(out, in, NULL, 1, RCX_INT32, RCX_SUM),
                   RCX_ERR_ARG, "right=NULL");
    assert_refused(&said, LOCAL(in + 1, in, out, 2, RCX_INT32, RCX_SUM),
                   RCX_ERR_ARG, "dst", "overlap");
    assert_refused(&said, LOCAL(in + 1, out, in, 2, RCX_INT32, RCX_SUM),
                   RCX_ERR_ARG, "dst", "overlap");
    assert_refused(&said, LOCAL(out, in, in, SIZE_MAX, RCX_INT32, RCX_SUM),
                   RCX_ERR_ARG, "count=");
    assert_refused(&said, LOCAL(out, in, in, 1, 99, RCX_SUM), RCX_ERR_ARG,
                   "datatype=99");
    assert_refused(&said, LOCAL(out, in, in, 1, RCX_INT32, 99), RCX_ERR_ARG,
                   "op=99");
    assert_refused(&said, LOCAL(out, in, in, 1, RCX_BYTE, RCX_SUM),
                   RCX_ERR_UNSUPPORTED, "sum", "byte");
    assert_ok(LOCAL(NULL, NULL, NULL, 0, RCX_INT32, RCX_SUM));
}

static void where_a_context_is_known_its_log_gets_the_line(void **state)
{
    rcx_request_t *stale;
    const size_t *no_counts = NULL;
    int done;

    (void)state;
#define assert_host_logs(expr)                                                 \
    do {                                                                       \
        capture_begin(&said);                                                  \
        assert_true((expr) < 0);                                               \
        capture_end(&said);                                                    \
        assert_int_equal(said.stderr_lines, 0);                                \
        assert_int_equal(said.host_lines, 1);                                  \
        assert_int_equal(said.level, RCX_LOG_ERROR);                           \
    } while (0)
    assert_host_logs(rcx_allreduce(NULL, out, N, RCX_INT32, RCX_SUM, comm));
    assert_host_logs(
        rcx_iallreduce(in, out, N, RCX_INT32, RCX_SUM, comm, NULL));
    assert_host_logs(
        rcx_reduce_scatter(in, out, no_counts, RCX_INT32, RCX_SUM, comm));
    assert_host_logs(rcx_op_create(context, fine, 0, NULL, NULL));
    assert_host_logs(rcx_type_create(context, 1, NULL));
    assert_host_logs(rcx_op_free(context, NULL));
    assert_host_logs(rcx_mem_alloc(comm, 1, NULL));
    assert_ok(
        rcx_allreduce_init(in, out, N, RCX_INT32, RCX_SUM, comm, &request));
    assert_host_logs(rcx_test(request, NULL));
    stale = request;
    assert_ok(rcx_request_free(&request));
    assert_host_logs(rcx_wait(stale));
    assert_host_logs(rcx_test(stale, &done));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(a_null_communicator_is_refused),
        TEST(a_buffer_that_is_missing_is_named),
        TEST(in_place_it_is_recvbuf_that_is_missing),
        TEST(in_place_at_a_rank_that_receives_nothing_is_refused),
        TEST(recvbuf_cannot_be_the_in_place_mark),
        TEST(a_number_that_is_no_type_is_refused),
        TEST(a_number_that_is_no_op_is_refused),
        TEST(an_op_that_the_type_does_not_have_is_unsupported),
        TEST(a_root_out_of_range_is_refused),
        TEST(buffers_that_overlap_by_part_are_refused),
        TEST(buffers_that_touch_are_fine),
        TEST(sizes_beyond_all_memory_are_refused),
        TEST(an_algorithm_that_breaks_the_order_is_unsupported),
        TEST(no_place_for_an_output_is_refused),
        TEST(a_freed_request_is_refused),
        TEST(only_a_persistent_request_can_be_started),
        TEST(an_active_request_can_be_neither_started_nor_freed),
        TEST(a_test_without_a_place_for_its_answer_is_refused),
        TEST(a_context_with_live_requests_stays),
        TEST(memory_that_rcx_did_not_allocate_is_refused),
        TEST(memory_that_is_registered_is_known_once),
        TEST(local_reductions_check_their_arguments),
        TEST(where_a_context_is_known_its_log_gets_the_line),
    };

    return cmocka_run_group_tests_name("api_errors", tests, NULL, NULL);
}
