/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions with user-defined ops and types, ops that fail, and the predefined
 * ops that are not plain kernels: replace, no-op and average. Results are
 * compared with a serial reduction; test_kernels.c has the other predefined
 * ops. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "capture.h"

enum { RANKS = 9 };

static struct capture said = {.asks_for_name = true};

/* ---- A non-commutative op: the product of 2x2 integer matrices ----------- */

struct matrix {
    uint32_t a, b, c, d;
};

static struct matrix multiply(struct matrix x, struct matrix y)
{
    return (struct matrix){x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d,
                           x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}

static void fill_matrix(const struct kind *kind, void *element, uint64_t random)
{
    const uint32_t r = (uint32_t)random, n = (uint32_t)(random >> 32);
    const struct matrix m = {r + 1, n + 2, 3 * r + n, 7 + r * n};

    (void)kind;
    memcpy(element, &m, sizeof m);
}

static void multiply_by_hand(const struct kind *kind, void *dst,
                             const void *left, const void *right)
{
    struct matrix x, y;

    (void)kind;
    memcpy(&x, left, sizeof x);
    memcpy(&y, right, sizeof y);
    x = multiply(x, y);
    memcpy(dst, &x, sizeof x);
}

/* arg of the op on each rank; counts its calls. */
struct seen {
    int calls;
    int fails_at; /* number of the call that fails, from 1; 0: none */
    rcx_datatype_t type;
    bool wrong;
};

static struct seen seen[MOST_RANKS];

static int multiply_all(void *dst, const void *left, const void *right,
                        size_t count, rcx_datatype_t type, void *arg)
{
    struct seen *mine = arg;

    if (mine < seen || mine >= seen + MOST_RANKS || count == 0 ||
        type != mine->type)
        seen[0].wrong = true;
    for (size_t i = 0; i < count; i++)
        multiply_by_hand(NULL, (struct matrix *)dst + i,
                         (const struct matrix *)left + i,
                         (const struct matrix *)right + i);
    return ++mine->calls == mine->fails_at;
}

/* Create the same op and type on all ranks. Their handles are equal, as all
 * ranks have created equally many before. */
static struct kind create_product(struct job *job, unsigned flags)
{
    struct kind kind = {.extent = sizeof(struct matrix),
                        .fill = fill_matrix,
                        .combine = multiply_by_hand};

    memset(seen, 0, sizeof seen);
    for (int i = 0; i < job->size; i++) {
        rcx_op_t op = 0;
        rcx_datatype_t type = 0;

        assert_ok(rcx_type_create(job->contexts[i], kind.extent, &type));
        assert_ok(rcx_op_create(job->contexts[i], multiply_all, flags, &seen[i],
                                &op));
        assert_true(i == 0 || (type == kind.type && op == kind.op));
        kind.type = seen[i].type = type;
        kind.op = op;
    }
    return kind;
}

static struct call product_call(const struct kind *kind, int i, int size)
{
    static const size_t recvcounts[] = {3, 0, 5, 1, 2, 0, 4, 1, 1};
    struct call call = {.coll = (enum collective)(i % COLLECTIVES),
                        .place = (enum place)(i / COLLECTIVES % (PLACES + 1)),
                        .root = i % size,
                        .count = (size_t)(i % 7),
                        .blocks = recvcounts,
                        .kind = kind};

    if (!collective_has_place(call.coll, call.place))
        call.place = SEPARATE;
    return call;
}

static void need_19_products_keep_the_order_of_ranks(void **state)
{
    static const unsigned flags[] = {0, RCX_OP_EXACT, RCX_OP_NO_FAIL};

    (void)state;
    for (int size = 1; size <= RANKS; size++) {
        struct job job;

        open_with(&job, size, NULL, NULL, NULL);
        for (int f = 0; f < 3; f++) {
            const struct kind kind = create_product(&job, flags[f]);

            for (int i = 0; i < 40; i++) {
                const struct call call = product_call(&kind, i, size);

                calls_run(&job, &call, i % 2);
            }
            assert_false(seen[0].wrong);
            assert_true(size == 1 || seen[size - 1].calls > 0);
        }
        assert_ok(job_close(&job));
    }
}

static void long_products_keep_the_order_of_ranks_in_segments(void **state)
{
    struct job job;
    struct kind kind;
    struct call call = {.coll = ALLREDUCE, .count = 1000};

    (void)state;
    open_with(&job, 6, "RCX_ALLREDUCE", "auto:segment=1K,window=3", NULL);
    kind = create_product(&job, 0);
    call.kind = &kind;
    calls_run(&job, &call, true);
    call.count = 100000; /* for a sum, the ring would be chosen */
    calls_run(&job, &call, false);
    assert_false(seen[0].wrong);
    assert_ok(job_close(&job));
}

/* ---- Failing ops --------------------------------------------------------- */

/* Each rank in turn fails in its next call of the op. Where that rank combines,
 * all ranks must get RCX_ERR_OP; otherwise all must succeed. Later calls must
 * work. */
static void run_failing(struct job *job, const struct kind *kind,
                        enum collective coll, int root)
{
    const size_t recvcounts[] = {3, 2, 5, 1, 2, 1, 4, 1, 1};
    const struct call call = {.coll = coll,
                              .root = root,
                              .count = 40,
                              .blocks = recvcounts,
                              .kind = kind};

