/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host program with its own bootstrap: it forks the ranks, which exchange
 * data through socket pairs to rank 0, by the callbacks of rcx_init(). Without
 * launcher and PMIx; through the public API only.
 */
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"
#include "leave_last.h"
#include "lines.h"
#include "loopback.h"

enum { MOST_RANKS = 9 };

/* State of the host program in a rank. to[0] is the socket to rank 0; rank 0
 * has a socket to each other rank. */
struct host {
    int rank, size;
    int to[MOST_RANKS];
    int calls;
    int fail_at; /* number of the call that fails; 0: none */
    int (*barrier)(void *arg);
    int64_t timeout_ns;
    int met; /* of polled_barrier(): ranks that have entered */
    bool has_come;
};

static bool move(int fd, char *bytes, size_t count, bool out)
{
    while (count > 0) {
        const ssize_t n =
            out ? write(fd, bytes, count) : read(fd, bytes, count);

        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        if (n > 0) {
            bytes += n;
            count -= (size_t)n;
        }
    }
    return true;
}

static bool gather(const struct host *h, char *recv, size_t bytes, bool out)
{
    for (int i = 1; i < h->size; i++) {
        const size_t all = (size_t)h->size * bytes;

        if (!move(h->to[i], out ? recv : recv + (size_t)i * bytes,
                  out ? all : bytes, out))
            return false;
    }
    return true;
}

static int allgather(const void *send, void *recv, size_t bytes, void *arg)
{
    struct host *h = arg;

    if (++h->calls == h->fail_at)
        return 7;
    if (h->rank == 0) {
        memcpy(recv, send, bytes);
        return !gather(h, recv, bytes, false) || !gather(h, recv, bytes, true);
    }
    return !move(h->to[0], (char *)send, bytes, true) ||
           !move(h->to[0], recv, (size_t)h->size * bytes, false);
}

static int barrier(void *arg)
{
    struct host *h = arg;
    char mine = 0, all[MOST_RANKS];

    return allgather(&mine, all, 1, h);
}

/* Take a byte if one has arrived; returns 1 then. */
static ssize_t look(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT);
}

/* A barrier that never blocks: each rank sends to rank 0, which answers all
 * ranks once all have sent. */
static int polled_barrier(void *arg)
{
    struct host *h = arg;
    char byte = 0;

    if (h->rank > 0) {
        if (!h->has_come && !move(h->to[0], &byte, 1, true))
            return 5;
        h->has_come = true;
        return look(h->to[0]) == 1 ? 0 : RCX_IN_PROGRESS;
    }
    while (h->met < h->size - 1 && look(h->to[h->met + 1]) == 1)
        h->met++;
    if (h->met < h->size - 1)
        return RCX_IN_PROGRESS;
    for (int i = 1; i < h->size; i++)
        if (!move(h->to[i], &byte, 1, true))
            return 6;
    return 0;
}

static int endless_barrier(void *arg)
{
    (void)arg;
    return RCX_IN_PROGRESS;
}

/* ---- A rank -------------------------------------------------------------- */

static int complain(const struct host *h, const char *what)
{
    fprintf(stderr, "rank %d of %d: %s\n", h->rank, h->size, what);
    return 1;
}

static rcx_status_t open_context(struct host *h, rcx_log_fn_t log, void *arg,
                                 rcx_context_t **context_p)
{
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_BOOTSTRAP | RCX_PARAM_LOG | RCX_PARAM_TIMEOUT,
        .bootstrap = {h->rank, h->size, allgather, h->barrier, h},
        .log = log,
        .log_arg = arg,
        .timeout_ns = h->timeout_ns};

    h->met = 0;
    h->has_come = false;
    return rcx_init(&params, context_p);
}

static void print(rcx_log_level_t level, const char *text, void *arg)
{
    fprintf(stderr, "level %d: %s\n", level, text);
    ++*(int *)arg;
}

static void swallow(rcx_log_level_t level, const char *text, void *arg)
{
    (void)level;
    *(int *)arg += strstr(text, "allgather") != NULL;
}

