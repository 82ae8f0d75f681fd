/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap over sockets where nothing goes wrong but what surrounds it:
 * trees of all sizes, ids, files, hosts, strangers at the ports, late ranks,
 * and many contexts in one process.
 */
#include "socket_ranks.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "bootstrap/socket_id.h"
#include "core/base/clock.h"

static const struct start usual = {.timeout_ns = INT64_C(20000000000)};

static void assert_all_good(struct ranks *ranks)
{
    ranks_end(ranks);
    for (int i = 0; i < ranks->n; i++)
        assert_good(ranks, i);
    ranks_free(ranks);
}

/* ---- Trees --------------------------------------------------------------- */

static void ranks_of_any_number_exchange_what_they_have(void **state)
{
    static const int sizes[] = {1, 2, 3, 8, 9, 10, 17, 31, 64};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ranks *ranks = ranks_new();

        ranks_start_all(ranks, sizes[i], &usual, whole_life);
        assert_all_good(ranks);
    }
}

/* The connections, and epoll. */
static rcx_status_t hold_few(struct side *side, struct ranks *ranks)
{
    const int before = count_descriptors();
    const rcx_status_t status = open_only(side, ranks);
    /* rank 0 had the listener before */
    const int more = count_descriptors() - before + (side->params.rank == 0);

    if (status != RCX_OK)
        return status;
    if (more > 8 + 1 + 1)
        return RCX_ERR_LIMIT;
    return side->boot->ops->barrier(side->boot, NULL, NULL);
}

static void a_rank_holds_at_most_nine_connections(void **state)
{
    struct ranks *ranks = ranks_new();

    (void)state;
    ranks_start_all(ranks, RANKS_MAX, &usual, hold_few);
    assert_all_good(ranks);
}

static rcx_status_t know_node(struct side *side, struct ranks *ranks)
{
    const rcx_status_t status = open_only(side, ranks);

    if (status != RCX_OK)
        return status;
    for (int i = 0; i < side->boot->size; i++)
        if (side->boot->local_ranks[i] != i)
            return RCX_ERR_INTERNAL;
    return side->boot->local_size == side->boot->size ? RCX_OK
                                                      : RCX_ERR_INTERNAL;
}

static void ranks_of_one_host_know_that_they_are_one_node(void **state)
{
    struct ranks *ranks = ranks_new();

    (void)state;
    ranks_start_all(ranks, 5, &usual, know_node);
    assert_all_good(ranks);
}

/* A megabyte a rank does not fit into the buffers of sockets. */
static rcx_status_t publish_much(struct side *side, struct ranks *ranks)
{
    enum { BYTES = 1 << 20 };
    const struct rcx_boot_ops *ops = &rcx_boot_socket;
    rcx_status_t status = open_only(side, ranks);
    char *blob = malloc(BYTES);

    if (status != RCX_OK || !blob)
        return status;
    memset(blob, side->boot->rank + 1, BYTES);
    status = ops->publish(side->boot, blob, BYTES - (size_t)side->boot->rank);
    for (int i = 0; i < side->boot->size && status == RCX_OK; i++) {
        const void *data;
        size_t bytes;

        ops->lookup(side->boot, i, &data, &bytes);
        memset(blob, i + 1, BYTES);
        if (bytes != (size_t)(BYTES - i) || memcmp(blob, data, bytes) != 0)
            status = RCX_ERR_INTERNAL;
    }
    free(blob);
    return status;
}

static void long_blobs_arrive_whole(void **state)
{
    struct ranks *ranks = ranks_new();

    (void)state;
    ranks_start_all(ranks, 12, &usual, publish_much);
    assert_all_good(ranks);
}

static bool count_calls(void *arg)
{
    return ++*(int *)arg < 3;
}

/* All but rank 0 wait for it in a barrier that they leave, and enter again. */
static rcx_status_t leave_barrier(struct side *side, struct ranks *ranks)
{
    rcx_status_t status = open_only(side, ranks);
    int calls = 0;

    if (status != RCX_OK)
        return status;
    if (side->boot->rank != 0) {
        status = side->boot->ops->barrier(side->boot, count_calls, &calls);
        if (status != RCX_IN_PROGRESS || calls != 3)
            return RCX_ERR_INTERNAL;
        atomic_fetch_add(&ranks->at_gate[0], 1);
    } else {
        wait_for_ranks_at(ranks, 0, ranks->n - 1);
    }
    return side->boot->ops->barrier(side->boot, NULL, NULL);
}

