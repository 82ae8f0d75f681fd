/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap over sockets on bad days: ranks that are missing, wrong, killed
 * or stopped at each step. Every rank that is alive ends with one line that
 * names the cause.
 */
#include "socket_roots.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/socket.h>

#include "bootstrap/socket_id.h"

/* ---- Ranks that are missing or wrong ------------------------------------- */

static void a_rank_that_never_comes_is_named_by_all(void **state)
{
    const int without_3[] = {0, 1, 2, 4, 5, 6, 7};
    const int without_9[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11};
    const int few[] = {0, 2};

    (void)state;
    end_told(start_some(7, without_3, 8, whole_life), RCX_ERR_TIMEOUT,
             "rank 3 of 8 did not come within 2 s");
    end_told(start_some(11, without_9, 12, whole_life), RCX_ERR_TIMEOUT,
             "rank 9 of 12 did not come within 2 s");
    end_told(start_some(2, few, 20, whole_life), RCX_ERR_TIMEOUT,
             "ranks 1, 3, 4, 5, 6, 7, 8, 9 and 10 more of 20 did not come");
}

/* Ranks that come after the failure find nobody. */
static void assert_told_or_late(const struct ranks *ranks, int i,
                                const char *words)
{
    if (ranks->outcomes[i].status == RCX_ERR_TIMEOUT)
        assert_told(ranks, i, RCX_ERR_TIMEOUT, "did not find rank 0 at");
    else
        assert_told(ranks, i, RCX_ERR_LAUNCH, words);
}

static void a_rank_that_comes_twice_is_an_error_on_all(void **state)
{
    const int list[] = {0, 1, 1, 2};
    struct ranks *ranks = start_some(4, list, 4, whole_life);

    (void)state;
    ranks_end(ranks);
    for (int i = 0; i < 3; i++)
        assert_told(ranks, i, RCX_ERR_LAUNCH, "rank 1 came twice: process ");
    assert_told_or_late(ranks, 3, "rank 1 came twice: process ");
    ranks_free(ranks);
}

static void a_wrong_size_is_an_error_on_all(void **state)
{
    struct ranks *ranks = ranks_new();
    struct start starts[4];
    const char *words = "was started as one of 5 ranks, rank 0 as one of 4";

    (void)state;
    for (int i = 0; i < 4; i++) {
        starts[i] = brief;
        starts[i].rank = i;
        starts[i].size = i == 2 ? 5 : 4;
    }
    ranks_start(ranks, 4, starts, whole_life);
    ranks_end(ranks);
    assert_told(ranks, 0, RCX_ERR_LAUNCH, words);
    assert_told(ranks, 2, RCX_ERR_LAUNCH, words);
    assert_told_or_late(ranks, 1, words);
    assert_told_or_late(ranks, 3, words);
    ranks_free(ranks);
}

static void change_secret(rcx_id_t *id)
{
    id->text[10] = id->text[10] == '0' ? '1' : '0';
}

static void a_process_with_another_secret_does_not_get_in(void **state)
{
    struct ranks *ranks = ranks_new();
    struct start starts[3];
    char words[128];

    (void)state;
    snprintf(words, sizeof words,
             "rank 1 of 3 did not come within 2 s; rank 0 has refused a "
             "process on %s, which has another secret",
             LOOPBACK_IP);
    for (int i = 0; i < 3; i++) {
        starts[i] = brief;
        starts[i].rank = i;
        starts[i].size = 3;
    }
    starts[1].spoil = change_secret;
    ranks_start(ranks, 3, starts, whole_life);
    ranks_end(ranks);
    assert_told(ranks, 0, RCX_ERR_TIMEOUT, words);
    assert_told(ranks, 1, RCX_ERR_TIMEOUT, "has another secret");
    assert_null(strstr(ranks->outcomes[1].line, "has not started"));
    assert_told(ranks, 2, RCX_ERR_TIMEOUT, "rank 0 has refused a process");
    ranks_free(ranks);
}

/* ---- Connections that are no rank's -------------------------------------- */

static rcx_status_t life_of_a_late_rank_1(struct side *side,
                                          struct ranks *ranks)
{
    if (side->params.rank == 1)
        wait_at_gate(ranks, 0);
    return whole_life(side, ranks);
}

/* As many as there are descriptors for, up to n. */
static void connect_silently(const struct rcx_socket_addr *addr, int fds[],
                             int n)
{
    struct rlimit files;

    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &files));
    files.rlim_cur = files.rlim_max;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &files));
    for (int i = 0; i < n; i++)
        fds[i] = rcx_socket_connect(addr);
}

