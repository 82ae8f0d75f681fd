/* SPDX-License-Identifier: BSD-3-Clause */
/* User-defined ops and types: limits, reuse of handles, lifetime while
 * requests use them, and rejected arguments. Their results are tested in
 * test_api_ops.c. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "core/run/object/comm.h"
#include "core/run/object/context.h"
#include "core/run/plan/cache.h"

enum { LIMIT = 4096, MANY = 40000 };

static struct capture said;
static rcx_context_t *context;
static rcx_comm_t *comm;
static int32_t in[4] = {1, 2, 3, 4}, out[4];

static int set_up(void **state)
{
    static const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};

    (void)state;
    assert_ok(rcx_init(&params, &context));
    comm = rcx_world(context);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rcx_finalize(&context) == RCX_OK ? 0 : -1;
}

/* Store arg in all elements. */
static int constant(void *dst, const void *left, const void *right,
                    size_t count, rcx_datatype_t type, void *arg)
{
    (void)left, (void)right, (void)type;
    for (size_t i = 0; i < count; i++)
        ((int32_t *)dst)[i] = (int32_t)(intptr_t)arg;
    return 0;
}

static rcx_op_t create_op(intptr_t arg)
{
    rcx_op_t op = 0;

    assert_ok(
        rcx_op_create(context, constant, RCX_OP_COMMUTATIVE, (void *)arg, &op));
    return op;
}

static void at_most_4096_ops_live_at_once(void **state)
{
    static rcx_op_t ops[LIMIT];
    rcx_op_t one_more = 77;

    (void)state;
    for (int i = 0; i < LIMIT; i++) {
        ops[i] = create_op(i);
        assert_true(ops[i] >= RCX_AVG_FLOAT + 1);
    }
    assert_refused(&said, rcx_op_create(context, constant, 0, NULL, &one_more),
                   RCX_ERR_LIMIT, "4096");
    assert_int_equal(one_more, 77);
    assert_ok(rcx_op_free(context, &ops[1000]));
    assert_int_equal(ops[1000], 0);
    ops[1000] = create_op(1000);
    for (int i = 0; i < LIMIT; i++) { /* each must still be the same op */
        assert_ok(rcx_reduce_local(context, out, in, in, 1, RCX_INT32, ops[i]));
        assert_int_equal(out[0], i);
    }
}

static void at_most_4096_types_live_at_once(void **state)
{
    rcx_datatype_t type, last = 0;

    (void)state;
    for (size_t i = 0; i < LIMIT; i++) {
        assert_ok(rcx_type_create(context, i + 1, &type));
        assert_int_equal(rcx_registry_extent(&context->registry, type), i + 1);
        last = type;
    }
    assert_refused(&said, rcx_type_create(context, 1, &type), RCX_ERR_LIMIT,
                   "4096");
    assert_int_equal(type, last);
}

static void a_freed_handle_is_not_its_successor(void **state)
{
    rcx_op_t op = create_op(5), stale = op, next;

    (void)state;
    assert_ok(rcx_op_free(context, &op));
    assert_int_equal(op, 0);
    next = create_op(6);
    assert_int_not_equal(next, stale);
    assert_refused(&said,
                   rcx_reduce_local(context, out, in, in, 1, RCX_INT32, stale),
                   RCX_ERR_ARG, "op=");
    assert_refused(&said, rcx_op_free(context, &stale), RCX_ERR_ARG, "op=");
    assert_ok(rcx_reduce_local(context, out, in, in, 1, RCX_INT32, next));
    assert_int_equal(out[0], 6);
}

static void a_freed_op_is_refused_though_it_was_called_before(void **state)
{
    rcx_op_t op = create_op(5), stale = op;

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_allreduce(in, out, 4, RCX_INT32, op, comm));
    assert_ok(rcx_op_free(context, &op));
    assert_refused(&said, rcx_allreduce(in, out, 4, RCX_INT32, stale, comm),
                   RCX_ERR_ARG, "op=");
    assert_refused(&said, rcx_allreduce(in, out, 3, RCX_INT32, stale, comm),
                   RCX_ERR_ARG, "op=");
    assert_ok(rcx_allreduce(in, out, 4, RCX_INT32, RCX_SUM, comm));
}

static void a_freed_type_is_refused_though_it_was_used_before(void **state)
{
    rcx_datatype_t type, stale;

    (void)state;
    assert_ok(rcx_type_create(context, 4, &type));
    assert_ok(rcx_allreduce(in, out, 4, type, RCX_REPLACE, comm));
    stale = type;
    assert_ok(rcx_type_free(context, &type));
    assert_int_equal(type, 0);
    assert_refused(&said, rcx_allreduce(in, out, 4, stale, RCX_REPLACE, comm),
                   RCX_ERR_ARG, "datatype=");
}