static void a_barrier_that_is_left_can_be_continued(void **state)
{
    struct ranks *ranks = ranks_new();

    (void)state;
    ranks_start_all(ranks, 11, &usual, leave_barrier);
    assert_all_good(ranks);
}

/* ---- Ways to meet -------------------------------------------------------- */

static void ranks_meet_by_ipv6(void **state)
{
    const struct rcx_socket_addr loopback = {.ip = {[15] = 1}};
    const int fd = rcx_socket_listen(&loopback, 0);
    struct start start = usual;
    struct ranks *ranks;

    (void)state;
    if (fd < 0)
        skip_because("no ::1 here");
    close(fd);
    start.address = "[::1]:0";
    ranks = ranks_new();
    ranks_start_all(ranks, 10, &start, whole_life);
    assert_all_good(ranks);
}

static void ranks_meet_by_the_addresses_of_this_host(void **state)
{
    struct start start = usual;
    struct ranks *ranks = ranks_new();

    (void)state;
    start.address = "0";
    ranks_start_all(ranks, 10, &start, whole_life);
    assert_all_good(ranks);
}

static void an_address_of_another_machine_is_passed_over(void **state)
{
    struct start start = usual;
    struct ranks *ranks = ranks_new();
    struct rcx_socket_root root;
    struct rcx_socket_addr first = {.port = 0};
    rcx_id_t id;
    struct rcx_log log;

    (void)state;
    rcx_log_init(&log);
    /* this process is rank 0, and the others try a wrong address first */
    assert_int_equal(RCX_OK, rcx_boot_make_id(LOOPBACK_ANY_PORT, &log, &id));
    assert_true(rcx_socket_root_parse(id.text, &root));
    assert_true(rcx_socket_ip_parse("127.0.0.9", &first));
    first.port = root.addrs.at[0].port;
    root.addrs.at[1] = root.addrs.at[0];
    root.addrs.at[0] = first;
    root.addrs.n = 2;
    rcx_socket_root_print(&root, ranks->id.text);
    atomic_store(&ranks->is_made, 1);
    ranks->n = 2;
    for (int i = 1; i < 3; i++) {
        const pid_t pid = fork();

        start.rank = i;
        start.size = 3;
        if (pid == 0)
            run_rank(ranks, i - 1, &start, whole_life);
        ranks->pids[i - 1] = pid;
    }
    {
        struct side side;

        side_init(&side, NULL);
        side.params.field_mask = RCX_PARAM_ID;
        side.params.id = &id;
        side.params.size = 3;
        side.args.timeout_ns = start.timeout_ns;
        assert_int_equal(RCX_OK, whole_life(&side, ranks));
        side.boot->ops->close(side.boot);
    }
    assert_all_good(ranks);
}

