/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of ranks that cannot be in one job: other libraries, altered headers,
 * other users. */
#include "config_ranks.h"

#include <unistd.h>

/* Rank 2's blob is not valid here: the check and the lookup of its address must
 * both fail with a line that contains text. */
static void assert_strange(const char *text)
{
    const void *found = NULL;
    size_t bytes = 0;

    assert_status(compare(0), RCX_ERR_LAUNCH);
    assert_logged(0, text);
    assert_status(find(&found, &bytes), RCX_ERR_LAUNCH);
    assert_logged(0, text);
    assert_null(found);
    assert_int_equal(bytes, 0);
}

static void a_short_blob_is_reported_with_its_length(void **state)
{
    char text[64];

    (void)state;
    publish_all();
    ranks[2].bytes = SHORT;
    snprintf(text, sizeof text, "rank 2 published 100 bytes, expected %zu",
             ranks[0].bytes - sizeof ranks->address);
    assert_strange(text);
}

static void another_wire_version_is_reported_with_both_versions(void **state)
{
    uint32_t own, other;
    char text[64];

    (void)state;
    publish_all();
    memcpy(&own, ranks[2].blob + WIRE_VERSION_AT, sizeof own);
    other = own + 256;
    memcpy(ranks[2].blob + WIRE_VERSION_AT, &other, sizeof other);
    snprintf(text, sizeof text,
             "rank 2 has wire version %u of RCX, this rank %u", other, own);
    assert_strange(text);
}

static void a_blob_without_the_magic_number_is_not_read(void **state)
{
    (void)state;
    publish_all();
    ranks[2].blob[MAGIC_AT] = 'X';
    assert_strange("rank 2 has wire version");
}

static void an_address_that_is_cut_off_is_not_read(void **state)
{
    (void)state;
    for (int change = -1; change <= 1; change += 2) {
        publish_all();
        ranks[2].bytes += (size_t)change;
        assert_strange("rank 2 has wire version");
        ranks[2].bytes -= (size_t)change;
        ranks[2].blob[ADDRESS_BYTES_AT] += (unsigned char)change;
        assert_strange("rank 2 has wire version");
    }
}

static void another_network_is_reported_with_both_names(void **state)
{
    const void *found = NULL;
    size_t bytes = 0;

    (void)state;
    ranks[2].transport.ops = &net_2;
    publish_all();
    assert_status(find(&found, &bytes), RCX_ERR_LAUNCH);
    assert_logged(0, "rank 2 uses NET 2, this rank NET 1");
    assert_null(found);
}

static void an_unterminated_network_name_is_cut_off(void **state)
{
    char text[128], name[NETWORK_BYTES] = "";
    const void *found;
    size_t bytes;

    (void)state;
    publish_all();
    memset(ranks[2].blob + NETWORK_AT, 'x', NETWORK_BYTES);
    rcx_peer_seal(ranks[2].blob, ranks[2].bytes);
    memset(name, 'x', sizeof name - 1);
    assert_status(find(&found, &bytes), RCX_ERR_LAUNCH);
    snprintf(text, sizeof text, "rank 2 uses %s, this rank", name);
    assert_logged(0, text);
}

/* Rank 2 has another value in the header. */
static void alter_u64(size_t at, uint64_t value)
{
    publish_all();
    memcpy(ranks[2].blob + at, &value, sizeof value);
    rcx_peer_seal(ranks[2].blob, ranks[2].bytes);
}

static void another_version_is_reported_with_both_numbers(void **state)
{
    char text[64];

    (void)state;
    alter_u64(offsetof(struct rcx_peer_header, version), 0 << 20 | 1 << 10 | 9);
    snprintf(text, sizeof text,
             "rank 2 has RCX 0.1.9, this rank %s:", rcx_version());
    assert_strange(text);
}

static void a_library_with_other_prices_is_reported(void **state)
{
    (void)state;
    alter_u64(offsetof(struct rcx_peer_header, methods), 1);
    assert_strange("rank 2 has another build of RCX");
}

/* ---- Users --------------------------------------------------------------- */

/* Rank 2 has published another user, in another space or on another node. */
static void publish_as(uint64_t other_space, uint64_t other_node)
{
    struct rcx_peer_header h;

    publish_all();
    memcpy(&h, ranks[2].blob, sizeof h);
    h.user++;
    h.user_space += other_space;
    h.node += other_node;
    memcpy(ranks[2].blob, &h, sizeof h);
    rcx_peer_seal(ranks[2].blob, ranks[2].bytes);
}

static void ranks_of_two_users_on_a_node_are_an_error(void **state)
{
    char text[128];

    (void)state;
    publish_as(0, 0);
    for (int i = 0; i < 2; i++)
        assert_status(compare(i), RCX_ERR_CONFIG);
    snprintf(text, sizeof text,
             "ranks 0 and 2 share a node and belong to users %u and %u:",
             (unsigned)geteuid(), (unsigned)geteuid() + 1);
    assert_logged(0, text);
    assert_int_equal(ranks[1].lines.count, 0);
}

static void users_of_nodes_or_namespaces_are_not_compared(void **state)
{
    for (int apart = 0; apart < 2; apart++) {
        open_all(state);
        publish_as(apart == 0, apart == 1);
        assert_ok(compare(0));
        rcx_nodes_free(&ranks[0].context.heap, ranks[0].context.nodes);
    }
}

#define TEST(name) cmocka_unit_test_setup(name, open_all)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_short_blob_is_reported_with_its_length),
        TEST(another_wire_version_is_reported_with_both_versions),
        TEST(a_blob_without_the_magic_number_is_not_read),
        TEST(an_address_that_is_cut_off_is_not_read),
        TEST(another_network_is_reported_with_both_names),
        TEST(an_unterminated_network_name_is_cut_off),
        TEST(another_version_is_reported_with_both_numbers),
        TEST(a_library_with_other_prices_is_reported),
        TEST(ranks_of_two_users_on_a_node_are_an_error),
        TEST(users_of_nodes_or_namespaces_are_not_compared),
    };

    return cmocka_run_group_tests_name("config_peers", tests, NULL, NULL);
}