    for (int failing = 0; failing < job->size; failing++) {
        const int before = seen[failing].calls;
        struct calls c;

        seen[failing].fails_at = before + 1;
        calls_open(&c, job, &call);
        calls_make(&c, false);
        job_wait(job, c.requests);
        for (int i = 0; i < job->size; i++) /* on all ranks alike */
            assert_status(c.requests[i]->status,
                          seen[failing].calls > before ? RCX_ERR_OP : RCX_OK);
        calls_close(&c);
        seen[failing].fails_at = 0;
        calls_run(job, &call, false);
        calls_run(job, &call, true);
    }
    assert_int_equal(rcx_sim_unmatched(job->sim), 0);
}

static void need_19_a_failing_op_fails_on_all_ranks(void **state)
{
    static rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    const struct job_options options = {.params = &params, .seed = 4};

    (void)state;
    for (int size = 2; size <= RANKS; size++) {
        struct kind kind;
        struct job job;

        open_with(&job, size, NULL, NULL, &options);
        kind = create_product(&job, 0);
        for (int coll = 0; coll < COLLECTIVES; coll++)
            for (int root = 0;
                 root <
                 (collective_is_rooted((enum collective)coll) ? size : 1);
                 root++)
                run_failing(&job, &kind, (enum collective)coll, root);
        assert_ok(job_close(&job));
    }
}

static void
a_failing_op_fails_segmented_and_persistent_calls_alike(void **state)
{
    static rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    static const struct rcx_tag_layout small = {2, 2, 2, 2, 22};
    const struct job_options options = {
        .params = &params, .seed = 5, .layout = &small};
    struct call call = {.coll = ALLREDUCE, .count = 100};
    struct kind kind;
    struct calls c;
    struct job job;

    (void)state;
    open_with(&job, 5, "RCX_ALLREDUCE",
              "recursive_doubling:segment=64,window=2", &options);
    kind = create_product(&job, 0);
    call.kind = &kind;
    calls_open(&c, &job, &call);
    calls_make(&c, true);
    for (int round = 0; round < 10; round++) {
        const bool fails = round % 2 == 0;

        seen[3].fails_at = fails ? seen[3].calls + 7 : 0;
        calls_fill(&c);
        calls_start(&c);
        job_wait(&job, c.requests);
        for (int i = 0; i < job.size; i++)
            assert_status(c.requests[i]->status, fails ? RCX_ERR_OP : RCX_OK);
        if (!fails)
            calls_check(&c);
    }
    calls_close(&c);
    assert_ok(job_close(&job));
}

static void a_failing_op_is_one_line_on_each_rank(void **state)
{
    static rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    const struct job_options options = {.params = &params};
    struct call call = {.coll = ALLREDUCE, .count = 3};
    struct kind kind;
    struct calls c;
    struct job job;

    (void)state;
    open_with(&job, 4, NULL, NULL, &options);
    kind = create_product(&job, 0);
    call.kind = &kind;
    seen[1].fails_at = 1;
    calls_open(&c, &job, &call);
    capture_begin(&said);
    calls_make(&c, false);
    calls_wait(&c, RCX_ERR_OP);
    capture_end(&said);
    assert_int_equal(said.host_lines, 4);
    assert_int_equal(said.stderr_lines, 0);
    assert_non_null(strstr(said.text, "allreduce"));
    calls_close(&c);
    assert_ok(job_close(&job));
}

static int always_fail(void *dst, const void *left, const void *right,
                       size_t count, rcx_datatype_t type, void *arg)
{
    (void)dst, (void)left, (void)right, (void)count, (void)type, (void)arg;
    return -1;
}

/* Many failing calls in flight, with tags that have few numbers, so that their
 * segments complete in any order. Each rank must log one line for each call. */
static void run_many_failing(struct job *job, unsigned flags)
{
    enum { MANY = 20 };
    static const size_t counts[] = {32, 16, 24, 8}; /* 1 to 4 segments */
    static struct calls c[MANY];
    struct kind kind = sums;
    struct call call = {.coll = ALLREDUCE, .kind = &kind};

    for (int i = 0; i < job->size; i++)
        assert_ok(rcx_op_create(job->contexts[i], always_fail, flags, NULL,
                                &kind.op));
    capture_begin(&said);
    for (int i = 0; i < MANY; i++) {
        call.count = counts[i % 4];
        calls_open(&c[i], job, &call);
        calls_make(&c[i], false);
    }
    for (int i = 0; i < MANY; i++)
        calls_wait(&c[i], RCX_ERR_OP);
    capture_end(&said);
    for (int i = 0; i < MANY; i++)
        calls_close(&c[i]);
    assert_int_equal(said.host_lines, MANY * job->size);
}

static void many_failing_ops_are_one_line_each(void **state)
{
    static rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    static const struct rcx_tag_layout small = {2, 2, 2, 2, 22};

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        const struct job_options options = {
            .params = &params, .seed = seed, .layout = &small};
        struct job job;

        open_with(&job, 4, "RCX_ALLREDUCE",
                  "recursive_doubling:segment=64,window=2", &options);
        run_many_failing(&job, 0);
        run_many_failing(&job, RCX_OP_NO_FAIL); /* the flag is false here */
        assert_ok(job_close(&job));
    }
}