/* In the queue of rank 0 they are before the rank that comes late. */
static void thousands_of_silent_connections_do_not_stop_a_start(void **state)
{
    enum { SILENT = 4000 };
    static int fds[SILENT];
    const struct start common = {.timeout_ns = long_ns};
    struct ranks *ranks = ranks_new();
    struct rcx_socket_root root;

    (void)state;
    ranks_start_all(ranks, 2, &common, life_of_a_late_rank_1);
    wait_for_ranks_at(ranks, 0, 1);
    while (!atomic_load(&ranks->is_made))
        usleep(500);
    assert_true(rcx_socket_root_parse(ranks->id.text, &root));
    connect_silently(&root.addrs.at[0], fds, SILENT);
    atomic_store(&ranks->gates[0], 1);
    ranks_end(ranks);
    for (int i = 0; i < SILENT; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (int i = 0; i < 2; i++)
        assert_good(ranks, i);
    ranks_free(ranks);
}

/* ---- Ranks that die ------------------------------------------------------ */

enum { JOB = 12 };

static rcx_status_t exchange_after_gate(struct side *side, struct ranks *ranks)
{
    const rcx_status_t status = open_only(side, ranks);

    if (status != RCX_OK)
        return status;
    wait_at_gate(ranks, 0);
    return exchange_all(side);
}

static rcx_status_t barrier_after_gate(struct side *side, struct ranks *ranks)
{
    rcx_status_t status = open_only(side, ranks);

    if (status == RCX_OK)
        status = exchange_all(side);
    if (status != RCX_OK)
        return status;
    wait_at_gate(ranks, 0);
    return side->boot->ops->barrier(side->boot, NULL, NULL);
}

/* Signal one rank of a job whose ranks wait at the gate, and let them go on. */
static struct ranks *strike(script_t script, int victim, int number)
{
    int list[JOB];
    struct ranks *ranks;

    for (int i = 0; i < JOB; i++)
        list[i] = i;
    ranks = start_some(JOB, list, JOB, script);
    wait_for_ranks_at(ranks, 0, JOB);
    kill(ranks->pids[victim], number);
    atomic_store(&ranks->gates[0], 1);
    return ranks;
}

static void assert_others_told(struct ranks *ranks, int victim,
                               rcx_status_t status, const char *words)
{
    for (int i = 0; i < ranks->n; i++)
        if (i != victim)
            assert_told(ranks, i, status, words);
    assert_int_equal(KILLED, ranks->outcomes[victim].status);
    ranks_free(ranks);
}

static void
a_rank_that_is_killed_before_an_exchange_is_named_by_all(void **state)
{
    (void)state;
    for (int victim = 0; victim < JOB; victim++) {
        struct ranks *ranks = strike(exchange_after_gate, victim, SIGKILL);
        char words[64];

        snprintf(words, sizeof words,
                 "rank %d ended, or left RCX, before the job", victim);
        ranks_end(ranks);
        assert_others_told(ranks, victim, RCX_ERR_PEER_FAILED, words);
    }
}

static void
a_rank_that_is_killed_before_the_barrier_is_named_by_all(void **state)
{
    (void)state;
    for (int victim = 0; victim < JOB; victim++) {
        struct ranks *ranks = strike(barrier_after_gate, victim, SIGKILL);
        char words[80];

        snprintf(words, sizeof words,
                 "rank %d ended, or left RCX, before all ranks", victim);
        ranks_end(ranks);
        assert_others_told(ranks, victim, RCX_ERR_PEER_FAILED, words);
    }
}

/* Rank 3 never comes, and rank 1 is killed at any moment of its start. */
static void a_rank_that_is_killed_as_it_joins_is_named(void **state)
{
    const int list[] = {0, 1, 2};

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct ranks *ranks = start_some(3, list, 4, whole_life);

        usleep((useconds_t)(1000 << i) / 8);
        kill(ranks->pids[1], SIGKILL);
        ranks_end(ranks);
        for (int rank = 0; rank < 3; rank += 2) {
            const struct outcome *o = &ranks->outcomes[rank];

            if (o->status == RCX_ERR_PEER_FAILED)
                assert_told(ranks, rank, RCX_ERR_PEER_FAILED, "rank 1 ended");
            else if (rank == 2 && strstr(o->line, "refused"))
                assert_told(ranks, rank, RCX_ERR_TIMEOUT, /* it came late */
                            "did not find rank 0");
            else
                assert_told(ranks, rank, RCX_ERR_TIMEOUT,
                            "ranks 1, 3 of 4 did not come");
        }
        ranks_free(ranks);
    }
}

static void end_stopped(struct ranks *ranks, int victim)
{
    for (int i = 0; i < ranks->n; i++) {
        int status = -1;

        if (i == victim)
            continue;
        assert_int_equal(ranks->pids[i], waitpid(ranks->pids[i], &status, 0));
        assert_int_equal(0, status);
    }
    kill(ranks->pids[victim], SIGKILL);
    waitpid(ranks->pids[victim], NULL, 0);
    ranks->outcomes[victim].status = (rcx_status_t)KILLED;
}