static int use(struct host *h)
{
    static const struct kind kind = {.type = RCX_FLOAT64, .op = RCX_SUM};
    rcx_context_t *context;
    char problem[256];
    int lines = 0;

    for (int cycle = 0; cycle < 3; cycle++) {
        h->calls = 0;
        if (open_context(h, print, &lines, &context) != RCX_OK)
            return complain(h, "rcx_init failed");
        if (h->calls != (h->size > 1 ? 3 : 2))
            return complain(h, "another number of allgathers");
        if (rcx_comm_rank(rcx_world(context)) != h->rank ||
            rcx_comm_size(rcx_world(context)) != h->size)
            return complain(h, "another rank or size");
        for (uint64_t k = 0; k < 60; k++) {
            const struct call call =
                call_mixed(&kind, k % 20 == 9 ? 40000 : 3 * k, h->size, k);

            if (call_run(&call, rcx_world(context), problem) != RCX_OK)
                return complain(h, problem);
        }
        if (rcx_finalize(&context) != RCX_OK || context || lines)
            return complain(h, "rcx_finalize failed");
        if (h->calls != (h->size > 1 ? 4 : 3)) /* one call of barrier() */
            return complain(h, "more than a barrier after rcx_init");
    }
    return 0;
}

static int sum_up(struct host *h, rcx_context_t *context)
{
    for (int k = 0; k < 60; k++) {
        double numbers[10];

        for (int i = 0; i < 10; i++)
            numbers[i] = h->rank + i;
        if (rcx_allreduce(RCX_IN_PLACE, numbers, 10, RCX_FLOAT64, RCX_SUM,
                          rcx_world(context)) != RCX_OK)
            return complain(h, "rcx_allreduce failed");
        for (int i = 0; i < 10; i++)
            if (numbers[i] != h->size * (h->size - 1) / 2 + h->size * i)
                return complain(h, "a wrong sum");
    }
    return 0;
}

static int finalize_repeatedly(struct host *h)
{
    rcx_context_t *context;
    struct lines lines = {0};

    for (int cycle = 0; cycle < 3; cycle++) {
        if (open_context(h, lines_keep, &lines, &context) != RCX_OK)
            return complain(h, lines.last);
        if (sum_up(h, context) != 0)
            return 1;
        if (rcx_finalize(&context) != RCX_OK || context || lines.count)
            return complain(h, lines.last);
    }
    return 0;
}

/* The host's barrier never completes, on any rank: rcx_finalize() times out. */
static int finalize_until_timeout(struct host *h)
{
    rcx_context_t *context;
    struct lines lines = {0};

    h->timeout_ns = INT64_C(1000000000);
    if (open_context(h, lines_keep, &lines, &context) != RCX_OK)
        return complain(h, lines.last);
    if (sum_up(h, context) != 0)
        return 1;
    if (rcx_finalize(&context) != RCX_ERR_TIMEOUT || context || !lines.count)
        return complain(h, "not RCX_ERR_TIMEOUT");
    return 0;
}

/* The last rank is killed before it finalizes; the others finalize and get an
 * error that names it. */
static int die_before_finalize(struct host *h)
{
    rcx_context_t *context;
    struct lines lines = {0};
    char blame[32];
    rcx_status_t status;

    h->timeout_ns = INT64_C(1000000000);
    if (open_context(h, lines_keep, &lines, &context) != RCX_OK)
        return complain(h, lines.last);
    if (sum_up(h, context) != 0)
        return 1;
    if (leave_last(rcx_world(context), h->size - 1) != RCX_OK)
        return complain(h, "a message before the death");
    if (h->rank == h->size - 1)
        raise(SIGKILL);
    status = rcx_finalize(&context);
    snprintf(blame, sizeof blame, "rank %d", h->size - 1);
    /* over TCP a message to that rank may fail before the deadline */
    if ((status != RCX_ERR_TIMEOUT && status != RCX_ERR_PEER_FAILED) ||
        context || !strstr(lines.last, blame))
        return complain(h, lines.count ? lines.last : "nothing was logged");
    return 0;
}

/* The host's allgather fails on every rank: rcx_init() returns an error and
 * logs one line. */
static int fail_to_open(struct host *h)
{
    rcx_context_t *context = NULL;

    for (h->fail_at = 1; h->fail_at <= 3; h->fail_at++) {
        int lines = 0;

        h->calls = 0;
        if (open_context(h, swallow, &lines, &context) != RCX_ERR_LAUNCH)
            return complain(h, "not RCX_ERR_LAUNCH");
        if (context || lines != 1)
            return complain(h, "not one line of text");
    }
    return 0;
}