static void a_failing_op_fails_a_local_reduction(void **state)
{
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    struct matrix m[3] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {0, 0, 0, 0}};
    const struct matrix expected = {19, 22, 43, 50};
    rcx_context_t *context;
    struct job job = {.size = 1, .contexts = &context};
    struct kind kind;

    (void)state;
    assert_ok(rcx_init(&params, &context));
    kind = create_product(&job, 0);
    assert_ok(
        rcx_reduce_local(context, &m[2], &m[0], &m[1], 1, kind.type, kind.op));
    assert_memory_equal(&m[2], &expected, sizeof expected);
    seen[0].fails_at = 2;
    assert_refused(
        &said,
        rcx_reduce_local(context, &m[2], &m[0], &m[1], 1, kind.type, kind.op),
        RCX_ERR_OP, "op");
    assert_ok(rcx_finalize(&context));
}

/* ---- User-defined types of any extent ------------------------------------ */

static void fill_bytes(const struct kind *kind, void *element, uint64_t random)
{
    for (size_t k = 0; k < kind->extent; k++)
        ((unsigned char *)element)[k] =
            (unsigned char)((random >> k % 8 * 8) + k * 5 + 1);
}

static void add_bytes(const struct kind *kind, void *dst, const void *left,
                      const void *right)
{
    const unsigned char *l = left, *r = right;
    unsigned char *d = dst;

    for (size_t k = 0; k < kind->extent; k++)
        d[k] = (unsigned char)(l[k] + r[k]);
}

static void run_kind(struct job *job, const struct kind *kind)
{
    for (int i = 0; i < 30; i++) {
        const struct call call = product_call(kind, i, job->size);

        if (collective_takes(call.coll, kind->op))
            calls_run(job, &call, i % 2);
    }
}

static void types_may_have_any_extent(void **state)
{
    static const size_t extents[] = {1, 2, 3, 12, 100, 1000};

    (void)state;
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++) {
        struct kind kind = {
            .extent = extents[e], .fill = fill_bytes, .combine = add_bytes};
        struct job job;

        open_with(&job, 5, "RCX_ALLREDUCE", "auto:segment=200", NULL);
        for (int i = 0; i < job.size; i++) {
            assert_ok(
                rcx_type_create(job.contexts[i], kind.extent, &kind.type));
            assert_ok(rcx_op_create(job.contexts[i], serial_user_op,
                                    RCX_OP_COMMUTATIVE, &kind, &kind.op));
        }
        run_kind(&job, &kind);
        assert_ok(job_close(&job));
    }
}

