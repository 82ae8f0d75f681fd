/* SPDX-License-Identifier: BSD-3-Clause */
/* Which transports and devices UCX_TLS and UCX_NET_DEVICES leave. */
#include <stdlib.h>

#include "test.h"
#include "transport/ucp/choice.h"

static const char *const ud[] = {"ud", "rc", "ib", NULL};
static const char *const with_ud[] = {"all", "dc", NULL};

static bool leaves_ud(const char *list)
{
    setenv("UCX_TLS", list, 1);
    return rcx_ucp_transport_is_left(ud, with_ud);
}

static void test_transports(void **state)
{
    (void)state;
    unsetenv("UCX_TLS");
    assert_true(rcx_ucp_transport_is_left(ud, with_ud));
    assert_true(leaves_ud("all"));
    assert_true(leaves_ud("self,ud_verbs"));
    assert_true(leaves_ud("rc,self"));
    assert_true(leaves_ud("dc,self"));
    assert_true(leaves_ud("^dc"));
    assert_true(leaves_ud("^tcp,cuda"));
    assert_false(leaves_ud("tcp,cuda_copy,self"));
    assert_false(leaves_ud("^tcp,ud"));
    assert_false(leaves_ud("^rc"));
    assert_false(leaves_ud("^ib"));
}

static bool leaves_device(const char *list)
{
    setenv("UCX_NET_DEVICES", list, 1);
    return rcx_ucp_device_is_left("mlx5_1");
}

static void test_devices(void **state)
{
    (void)state;
    unsetenv("UCX_NET_DEVICES");
    assert_true(rcx_ucp_device_is_left("mlx5_1"));
    assert_true(leaves_device("all"));
    assert_true(leaves_device("eth0,mlx5_1:2"));
    assert_true(leaves_device("mlx5_1"));
    assert_true(leaves_device("^mlx5_10:1,eth0"));
    assert_false(leaves_device("mlx5_10:1"));
    assert_false(leaves_device("^eth0,mlx5_1:1"));
    assert_false(leaves_device("eth0,lo"));
}

/* RCX_UCX_NAME precedes UCX_NAME. */
static void test_settings(void **state)
{
    char variable[64];

    (void)state;
    setenv("UCX_TLS", "tcp", 1);
    assert_string_equal(rcx_ucp_find_setting("TLS", variable), "tcp");
    assert_string_equal(variable, "UCX_TLS");
    setenv("RCX_UCX_TLS", "ud", 1);
    assert_string_equal(rcx_ucp_find_setting("TLS", variable), "ud");
    assert_string_equal(variable, "RCX_UCX_TLS");
    unsetenv("RCX_UCX_TLS");
    assert_null(rcx_ucp_setting("NOT_SET"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transports),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