static void count_lines(rcx_log_level_t level, const char *text, void *arg)
{
    (void)level;
    *(int *)arg += strstr(text, "UCX_TLS=self") ? 1 : 100;
}

/* No transport connects the ranks: a call fails with RCX_ERR_TRANSPORT. */
static int reach_no_peer(struct host *h)
{
    rcx_context_t *context = NULL;
    double in = 1, out;
    int lines = 0;

    setenv("UCX_TLS", "self", 1);
    if (!freopen("/dev/null", "w", stdout)) /* UCX prints it there too */
        return complain(h, "no /dev/null");
    if (open_context(h, count_lines, &lines, &context) != RCX_OK)
        return complain(h, "rcx_init failed");
    if (rcx_allreduce(&in, &out, 1, RCX_FLOAT64, RCX_SUM, rcx_world(context)) !=
        RCX_ERR_TRANSPORT)
        return complain(h, "not RCX_ERR_TRANSPORT");
    if (rcx_finalize(&context) != RCX_OK || lines != 1)
        return complain(h, "rcx_finalize failed, or another number of lines");
    return 0;
}

/* ---- The parent ---------------------------------------------------------- */

enum { TIMEOUT_SECONDS = 60 /* ends a hang */ };

/* The ranks of a job. Their output is kept in a file, which must stay empty. */
struct team {
    int size;
    int (*body)(struct host *h);
    int (*barrier)(void *arg);
    const char *const *environment; /* NAME, VALUE, ..., NULL */
    int pairs[MOST_RANKS][2];
    FILE *output;
    int killed; /* the rank that is killed; -1: none */
};

_Noreturn static void run_rank(struct team *team, int rank)
{
    struct host h = {
        .rank = rank, .size = team->size, .barrier = team->barrier};

    /* rank 0 has end 0 of every pair, rank i end 1 of its own pair */
    for (int i = 1; i < team->size; i++) {
        const int end = rank != 0;

        close(team->pairs[i][!end]);
        if (rank == 0 || i == rank)
            h.to[rank == 0 ? i : 0] = team->pairs[i][end];
        else
            close(team->pairs[i][end]);
    }
    for (int i = 0; team->environment && team->environment[i]; i += 2)
        setenv(team->environment[i], team->environment[i + 1], 1);
    dup2(fileno(team->output), STDOUT_FILENO);
    dup2(fileno(team->output), STDERR_FILENO);
    alarm(TIMEOUT_SECONDS);
    exit(team->body(&h));
}

static pid_t spawn(struct team *team, int rank)
{
    pid_t pid;

    fflush(stdout);
    fflush(stderr);
    pid = fork();
    if (pid == 0)
        run_rank(team, rank);
    return pid;
}

static void check_output(FILE *output)
{
    char line[512];

    rewind(output);
    while (fgets(line, sizeof line, output))
        fail_msg("a rank printed: %s", line);
    fclose(output);
}

static void run_team(struct team *team)
{
    pid_t pids[MOST_RANKS];
    bool good = true;

    team->output = tmpfile();
    assert_non_null(team->output);
    for (int i = 1; i < team->size; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, team->pairs[i]),
                         0);
    for (int i = 0; i < team->size; i++) {
        pids[i] = spawn(team, i);
        assert_true(pids[i] > 0);
    }
    for (int i = 1; i < team->size; i++) {
        close(team->pairs[i][0]);
        close(team->pairs[i][1]);
    }
    for (int i = 0; i < team->size; i++) {
        int status = -1;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        good &= i == team->killed ? WIFSIGNALED(status) : status == 0;
    }
    check_output(team->output);
    assert_true(good);
}

static void run_job(int size, int (*body)(struct host *h))
{
    struct team team = {
        .size = size, .body = body, .barrier = barrier, .killed = -1};

    run_team(&team);
}

static void need_6_forked_ranks_reduce(void **state)
{
    (void)state;
    for (int size = 1; size <= MOST_RANKS; size += size < 5 ? 1 : 2)
        run_job(size, use);
}

static void a_host_that_fails_is_a_launch_error(void **state)
{
    (void)state;
    run_job(3, fail_to_open);
}

static int (*const barriers[])(void *arg) = {barrier, polled_barrier, NULL};
enum { BARRIERS = sizeof barriers / sizeof *barriers };

