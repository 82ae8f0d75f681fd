/* SPDX-License-Identifier: BSD-3-Clause */
/* What the transport does on a node of two ranks is the same in a job of any
 * size: it looks at the ranks of its node alone. */
#include "test.h"

#include <string.h>

#include "core/run/peer.h"
#include "transport/ucp.h"

enum { JOB = 5000, NODE = 2, TURNS = 1 << 18 };

extern const struct rcx_transport_ops rcx_transport_ucp;

/* The ranks of this node, both in this process; the others do not exist. */
static struct rank {
    struct rcx_boot boot;
    struct rcx_context context;
    unsigned char blob[4096];
    size_t bytes;
    int lookups_near, lookups_far;
} ranks[NODE];
static const int local_ranks[NODE] = {0, 1};

static rcx_status_t meet(struct rcx_boot *boot, const void *card, size_t bytes,
                         rcx_see_fn_t see, void *arg)
{
    (void)boot, (void)bytes;
    for (int i = 0; i < NODE; i++) /* all of one process have one card */
        see(i, card, arg);
    return RCX_OK;
}

static rcx_status_t publish(struct rcx_boot *boot, const void *blob,
                            size_t bytes)
{
    struct rank *r = (struct rank *)boot;

    assert_true(bytes <= sizeof r->blob);
    memcpy(r->blob, blob, bytes);
    r->bytes = bytes;
    return RCX_OK;
}

static rcx_status_t lookup(struct rcx_boot *boot, int rank, const void **blob_p,
                           size_t *bytes_p)
{
    struct rank *r = (struct rank *)boot;

    if (rank >= NODE) {
        r->lookups_far++;
        return RCX_ERR_LAUNCH;
    }
    r->lookups_near++;
    *blob_p = ranks[rank].blob;
    *bytes_p = ranks[rank].bytes;
    return RCX_OK;
}

static const struct rcx_boot_ops boot_ops = {
    .meet = meet, .publish = publish, .lookup = lookup};

static struct ucp *transport_of(int rank)
{
    return (struct ucp *)ranks[rank].context.transport;
}

static void open_rank(int rank)
{
    struct rank *r = &ranks[rank];
    const struct rcx_transport_args args = {.boot = &r->boot,
                                            .heap = &r->context.heap,
                                            .log = &r->context.log,
                                            .lanes = RCX_LANES_AUTO};

    r->boot = (struct rcx_boot){.ops = &boot_ops,
                                .rank = rank,
                                .size = JOB,
                                .local_size = NODE,
                                .local_ranks = local_ranks};
    r->context.heap = RCX_HEAP_INIT;
    r->context.boot = &r->boot;
    rcx_log_init(&r->context.log);
    assert_int_equal(rcx_transport_ucp.open(&args, &r->context.transport),
                     RCX_OK);
    assert_int_equal(rcx_peer_publish(&r->context), RCX_OK);
}

static int open_node(void **state)
{
    (void)state;
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < NODE; i++)
        open_rank(i);
    return 0;
}

static int close_node(void **state)
{
    (void)state;
    for (int i = 0; i < NODE; i++)
        rcx_transport_ucp.close(ranks[i].context.transport);
    return 0;
}

static void progress_all(void)
{
    for (int i = 0; i < NODE; i++)
        rcx_transport_ucp.progress(ranks[i].context.transport);
}

static void receive_from_any(struct rcx_message *m, uint64_t *value)
{
    *m = (struct rcx_message){.peer = -1, .status = RCX_IN_PROGRESS};
    assert_int_equal(rcx_transport_ucp.recv_masked(ranks[0].context.transport,
                                                   value, sizeof *value, 7,
                                                   UINT64_MAX, m),
                     RCX_IN_PROGRESS);
}

static void a_receive_from_any_rank_settles_those_of_its_node(void **state)
{
    struct rcx_message received, sent = {.peer = 0, .status = RCX_IN_PROGRESS};
    const uint64_t value = 42;
    uint64_t got = 0;

    (void)state;
    if (!transport_of(0)->lane.window)
        skip();
    receive_from_any(&received, &got);
    assert_int_equal(ranks[0].lookups_far, 0);
    assert_in_range(ranks[0].lookups_near, 1, NODE);
    assert_int_equal(rcx_transport_ucp.send(ranks[1].context.transport, 0,
                                            &value, sizeof value, 7, &sent),
                     RCX_OK);
    for (int i = 0; i < TURNS && received.status == RCX_IN_PROGRESS; i++)
        progress_all();
    assert_int_equal(received.status, RCX_OK);
    assert_int_equal(got, value);
    assert_int_equal(ranks[0].lookups_far, 0);
}

/* Each sweep costs as much as there are neighbours. */
static void a_sweep_is_over_those_of_its_node(void **state)
{
    struct rcx_message received;
    uint64_t got;

    (void)state;
    if (!transport_of(0)->lane.window)
        skip();
    receive_from_any(&received, &got);
    assert_in_range(transport_of(0)->lane.neighbour_count, 1, NODE);
    for (int i = 0; i < TURNS; i++)
        progress_all();
    assert_int_equal(ranks[0].lookups_far + ranks[1].lookups_far, 0);
    assert_int_equal(received.status, RCX_IN_PROGRESS);
    rcx_transport_ucp.cancel(ranks[0].context.transport, &received);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_receive_from_any_rank_settles_those_of_its_node, open_node,
            close_node),
        cmocka_unit_test_setup_teardown(a_sweep_is_over_those_of_its_node,
                                        open_node, close_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