/* When a handle is reused after many ops, the program of the first op must not
 * be found. */
static void a_handle_that_comes_again_means_the_new_op(void **state)
{
    struct rcx_program *entry;
    rcx_op_t first = create_op(1), op = first;
    const struct rcx_call call = {
        .coll = RCX_COLL_ALLREDUCE, .type = RCX_INT32, .op = first, .count = 4};

    (void)state;
    assert_ok(rcx_allreduce(in, out, 4, RCX_INT32, op, comm));
    assert_ok(rcx_op_free(context, &op));
    for (int i = 0; i < MANY; i++) {
        op = create_op(2);
        if (op == first)
            break;
        assert_ok(rcx_op_free(context, &op));
    }
    assert_int_equal(op, first);
    assert_ok(rcx_program_get(comm, &call, &entry));
    assert_int_equal((intptr_t)entry->combine.reducer.arg, 2);
    rcx_program_unpin(comm->cache, entry);
    assert_ok(rcx_op_free(context, &op));
}

static void ops_and_types_of_a_request_end_with_it(void **state)
{
    rcx_request_t *first, *second, *none = NULL;
    rcx_op_t op = create_op(9), stale_op = op;
    rcx_datatype_t type, stale;

    (void)state;
    assert_ok(rcx_type_create(context, 4, &type));
    stale = type;
    assert_ok(rcx_allreduce_init(in, out, 4, type, op, comm, &first));
    assert_ok(rcx_allreduce_init(in, out, 4, RCX_INT32, op, comm, &second));
    assert_ok(rcx_op_free(context, &op));
    assert_ok(rcx_type_free(context, &type));
    assert_int_equal(op + type, 0);
    for (int k = 0; k < 2; k++) { /* they must still work */
        assert_ok(rcx_start(first));
        assert_ok(rcx_wait(first));
        assert_ok(rcx_start(second));
        assert_ok(rcx_wait(second));
    }
    /* stale handles must be rejected, although plans for them exist */
    assert_refused(
        &said, rcx_allreduce_init(in, out, 4, RCX_INT32, stale_op, comm, &none),
        RCX_ERR_ARG, "op=");
    assert_refused(&said, rcx_allreduce(in, out, 4, RCX_INT32, stale_op, comm),
                   RCX_ERR_ARG, "op=");
    assert_refused(&said, rcx_allreduce(in, out, 4, stale, RCX_REPLACE, comm),
                   RCX_ERR_ARG, "datatype=");
    assert_refused(&said, rcx_op_free(context, &stale_op), RCX_ERR_ARG, "op=");
    assert_ok(rcx_request_free(&first));
    assert_ok(rcx_request_free(&second));
    assert_refused(&said, rcx_allreduce(in, out, 4, RCX_INT32, stale_op, comm),
                   RCX_ERR_ARG, "op=");
}

/* A slot must not be reused until the last request with its op is freed. */
static void a_slot_in_use_is_not_given_out(void **state)
{
    rcx_request_t *request;
    rcx_op_t first = create_op(1), op = first, next;

    (void)state;
    assert_ok(rcx_allreduce_init(in, out, 4, RCX_INT32, op, comm, &request));
    assert_ok(rcx_op_free(context, &op));
    next = create_op(2);
    assert_int_not_equal(next % LIMIT, first % LIMIT);
    assert_ok(rcx_request_free(&request));
    op = create_op(3);
    assert_int_equal(op % LIMIT, first % LIMIT);
    assert_int_not_equal(op, first);
}

static int is_consumed(rcx_op_t op, rcx_datatype_t type)
{
    static char a[64], b[64], c[64];

    capture_begin(&said);
    const rcx_status_t status = rcx_reduce_local(context, c, a, b, 1, type, op);
    capture_end(&said);
    return status == RCX_OK;
}

static void op_supported_agrees_with_what_calls_accept(void **state)
{
    rcx_op_t op = create_op(1);
    rcx_datatype_t type;
    int pairs = 0;

    (void)state;
    assert_ok(rcx_type_create(context, 8, &type));
    for (rcx_op_t o = -1; o <= RCX_AVG_FLOAT + 1; o++) {
        for (rcx_datatype_t t = -1; t <= RCX_UNSIGNED_LONG_LONG + 1; t++) {
            assert_int_equal(rcx_op_supported(o, t), is_consumed(o, t));
            pairs += rcx_op_supported(o, t);
        }
        assert_int_equal(rcx_op_supported(o, type), is_consumed(o, type));
    }
    assert_true(pairs > 34 && pairs < 15 * 34);
    assert_int_equal(rcx_op_supported(RCX_SUM, RCX_FLOAT64), 1);
    assert_int_equal(rcx_op_supported(RCX_SUM, RCX_BOOL), 0);
    assert_int_equal(rcx_op_supported(RCX_MAXLOC, RCX_2INT), 1);
    assert_int_equal(rcx_op_supported(RCX_REPLACE, type), 1);
    assert_int_equal(rcx_op_supported(RCX_SUM, type), 0);
    assert_int_equal(rcx_op_supported(op, type), 1);
    assert_int_equal(rcx_op_supported(op, RCX_BYTE), 1);
    assert_int_equal(rcx_op_supported(op, 0), 0);
}

