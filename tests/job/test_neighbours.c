/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport between the ranks of one node: two ranks, both in this process,
 * in a job of any size. */
#include "test.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/run/context/config_check.h"
#include "transport/ucp/worker.h"

enum { MANY = 5000, NODE = 2, TURNS = 1 << 16, CTRL_MSGS = 50 };

extern const struct rcx_transport_ops rcx_transport_ucp;

/* The ranks of this node, both in this process. No other rank of the job
 * exists. */
static struct rank {
    struct rcx_boot boot;
    struct rcx_context context;
    unsigned char blob[4096];
    size_t bytes;
    int lookups_near, lookups_far;
} ranks[NODE];
static const int local_ranks[NODE] = {0, 1};

/* The ranks of one process have equal node capabilities. */
static rcx_status_t exchange_caps(struct rcx_boot *boot, const void *caps,
                                  size_t bytes, rcx_local_fn_t see, void *arg)
{
    (void)boot, (void)bytes;
    for (int i = 0; i < NODE; i++)
        see(i, caps, arg);
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
    .local_exchange = exchange_caps, .publish = publish, .lookup = lookup};

static struct ucp *transport_of(int rank)
{
    return (struct ucp *)ranks[rank].context.transport;
}

static void open_rank(int rank, int size, bool watches_peers)
{
    struct rank *r = &ranks[rank];
    const struct rcx_transport_args args = {.boot = &r->boot,
                                            .heap = &r->context.heap,
                                            .log = &r->context.log,
                                            .watches_peers = watches_peers,
                                            .lanes = RCX_LANES_AUTO,
                                            .machine = &r->context.machine};

    r->boot = (struct rcx_boot){.ops = &boot_ops,
                                .rank = rank,
                                .size = size,
                                .local_size = NODE,
                                .local_ranks = local_ranks};
    r->context.heap = RCX_HEAP_INIT;
    r->context.boot = &r->boot;
    rcx_log_init(&r->context.log);
    assert_int_equal(rcx_transport_ucp.open(&args, &r->context.transport),
                     RCX_OK);
    assert_int_equal(rcx_config_publish(&r->context), RCX_OK);
}

static int open_job(int size, bool watches_peers)
{
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < NODE; i++)
        open_rank(i, size, watches_peers);
    return 0;
}

static int open_many(void **state)
{
    (void)state;
    return open_job(MANY, false);
}

static int open_node(void **state)
{
    (void)state;
    return open_job(NODE, false);
}

static int open_watched(void **state)
{
    (void)state;
    return open_job(NODE, true);
}

static int close_node(void **state)
{
    (void)state;
    for (int i = 0; i < NODE; i++)
        rcx_transport_ucp.close(ranks[i].context.transport);
    return 0;
}

/* Progress both ranks. Loops with this call end, or the test hangs. UCX
 * connects in a thread of its own, which needs a core. */