static void a_rank_that_is_stopped_is_named_after_the_deadline(void **state)
{
    (void)state;
    for (int victim = 1; victim < JOB; victim++) {
        struct ranks *ranks = strike(exchange_after_gate, victim, SIGSTOP);
        char words[64];

        snprintf(words, sizeof words, "rank %d did not take part within 2 s",
                 victim);
        end_stopped(ranks, victim);
        assert_others_told(ranks, victim, RCX_ERR_TIMEOUT, words);
    }
}

static void a_stopped_rank_0_does_not_keep_the_others(void **state)
{
    struct ranks *ranks = strike(exchange_after_gate, 0, SIGSTOP);

    (void)state;
    end_stopped(ranks, 0);
    assert_others_told(ranks, 0, RCX_ERR_TIMEOUT,
                       "rank 0 did not take part within 2 s");
}

static rcx_status_t end_the_job(struct side *side, struct ranks *ranks)
{
    const rcx_status_t status = open_only(side, ranks);

    if (status != RCX_OK)
        return status;
    if (side->boot->rank != 2)
        return side->boot->ops->barrier(side->boot, NULL, NULL);
    return side->boot->ops->end_job(side->boot, 7, "for a reason") ==
                   RCX_ERR_UNSUPPORTED
               ? RCX_OK
               : RCX_ERR_INTERNAL;
}

static void a_rank_that_ends_the_job_tells_those_that_listen(void **state)
{
    struct ranks *ranks = ranks_new();

    (void)state;
    ranks_start_all(ranks, JOB, &brief, end_the_job);
    ranks_end(ranks);
    for (int i = 0; i < JOB; i++)
        if (i != 2)
            assert_told(ranks, i, RCX_ERR_PEER_FAILED,
                        "rank 2 ended the job with code 7: for a reason");
    assert_good(ranks, 2);
    ranks_free(ranks);
}

/* ---- Memory -------------------------------------------------------------- */

enum { BUDGETS = 40 };

/* Rank 1 has memory for as many blocks as the gates say. */
static rcx_status_t live_on_a_budget(struct side *side, struct ranks *ranks)
{
    if (side->params.rank == 1)
        side->heap.budget = (uint64_t)atomic_load(&ranks->at_gate[0]);
    return whole_life(side, ranks);
}

/* Returns whether all went well. */
static bool live_with_blocks(int n)
{
    struct start start = {.timeout_ns = INT64_C(500000000)};
    struct ranks *ranks = ranks_new();
    bool good = true;

    atomic_store(&ranks->at_gate[0], n);
    ranks_start_all(ranks, 3, &start, live_on_a_budget);
    ranks_end(ranks);
    for (int i = 0; i < 3; i++) {
        const struct outcome *o = &ranks->outcomes[i];

        good &= o->status == RCX_OK;
        assert_int_equal(o->status == RCX_OK ? 0 : 1, o->lines);
        assert_true(o->is_clean);
        assert_int_equal(0, o->descriptors);
    }
    if (!good)
        assert_told(ranks, 1, RCX_ERR_NOMEM, "memory");
    ranks_free(ranks);
    return good;
}

static void
a_rank_without_memory_leaves_nothing_and_ends_the_start(void **state)
{
    int n = 0;

    (void)state;
    while (n < BUDGETS && !live_with_blocks(n))
        n++;
    assert_true(n > 5 && n < BUDGETS);
}

/* ---- Roots --------------------------------------------------------------- */

static void a_port_of_another_program_is_said_by_rank_0(void **state)
{
    struct rcx_socket_addr any = {.port = 0};
    char root[64];
    int fd;

    (void)state;
    assert_true(rcx_socket_ip_parse(LOOPBACK_IP, &any));
    fd = rcx_socket_listen(&any, 0);
    snprintf(root, sizeof root, "%s:%u", LOOPBACK_HOST,
             (unsigned)rcx_socket_port(fd));
    run_with_root(root, "0", RCX_ERR_LAUNCH,
                  "Address already in use; does another job use it?");
    run_with_root(root, "1", RCX_ERR_TIMEOUT, "no answer");
    close(fd);
    run_with_root(root, "1", RCX_ERR_TIMEOUT, "Connection refused");
    run_with_root("unknown.invalid:7", "1", RCX_ERR_TIMEOUT,
                  "did not find rank 0 at unknown.invalid:7");
}

