/* SPDX-License-Identifier: BSD-3-Clause */
/* Every function that takes a handle must reject NULL with a line that names
 * the handle. Collectives are in test_api_errors.c. */
#include "test.h"

#include "capture.h"

static struct capture said = {.asks_for_name = true};

static int fine(void *dst, const void *left, const void *right, size_t count,
                rcx_datatype_t type, void *arg)
{
    (void)dst, (void)left, (void)right, (void)count, (void)type, (void)arg;
    return 0;
}

static void a_null_request_is_refused(void **state)
{
    int done;

    (void)state;
    assert_refused(&said, rcx_start(NULL), RCX_ERR_ARG, "request");
    assert_refused(&said, rcx_wait(NULL), RCX_ERR_ARG, "request");
    assert_refused(&said, rcx_test(NULL, &done), RCX_ERR_ARG, "request");
    assert_refused(&said, rcx_request_free(NULL), RCX_ERR_ARG, "request");
    assert_refused(&said, rcx_wait_all(1, NULL), RCX_ERR_ARG, "requests");
}

static void a_null_handle_is_refused(void **state)
{
    rcx_comm_t *new;
    rcx_request_t *request;
    rcx_error_info_t error;
    rcx_recv_info_t info;
    const int ranks[] = {0};
    size_t index;
    int fd, in[1];

    (void)state;
#define assert_none(call) assert_refused(&said, call, RCX_ERR_ARG, "=(nil)")
    assert_none(rcx_wait_for(NULL, 1));
    assert_none(rcx_wait_any(1, NULL, &index));
    assert_none(rcx_test_any(1, NULL, &index));
    assert_none(rcx_request_set_callback(NULL, NULL, NULL));
    assert_none(rcx_request_recv_info(NULL, &info));
    assert_none(rcx_get_fd(NULL, &fd));
    assert_none(rcx_arm(NULL));
    assert_none(rcx_dump(NULL, "there"));
    assert_none(rcx_comm_set_timeout(NULL, 1));
    assert_none(rcx_comm_set(NULL, "RCX_CHECK", "off"));
    assert_none(rcx_comm_set_name(NULL, "solver"));
    assert_none(rcx_comm_set_data(NULL, NULL, NULL));
    assert_none(rcx_peer_failed(NULL, 0, NULL));
    assert_null(rcx_comm_name(NULL));
    assert_null(rcx_comm_data(NULL));
    assert_none(rcx_comm_abort(NULL));
    assert_none(rcx_comm_error(NULL, &error));
    assert_none(rcx_comm_split(NULL, 0, 0, &new));
    assert_none(rcx_comm_dup(NULL, &new));
    assert_none(rcx_comm_create_group(NULL, 1, ranks, 0, &new));
    assert_none(rcx_comm_free(NULL));
    assert_none(rcx_mem_alloc(NULL, 1, (void **)&new));
    assert_none(rcx_mem_register(NULL, in, sizeof in));
    assert_none(rcx_mem_deregister(NULL, in));
    assert_none(rcx_mem_free(NULL, in));
    assert_none(rcx_mem_peers(NULL, in, (void **)&new));
    assert_none(rcx_send(in, 1, RCX_INT32, 0, 0, NULL));
    assert_none(rcx_isend(in, 1, RCX_INT32, 0, 0, NULL, &request));
    assert_none(rcx_send_init(in, 1, RCX_INT32, 0, 0, NULL, &request));
    assert_none(rcx_recv(in, 1, RCX_INT32, 0, 0, NULL, &info));
    assert_none(rcx_irecv(in, 1, RCX_INT32, 0, 0, NULL, &request));
    assert_none(rcx_recv_init(in, 1, RCX_INT32, 0, 0, NULL, &request));
}

static void a_null_context_is_refused(void **state)
{
    rcx_datatype_t type = 1;
    rcx_op_t op = 1;

    (void)state;
    assert_refused(&said, rcx_finalize(NULL), RCX_ERR_ARG, "context");
    assert_refused(&said, rcx_op_create(NULL, fine, 0, NULL, &op), RCX_ERR_ARG,
                   "context");
    assert_refused(&said, rcx_op_free(NULL, &op), RCX_ERR_ARG, "context");
    assert_refused(&said, rcx_type_create(NULL, 1, &type), RCX_ERR_ARG,
                   "context");
    assert_refused(&said, rcx_type_free(NULL, &type), RCX_ERR_ARG, "context");
    assert_refused(&said, (rcx_status_t)rcx_progress(NULL), RCX_ERR_ARG,
                   "context");
    assert_int_equal(op + type, 2);
}

/* Every function that frees. The place of the handle is an argument as others:
 * see above. */
static void freeing_null_is_fine(void **state)
{
    rcx_context_t *context = NULL;
    rcx_comm_t *comm = NULL;
    rcx_request_t *request = NULL;
    rcx_datatype_t type = 0;
    rcx_op_t op = 0;

    (void)state;
    capture_begin(&said);
    assert_ok(rcx_request_free(&request));
    assert_ok(rcx_comm_free(&comm));
    assert_ok(rcx_finalize(&context));
    assert_ok(rcx_init(NULL, &context));
    assert_ok(rcx_op_free(context, &op));
    assert_ok(rcx_type_free(context, &type));
    assert_ok(rcx_mem_free(rcx_world(context), NULL));
    assert_ok(rcx_finalize(&context));
    capture_end(&said);
    assert_null(context);
    assert_int_equal(op + type, 0);
    assert_int_equal(said.stderr_lines, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_null_request_is_refused),
        cmocka_unit_test(a_null_handle_is_refused),
        cmocka_unit_test(a_null_context_is_refused),
        cmocka_unit_test(freeing_null_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