static const char *const tcp[] = {"RCX_UCX_TLS", "tcp,self", "UCX_NET_DEVICES",
                                  "lo", NULL};
static const char *const peer[] = {"RCX_ERR_MODE", "peer", NULL};
static const char *const tcp_and_peer[] = {
    "RCX_UCX_TLS", "tcp,self", "UCX_NET_DEVICES", "lo", "RCX_ERR_MODE",
    "peer",        NULL};
static const char *const *const networks[] = {NULL, tcp, peer, tcp_and_peer};
enum { NETWORKS = sizeof networks / sizeof *networks };

/* UCX's TCP over lo needs an address of IPv4. */
static bool has_network(const char *const *environment)
{
    if ((environment != tcp && environment != tcp_and_peer) ||
        has_ipv4_loopback())
        return true;
    print_message("# skipped: TCP: lo has no address 127.0.0.1\n");
    return false;
}

/* Run body over every network that UCX has here, with every kind of barrier. */
static void run_all(int size, int (*body)(struct host *h))
{
    for (int network = 0; network < NETWORKS; network++) {
        if (!has_network(networks[network]))
            continue;
        for (int i = 0; i < BARRIERS; i++) {
            struct team team = {.size = size,
                                .body = body,
                                .barrier = barriers[i],
                                .killed = -1,
                                .environment = networks[network]};

            run_team(&team);
        }
    }
}

static void ranks_finalize_with_every_kind_of_host_barrier(void **state)
{
    (void)state;
    for (int size = 1; size <= 5; size++)
        run_all(size, finalize_repeatedly);
}

static void a_rank_that_dies_does_not_delay_finalize(void **state)
{
    (void)state;
    for (int i = 0; i < BARRIERS; i++) {
        struct team team = {.size = 4,
                            .body = die_before_finalize,
                            .barrier = barriers[i],
                            .killed = 3};

        run_team(&team);
        team.environment = tcp;
        if (has_network(tcp))
            run_team(&team);
    }
}

static void a_barrier_that_is_polled_has_a_deadline(void **state)
{
    struct team team = {.size = 3,
                        .body = finalize_until_timeout,
                        .barrier = endless_barrier,
                        .killed = -1};

    (void)state;
    run_team(&team);
}

static void ranks_that_cannot_be_reached_are_an_error(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++)
        run_job(size, reach_no_peer);
}

/* The exit status of a process, whose host name has so many letters: 0, or the
 * negated status of rcx_init(); or SKIPS. */
enum { SKIPS = 100 };
static int init_named(size_t letters, rcx_log_fn_t log)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG, .log = log};
    char name[HOST_NAME_MAX];
    rcx_context_t *context;
    rcx_status_t status;

    memset(name, 'h', sizeof name);
    if (unshare(CLONE_NEWUTS) != 0 || sethostname(name, letters) != 0)
        return SKIPS;
    status = rcx_init(&params, &context);
    return status == RCX_OK ? -rcx_finalize(&context) : -status;
}

/* Ends the process unless the line is right. */
static void check_line(rcx_log_level_t level, const char *text, void *arg)
{
    (void)arg;
    if (level != RCX_LOG_ERROR || !strstr(text, "host name has 64 letters"))
        _exit(1);
}

static void a_host_name_that_ucx_has_no_room_for_is_refused(void **state)
{
    static const struct {
        size_t letters;
        int code;
    } cases[] = {{HOST_NAME_MAX - 1, 0}, {HOST_NAME_MAX, -RCX_ERR_LIMIT}};
    int status;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();

        if (child == 0)
            _exit(init_named(cases[i].letters, check_line));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == SKIPS)
            skip_because("this process may not change its host name");
        assert_int_equal(WEXITSTATUS(status), cases[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_cannot_be_reached_are_an_error),
        cmocka_unit_test(a_host_name_that_ucx_has_no_room_for_is_refused),
        cmocka_unit_test(need_6_forked_ranks_reduce),
        cmocka_unit_test(a_host_that_fails_is_a_launch_error),
        cmocka_unit_test(ranks_finalize_with_every_kind_of_host_barrier),
        cmocka_unit_test(a_rank_that_dies_does_not_delay_finalize),
        cmocka_unit_test(a_barrier_that_is_polled_has_a_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