/* The lookup that goes on has a descriptor. */
static void
a_name_service_that_is_silent_does_not_stop_the_deadline(void **state)
{
    struct ranks *ranks = ranks_new();
    const struct outcome *o = &ranks->outcomes[0];
    const struct start start = {.timeout_ns = INT64_C(300000000),
                                .by_environment = true};

    (void)state;
    set_root("silent.invalid:7", "1");
    ranks_start(ranks, 1, &start, whole_life);
    unset_root();
    ranks_end(ranks);
    assert_int_equal(RCX_ERR_TIMEOUT, o->status);
    assert_int_equal(1, o->lines);
    assert_non_null(strstr(o->line, "the name service did not answer"));
    assert_true(o->is_clean);
    assert_int_equal(1, o->descriptors);
    ranks_free(ranks);
}

static void a_file_that_does_not_come_or_is_another_jobs_is_said(void **state)
{
    char path[] = "/tmp/rcx-socket-file.XXXXXX", root[128], words[64];
    const int fd = mkstemp(path);

    (void)state;
    assert_true(dprintf(fd,
                        "rcx1:00000000000000000000000000000000:1.3.00000000:9:"
                        "%s\n",
                        LOOPBACK_IP) > 0);
    close(fd);
    snprintf(root, sizeof root, "file:%s", path);
    snprintf(words, sizeof words, "%s:9: Connection refused", LOOPBACK_HOST);
    run_with_root(root, "1", RCX_ERR_TIMEOUT, words);
    snprintf(root, sizeof root, "file:%s?%032d", path, 1);
    run_with_root(root, "1", RCX_ERR_TIMEOUT, "the file is of another job");
    assert_int_equal(0, chmod(path, 0666));
    run_with_root(root, "1", RCX_ERR_TIMEOUT, "this user alone can write");
    if (geteuid() == 0) { /* only root can make another user's file */
        assert_int_equal(0, chown(path, 65533, 65533));
        run_with_root(root, "1", RCX_ERR_TIMEOUT, "it belongs to user 65533");
    }
    unlink(path);
    assert_int_equal(0, symlink("/etc/passwd", path));
    run_with_root(root, "1", RCX_ERR_TIMEOUT, "it is a link");
    unlink(path);
    run_with_root(root, "1", RCX_ERR_TIMEOUT, "No such file");
    snprintf(root, sizeof root, "file:%s/no/folder", path);
    run_with_root(root, "0", RCX_ERR_LAUNCH, "rank 0 cannot write file:");
}

/* A child has a copy of its parent's listener. */
static void only_the_maker_of_an_id_is_its_rank_0(void **state)
{
    struct ranks *ranks = ranks_new();
    struct start start = brief;
    struct side side;

    (void)state;
    side_init(&side, NULL);
    assert_int_equal(
        RCX_OK, rcx_boot_make_id(LOOPBACK_ANY_PORT, &side.log, &ranks->id));
    atomic_store(&ranks->is_made, 1);
    start.size = 2;
    ranks_start(ranks, 1, &start, whole_life);
    ranks_end(ranks);
    assert_told(ranks, 0, RCX_ERR_LAUNCH,
                "has to be the process that called rcx_get_id()");
    /* and the maker only once */
    side.params.field_mask = RCX_PARAM_ID;
    side.params.id = &ranks->id;
    side.params.size = 1;
    assert_int_equal(RCX_OK, whole_life(&side, ranks));
    side.boot->ops->close(side.boot);
    side.params.size = 2;
    assert_int_equal(RCX_ERR_LAUNCH, open_only(&side, ranks));
    assert_int_equal(1, side.lines.count);
    ranks_free(ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_never_comes_is_named_by_all),
        cmocka_unit_test(a_rank_that_comes_twice_is_an_error_on_all),
        cmocka_unit_test(a_wrong_size_is_an_error_on_all),
        cmocka_unit_test(a_process_with_another_secret_does_not_get_in),
        cmocka_unit_test(thousands_of_silent_connections_do_not_stop_a_start),
        cmocka_unit_test(
            a_rank_that_is_killed_before_an_exchange_is_named_by_all),
        cmocka_unit_test(
            a_rank_that_is_killed_before_the_barrier_is_named_by_all),
        cmocka_unit_test(a_rank_that_is_killed_as_it_joins_is_named),
        cmocka_unit_test(a_rank_that_is_stopped_is_named_after_the_deadline),
        cmocka_unit_test(a_stopped_rank_0_does_not_keep_the_others),
        cmocka_unit_test(a_rank_that_ends_the_job_tells_those_that_listen),
        cmocka_unit_test(
            a_rank_without_memory_leaves_nothing_and_ends_the_start),
        cmocka_unit_test(a_port_of_another_program_is_said_by_rank_0),
        cmocka_unit_test(
            a_name_service_that_is_silent_does_not_stop_the_deadline),
        cmocka_unit_test(a_file_that_does_not_come_or_is_another_jobs_is_said),
        cmocka_unit_test(only_the_maker_of_an_id_is_its_rank_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