static char folder[] = "/tmp/rcx-socket.XXXXXX";
static char root_file[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(root_file, sizeof root_file, "%s/root", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(root_file);
    return rmdir(folder);
}

static void start_by_file(struct ranks *ranks, int n, const char *address)
{
    struct start start = usual;
    struct rcx_log log;

    rcx_log_init(&log);
    start.address = address;
    assert_int_equal(RCX_OK, rcx_boot_make_id(address, &log, &ranks->id));
    atomic_store(&ranks->is_made, 1);
    ranks_start_all(ranks, n, &start, whole_life);
}

static void ranks_meet_by_a_file_which_is_gone_afterwards(void **state)
{
    char address[80];
    struct ranks *ranks = ranks_new();

    (void)state;
    snprintf(address, sizeof address, "file:%s", root_file);
    start_by_file(ranks, 10, address);
    assert_all_good(ranks);
    assert_int_equal(-1, access(root_file, F_OK));
}

static void write_file(const char *text)
{
    FILE *file = fopen(root_file, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* What an earlier job may have left, and what nobody of the job wrote. */
static void a_stale_file_does_not_disturb(void **state)
{
    static const char *const stale[] = {
        "rcx1:00000000000000000000000000000000:1.3.00000000:9:127.0.0.1\n",
        "rcx1:00", "", "something else\n"};
    char address[80];

    (void)state;
    snprintf(address, sizeof address, "file:%s", root_file);
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++) {
        struct ranks *ranks = ranks_new();

        write_file(stale[i]);
        start_by_file(ranks, 3, address);
        assert_all_good(ranks);
    }
}

/* ---- Strangers ----------------------------------------------------------- */

enum { SILENT, RANDOM, HALF, KINDS, STRANGERS = 300 };

/* Open connections to the id's listener until the test ends this process. Pass
 * gate 0 when many are open. */
static void bother(struct ranks *ranks, int kind)
{
    struct rcx_socket_root root;
    unsigned char noise[400];

    alarm(PATIENCE_S);
    signal(SIGPIPE, SIG_IGN);
    while (!atomic_load(&ranks->is_made))
        usleep(100);
    if (!rcx_socket_root_parse(ranks->id.text, &root) ||
        !rcx_socket_random(noise, sizeof noise))
        _exit(1);
    for (int n = 0;; n++) {
        const int fd = rcx_socket_connect(&root.addrs.at[0]);
        const size_t bytes = kind == SILENT ? 0
                             : kind == HALF ? (size_t)n % 168
                                            : sizeof noise;

        if (n == STRANGERS)
            atomic_store(&ranks->at_gate[0], 1);
        usleep(n < STRANGERS ? 10 : 1000);
        if (fd >= 0 && bytes > 0 && write(fd, noise, bytes) < 0)
            close(fd);
    }
}

static rcx_status_t live_among_strangers(struct side *side, struct ranks *ranks)
{
    if (side->params.rank > 0)
        wait_for_ranks_at(ranks, 0, 1);
    return whole_life(side, ranks);
}

static void connections_of_strangers_do_no_harm(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct ranks *ranks = ranks_new();
        const pid_t stranger = fork();

        if (stranger == 0)
            bother(ranks, kind);
        ranks_start_all(ranks, 12, &usual, live_among_strangers);
        ranks_end(ranks);
        kill(stranger, SIGKILL);
        waitpid(stranger, NULL, 0);
        for (int i = 0; i < ranks->n; i++)
            assert_good(ranks, i);
        ranks_free(ranks);
    }
}

/* ---- Contexts ------------------------------------------------------------ */

enum { CONTEXTS = 200 };

static rcx_status_t open_by(struct side *side, const rcx_id_t *id, int rank)
{
    side_init(side, NULL);
    side->params.field_mask = RCX_PARAM_ID;
    side->params.id = id;
    side->params.rank = rank;
    side->params.size = 2;
    side->args.timeout_ns = long_ns;
    return rcx_boot_socket.open(&side->args, &side->boot);
}

static void close_one(struct side *side)
{
    assert_int_equal(RCX_OK, side->boot->ops->barrier(side->boot, NULL, NULL));
    side->boot->ops->close(side->boot);
    assert_int_equal(0, side->heap.live);
}

static void contexts_of_old_and_new_ids_live_together(int rank, int fd)
{
    struct side sides[2];

    for (int i = 0; i < CONTEXTS; i++) {
        struct side *side = &sides[i % 2];
        rcx_id_t id;
        struct rcx_log log;

        rcx_log_init(&log);
        if (rank == 0) {
            assert_int_equal(RCX_OK,
                             rcx_boot_make_id(LOOPBACK_ANY_PORT, &log, &id));
            assert_int_equal(sizeof id, write(fd, &id, sizeof id));
        } else {
            assert_int_equal(sizeof id, read(fd, &id, sizeof id));
        }
        assert_int_equal(RCX_OK, open_by(side, &id, rank));
        if (i > 0)
            close_one(&sides[(i + 1) % 2]);
    }
    close_one(&sides[(CONTEXTS + 1) % 2]);
}

static void a_process_opens_contexts_one_after_the_other(void **state)
{
    const int before = count_descriptors();
    int ends[2], status = -1;
    pid_t child;

    (void)state;
    assert_int_equal(0, pipe(ends));
    child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        contexts_of_old_and_new_ids_live_together(1, ends[0]);
        _exit(count_descriptors() == before + 2 ? 0 : 1);
    }
    contexts_of_old_and_new_ids_live_together(0, ends[1]);
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(before, count_descriptors());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_any_number_exchange_what_they_have),
        cmocka_unit_test(a_rank_holds_at_most_nine_connections),
        cmocka_unit_test(ranks_of_one_host_know_that_they_are_one_node),
        cmocka_unit_test(long_blobs_arrive_whole),
        cmocka_unit_test(a_barrier_that_is_left_can_be_continued),
        cmocka_unit_test(ranks_meet_by_ipv6),
        cmocka_unit_test(ranks_meet_by_the_addresses_of_this_host),
        cmocka_unit_test(an_address_of_another_machine_is_passed_over),
        cmocka_unit_test(ranks_meet_by_a_file_which_is_gone_afterwards),
        cmocka_unit_test(a_stale_file_does_not_disturb),
        cmocka_unit_test(connections_of_strangers_do_no_harm),
        cmocka_unit_test(a_process_opens_contexts_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
