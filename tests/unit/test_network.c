/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of network devices that reach other nodes, with addresses and
 * routes that are made up. */
#include "test.h"

#include <arpa/inet.h>
#include <string.h>

#include "transport/node/network.h"

static uint32_t ip(const char *text)
{
    return inet_addr(text);
}

/* 10.1.0.0/16 is reached from 10.1.0.1, 10.2.0.0/16 from 10.2.0.1, and all else
 * by the default route, from 10.1.0.1; but 9.0.0.0/8 is not reached. */
static bool find_route(uint32_t to, uint32_t *local_p)
{
    const uint32_t address = ntohl(to);

    if (address >> 24 == 9)
        return false;
    *local_p = ip(address >> 16 == (10 << 8 | 2) ? "10.2.0.1" : "10.1.0.1");
    return true;
}

static void begin(struct rcx_network *net)
{
    static const char *const names[] = {"docker0", "eth0", "eth1"};
    static const char *const ips[] = {"172.17.0.1", "10.1.0.1", "10.2.0.1"};

    memset(net, 0, sizeof *net);
    net->route = find_route;
    net->own.space = 1;
    net->own.n = 3;
    for (int i = 0; i < 3; i++) {
        strcpy(net->names[i], names[i]);
        net->own.ips[i] = ip(ips[i]);
    }
}

static void add(struct rcx_network *net, uint64_t space, const char *first,
                const char *second)
{
    const struct rcx_network_record record = {
        .space = space, .n = 2, .ips = {ip(first), ip(second)}};

    rcx_network_add(net, &record);
}

static void assert_choice(const struct rcx_network *net, const char *list,
                          const char *rest)
{
    char chosen[64], others[128];

    assert_true(
        rcx_network_choose(net, chosen, sizeof chosen, others, sizeof others));
    assert_string_equal(list, chosen);
    assert_string_equal(rest, others);
}

static void assert_no_choice(const struct rcx_network *net)
{
    char chosen[64], others[128];

    assert_false(
        rcx_network_choose(net, chosen, sizeof chosen, others, sizeof others));
}

static void an_address_that_another_node_has_is_not_used(void **state)
{
    struct rcx_network net;

    (void)state;
    begin(&net);
    add(&net, 2, "172.17.0.1", "10.1.0.2");
    add(&net, 2, "172.17.0.1", "10.1.0.2");
    add(&net, 3, "172.17.0.1", "10.2.0.3");
    assert_choice(&net, "eth0,eth1", "docker0 (172.17.0.1)");
}

static void a_device_without_a_route_to_another_node_is_not_used(void **state)
{
    struct rcx_network net;

    (void)state;
    begin(&net);
    add(&net, 2, "10.2.0.2", "9.9.9.9");
    assert_choice(&net, "eth1", "docker0 (172.17.0.1),eth0 (10.1.0.1)");
}

static void ranks_of_one_network_decide_nothing(void **state)
{
    struct rcx_network net;

    (void)state;
    begin(&net);
    assert_no_choice(&net);
    add(&net, 1, "172.17.0.1", "10.1.0.1");
    assert_no_choice(&net);
}

static void without_any_device_that_reaches_others_ucx_decides(void **state)
{
    struct rcx_network net;

    (void)state;
    begin(&net);
    add(&net, 2, "172.17.0.1", "9.9.9.9");
    assert_no_choice(&net);
}

static void all_devices_reach_others(void **state)
{
    struct rcx_network net;

    (void)state;
    begin(&net);
    net.own.n = 2;
    strcpy(net.names[0], "eth1");
    net.own.ips[0] = ip("10.2.0.1");
    add(&net, 2, "10.1.0.2", "10.2.0.2");
    assert_no_choice(&net);
}

static void the_devices_of_this_host_are_read(void **state)
{
    struct rcx_network net;

    (void)state;
    rcx_network_read(&net);
    assert_true(net.own.space != 0 && net.own.n <= RCX_NETWORK_DEVICES);
    for (uint32_t i = 0; i < net.own.n; i++)
        assert_true(net.names[i][0] && (ntohl(net.own.ips[i]) >> 24) != 127);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_that_another_node_has_is_not_used),
        cmocka_unit_test(a_device_without_a_route_to_another_node_is_not_used),
        cmocka_unit_test(ranks_of_one_network_decide_nothing),
        cmocka_unit_test(without_any_device_that_reaches_others_ucx_decides),
        cmocka_unit_test(all_devices_reach_others),
        cmocka_unit_test(the_devices_of_this_host_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