static void progress_all(void)
{
    sched_yield();
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

/* Send a message from rank 1 to rank 0, so that both are connected. */
static void send_one(void)
{
    struct rcx_message received = {.status = RCX_IN_PROGRESS}, sent = received;
    rcx_status_t status;
    uint64_t value = 1, got = 0;

    received.peer = 1;
    status = rcx_transport_ucp.recv(ranks[0].context.transport, 1, &got,
                                    sizeof got, 7, &received);
    assert_int_equal(rcx_transport_ucp.send(ranks[1].context.transport, 0,
                                            &value, sizeof value, 7, &sent),
                     RCX_OK);
    while (status == RCX_IN_PROGRESS) {
        progress_all();
        status = received.status;
    }
    assert_int_equal(status, RCX_OK);
    assert_int_equal(got, value);
}

static void notify(int n)
{
    for (int i = 0; i < n; i++)
        rcx_transport_ucp.send_ctrl(ranks[1].context.transport, 0, &i,
                                    sizeof i);
}

/* Take the control messages that rank 0 has, in order, without progress; return
 * how many. */
static int take_ctrl_msgs(void)
{
    struct rcx_transport *t = ranks[0].context.transport;
    struct rcx_ctrl_frame *frame;
    int n = 0;

    while ((frame = rcx_ctrl_queue_pop(t))) {
        assert_int_equal(frame->bytes, sizeof n);
        assert_memory_equal(frame->data, &n, sizeof n);
        rcx_ctrl_frame_free(frame);
        n++;
    }
    return n;
}

static void await_ctrl_msg(void)
{
    int messages = 0;

    while (messages == 0) {
        progress_all();
        messages = take_ctrl_msgs();
    }
    assert_int_equal(messages, 1);
}

static void a_receive_from_any_rank_opens_channels_to_its_node(void **state)
{
    struct rcx_message received, sent = {.peer = 0, .status = RCX_IN_PROGRESS};
    const uint64_t value = 42;
    uint64_t got = 0;

    (void)state;
    if (!transport_of(0)->lane.segment)
        skip_because("no shared memory of System V here");
    receive_from_any(&received, &got);
    assert_int_equal(ranks[0].lookups_far, 0);
    assert_in_range(ranks[0].lookups_near, 1, NODE);
    assert_int_equal(rcx_transport_ucp.send(ranks[1].context.transport, 0,
                                            &value, sizeof value, 7, &sent),
                     RCX_OK);
    while (received.status == RCX_IN_PROGRESS)
        progress_all();
    assert_int_equal(received.status, RCX_OK);
    assert_int_equal(got, value);
    assert_int_equal(ranks[0].lookups_far, 0);
}

/* A progress call polls the channels of this node only, whatever the size of
 * the job. */
static void progress_polls_only_channels_of_its_node(void **state)
{
    struct rcx_message received;
    uint64_t got;

    (void)state;
    if (!transport_of(0)->lane.segment)
        skip_because("no shared memory of System V here");
    receive_from_any(&received, &got);
    assert_in_range(transport_of(0)->lane.neighbour_count, 1, NODE);
    for (int i = 0; i < TURNS; i++)
        progress_all();
    assert_int_equal(ranks[0].lookups_far + ranks[1].lookups_far, 0);
    assert_int_equal(received.status, RCX_IN_PROGRESS);
    rcx_transport_ucp.cancel(ranks[0].context.transport, &received);
}

/* Control messages arrive by UCX. A rank that only uses shared memory polls the
 * doorbell for them. */
static void a_control_message_sets_the_doorbell(void **state)
{
    const struct rcx_transport *t = ranks[0].context.transport;

    (void)state;
    if (!transport_of(0)->lane.segment)
        skip_because("no shared memory of System V here");
    assert_non_null(t->doorbell);
    send_one();
    progress_all();
    assert_int_equal(atomic_load(t->doorbell), 0);
    notify(1);
    assert_int_not_equal(atomic_load(t->doorbell), 0);
    await_ctrl_msg();
    assert_int_equal(atomic_load(t->doorbell), 0);
}

static pid_t ended_process(void)
{
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

/* Control messages that a rank sent before its end are read before it is
 * declared failed: they may give the reason. UCX delivers a few messages in
 * each progress call. */
static void
control_messages_are_read_before_a_rank_is_declared_failed(void **state)
{
    struct rcx_transport *t = ranks[0].context.transport;
    struct rcx_neighbour *peer;

    (void)state;
    if (!transport_of(0)->lane.segment)
        skip_because("no shared memory of System V here");
    send_one();
    notify(1);
    await_ctrl_msg(); /* UCX is connected then, and sends at once */
    notify(CTRL_MSGS);
    assert_int_equal(ranks[1].context.transport->ctrl_unsent, 0);
    peer = rcx_ucp_neighbour(transport_of(0), 1);
    rcx_process_close(&peer->watched.process);
    peer->watched.process.pid = ended_process();
    peer->watched.is_missing =
        true; /* the next probe is the second that misses it */
    transport_of(0)->lane.next_liveness_ns = 0;
    while (!t->failed_peers[1])
        rcx_transport_ucp.progress(t);
    assert_true(t->failed_peers[1]);
    assert_int_equal(take_ctrl_msgs(), CTRL_MSGS);
}

/* Return the id of the System V segment that contains address; -1: none. */
static int segment_at(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    const uint64_t at = (uintptr_t)address;
    char line[512];
    int id = -1;

    while (maps && id < 0 && fgets(line, sizeof line, maps)) {
        uint64_t start, end;
        unsigned long inode;

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %lu", &start,
                   &end, &inode) == 3 &&
            at >= start && at < end && strstr(line, " /SYSV"))
            id = (int)inode;
    }
    if (maps)
        fclose(maps);
    return id;
}

static int watched_segment = -1, attached_meanwhile;

static int attached(int id)
{
    struct shmid_ds segment;

    return shmctl(id, IPC_STAT, &segment) == 0 ? (int)segment.shm_nattch : -1;
}

ucs_status_t __wrap_ucp_ep_rkey_unpack(ucp_ep_h endpoint, const void *key,
                                       ucp_rkey_h *rkey_p);
ucs_status_t __real_ucp_ep_rkey_unpack(ucp_ep_h endpoint, const void *key,
                                       ucp_rkey_h *rkey_p);

ucs_status_t __wrap_ucp_ep_rkey_unpack(ucp_ep_h endpoint, const void *key,
                                       ucp_rkey_h *rkey_p)
{
    if (watched_segment >= 0 && attached_meanwhile == 0) /* the first call */
        attached_meanwhile = attached(watched_segment);
    return __real_ucp_ep_rkey_unpack(endpoint, key, rkey_p);
}

/* A peer may be killed at any moment, so its segment stays attached until UCX
 * has attached it. */
static void memory_is_held_while_ucx_unpacks_its_key(void **state)
{
    const int id = segment_at(transport_of(0)->lane.segment);
    int before;

    (void)state;
    if (id < 0)
        skip_because("no shared memory of System V here");
    before = attached(id);
    assert_true(before > 0);
    watched_segment = id;
    attached_meanwhile = 0;
    send_one();
    watched_segment = -1;
    assert_int_equal(attached_meanwhile, before + 1);
    assert_int_equal(attached(id), before + 1); /* attached by UCX */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_receive_from_any_rank_opens_channels_to_its_node, open_many,
            close_node),
        cmocka_unit_test_setup_teardown(
            progress_polls_only_channels_of_its_node, open_many, close_node),
        cmocka_unit_test_setup_teardown(a_control_message_sets_the_doorbell,
                                        open_node, close_node),
        cmocka_unit_test_setup_teardown(
            control_messages_are_read_before_a_rank_is_declared_failed,
            open_watched, close_node),
        cmocka_unit_test_setup_teardown(
            memory_is_held_while_ucx_unpacks_its_key, open_node, close_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