/* Type and op are exchanged, predefined and user-defined: each call must be
 * rejected. */
static void a_type_is_no_op_and_an_op_is_no_type(void **state)
{
    int32_t x = 1, y = 2;
    rcx_datatype_t type;
    rcx_op_t op;

    (void)state;
    assert_ok(rcx_type_create(context, 4, &type));
    op = create_op(1);
    assert_refused(&said, rcx_allreduce(&x, &y, 1, RCX_SUM, RCX_INT32, comm),
                   RCX_ERR_ARG, "datatype=259: ");
    assert_refused(&said, rcx_bcast(&x, 1, RCX_SUM, 0, comm), RCX_ERR_ARG,
                   "it is an op");
    assert_refused(&said, rcx_allreduce(&x, &y, 1, RCX_INT32, RCX_INT32, comm),
                   RCX_ERR_ARG, "it is a datatype");
    assert_refused(&said, rcx_allreduce(&x, &y, 1, op, type, comm), RCX_ERR_ARG,
                   "datatype=");
    assert_refused(&said, rcx_allreduce(&x, &y, 1, type, type, comm),
                   RCX_ERR_ARG, "op=");
    assert_int_equal(y, 2);
    for (rcx_datatype_t t = -1; t < RCX_AVG + 2; t++)
        for (rcx_op_t o = -1; o < RCX_MAX; o++)
            assert_int_equal(rcx_op_supported(o, t), 0);
    assert_ok(rcx_type_free(context, &type));
    assert_ok(rcx_op_free(context, &op));
}

static void handles_that_users_did_not_create_cannot_be_freed(void **state)
{
    static const int bad[] = {-1, RCX_SUM, 4095, 4096, 1 << 30};
    int none = 0;

    (void)state;
    assert_ok(rcx_op_free(context, &none)); /* 0 is what a free leaves */
    assert_ok(rcx_type_free(context, &none));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int handle = bad[i];

        assert_refused(&said, rcx_op_free(context, &handle), RCX_ERR_ARG,
                       "op=");
        assert_refused(&said, rcx_type_free(context, &handle), RCX_ERR_ARG,
                       "datatype=");
        assert_int_equal(handle, bad[i]);
    }
}

static void invalid_ops_and_types_are_refused(void **state)
{
    rcx_op_t op = 0;
    rcx_datatype_t type = 0;

    (void)state;
    assert_refused(&said, rcx_op_create(context, NULL, 0, NULL, &op),
                   RCX_ERR_ARG, "fn=NULL");
    assert_refused(&said, rcx_op_create(context, constant, 8, NULL, &op),
                   RCX_ERR_ARG, "flags=0x8", "0x7");
    assert_refused(&said, rcx_type_create(context, 0, &type), RCX_ERR_ARG,
                   "extent_bytes=0");
    assert_int_equal(op + type, 0);
}

static void handles_that_are_never_freed_end_with_the_context(void **state)
{
    rcx_datatype_t type;

    (void)state;
    create_op(1);
    create_op(2);
    assert_ok(rcx_type_create(context, 3, &type));
    assert_ok(rcx_allreduce(in, out, 4, type, RCX_NO_OP, comm));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(at_most_4096_ops_live_at_once),
        TEST(at_most_4096_types_live_at_once),
        TEST(a_freed_handle_is_not_its_successor),
        TEST(a_freed_op_is_refused_though_it_was_called_before),
        TEST(a_freed_type_is_refused_though_it_was_used_before),
        TEST(a_handle_that_comes_again_means_the_new_op),
        TEST(ops_and_types_of_a_request_end_with_it),
        TEST(a_slot_in_use_is_not_given_out),
        TEST(op_supported_agrees_with_what_calls_accept),
        TEST(a_type_is_no_op_and_an_op_is_no_type),
        TEST(handles_that_users_did_not_create_cannot_be_freed),
        TEST(invalid_ops_and_types_are_refused),
        TEST(handles_that_are_never_freed_end_with_the_context),
    };

    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