static void every_type_tells_its_size(void **state)
{
    static const size_t wanted[] = {
        [RCX_INT8] = 1,           [RCX_UINT64] = 8,
        [RCX_BFLOAT16] = 2,       [RCX_LONG_DOUBLE] = sizeof(long double),
        [RCX_BOOL] = 1,           [RCX_COMPLEX_DOUBLE] = 16,
        [RCX_SHORT_INT] = 8,      [RCX_UNSIGNED_LONG_LONG] = 8,
        [RCX_EXACT_FLOAT32] = 48, [RCX_EXACT_FLOAT64] = 536};
    struct job job;
    rcx_datatype_t type;
    size_t bytes = 0;

    (void)state;
    open_with(&job, 1, NULL, NULL, NULL);
    for (size_t t = 0; t < sizeof wanted / sizeof *wanted; t++) {
        if (!wanted[t])
            continue;
        assert_ok(rcx_type_size(NULL, (rcx_datatype_t)t, &bytes));
        assert_int_equal(bytes, wanted[t]);
        assert_ok(rcx_type_size(job.contexts[0], (rcx_datatype_t)t, &bytes));
        assert_int_equal(bytes, wanted[t]);
    }
    assert_ok(rcx_type_create(job.contexts[0], 77, &type));
    assert_ok(rcx_type_size(job.contexts[0], type, &bytes));
    assert_int_equal(bytes, 77);
    assert_refused(&said, rcx_type_size(NULL, type, &bytes), RCX_ERR_ARG,
                   "context");
    assert_refused(&said, rcx_type_size(job.contexts[0], RCX_SUM, &bytes),
                   RCX_ERR_ARG, "it is an op");
    assert_refused(&said, rcx_type_size(job.contexts[0], type, NULL),
                   RCX_ERR_ARG, "bytes_p");
    assert_int_equal(bytes, 77);
    assert_ok(rcx_type_free(job.contexts[0], &type));
    assert_ok(job_close(&job));
}

static void replace_and_no_op_take_the_last_and_the_first_rank(void **state)
{
    for (int size = 1; size <= RANKS; size++) {
        struct kind last = {.type = RCX_UINT16, .op = RCX_REPLACE};
        struct kind first = {.type = RCX_UINT16, .op = RCX_NO_OP};
        struct job job;

        (void)state;
        open_with(&job, size, NULL, NULL, NULL);
        run_kind(&job, &last); /* predefined type */
        run_kind(&job, &first);
        for (int i = 0; i < size; i++) /* user-defined type */
            assert_ok(rcx_type_create(job.contexts[i], 7, &last.type));
        first.type = last.type;
        last.extent = first.extent = 7;
        run_kind(&job, &last);
        run_kind(&job, &first);
        assert_ok(job_close(&job));
    }
}

/* ---- Averages ------------------------------------------------------------ */

/* The operands are integers, whose sum is exact in any order. So only the
 * division rounds, and each method must give the same result. */
static void an_average_is_the_sum_divided_once(void **state)
{
    static const struct kind average = {.type = RCX_FLOAT64, .op = RCX_AVG};
    static const char *const methods[] = {"auto", "ring",
                                          "ring:segment=64,window=3",
                                          "recursive_doubling:segment=24"};

    (void)state;
    for (int size = 1; size <= RANKS; size++) {
        for (int m = 0; m < 4; m++) {
            struct call call = {.coll = ALLREDUCE,
                                .count = 101,
                                .place = MIXED,
                                .kind = &average};
            struct job job;

            open_with(&job, size, "RCX_ALLREDUCE", methods[m], NULL);
            run_kind(&job, &average);
            calls_run(&job, &call, true);
            assert_ok(job_close(&job));
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(need_19_products_keep_the_order_of_ranks),
        cmocka_unit_test(long_products_keep_the_order_of_ranks_in_segments),
        cmocka_unit_test(need_19_a_failing_op_fails_on_all_ranks),
        cmocka_unit_test(
            a_failing_op_fails_segmented_and_persistent_calls_alike),
        cmocka_unit_test(a_failing_op_is_one_line_on_each_rank),
        cmocka_unit_test(many_failing_ops_are_one_line_each),
        cmocka_unit_test(a_failing_op_fails_a_local_reduction),
        cmocka_unit_test(types_may_have_any_extent),
        cmocka_unit_test(every_type_tells_its_size),
        cmocka_unit_test(replace_and_no_op_take_the_last_and_the_first_rank),
        cmocka_unit_test(an_average_is_the_sum_divided_once),
    };

    return cmocka_run_group_tests_name("api_ops", tests, NULL, NULL);
}
