/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host program with a bootstrap of its own: it forks the ranks, which find
 * each other through socket pairs to rank 0 and rcx_init()'s callbacks. No
 * launcher, no PMIx; the public API alone.
 */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trial.h"

enum { MOST_RANKS = 9 };

/* A rank's end of its socket pair with rank 0, which has one per rank. */
struct host {
    int rank, size;
    int to[MOST_RANKS];
    int calls;
    int fail_at; /* the call that fails; 0: none */
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
        .field_mask = RCX_PARAM_BOOTSTRAP | RCX_PARAM_LOG,
        .bootstrap = {h->rank, h->size, allgather, barrier, h},
        .log = log,
        .log_arg = arg};

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
    static const struct serial_kind kind = {RCX_FLOAT64, RCX_SUM, 0};
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
            const struct trial trial = trial_mixed(
                &kind, k % 20 == 9 ? 40000 : 3 * k, h->size, k);

            if (trial_run(&trial, rcx_world(context), problem) != RCX_OK)
                return complain(h, problem);
        }
        if (rcx_finalize(&context) != RCX_OK || context || lines)
            return complain(h, "rcx_finalize failed");
        if (h->calls != (h->size > 1 ? 4 : 3)) /* barrier makes one */
            return complain(h, "more than a barrier after rcx_init");
    }
    return 0;
}

/* The host's function fails on every rank: an error, in one line of text. */
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

/* ---- The parent ---------------------------------------------------------- */

static pid_t spawn(int rank, int size, int pairs[][2],
                   int (*body)(struct host *h))
{
    struct host h = {.rank = rank, .size = size};
    pid_t pid;

    fflush(stdout);
    fflush(stderr);
    pid = fork();
    if (pid != 0)
        return pid;
    /* rank 0 has end 0 of every pair, rank i end 1 of its own */
    for (int i = 1; i < size; i++) {
        const int end = rank != 0;

        close(pairs[i][!end]);
        if (rank == 0 || i == rank)
            h.to[rank == 0 ? i : 0] = pairs[i][end];
        else
            close(pairs[i][end]);
    }
    exit(body(&h));
}

static void run_job(int size, int (*body)(struct host *h))
{
    int pairs[MOST_RANKS][2];
    pid_t pids[MOST_RANKS];

    for (int i = 1; i < size; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
    for (int i = 0; i < size; i++) {
        pids[i] = spawn(i, size, pairs, body);
        assert_true(pids[i] > 0);
    }
    for (int i = 1; i < size; i++) {
        close(pairs[i][0]);
        close(pairs[i][1]);
    }
    for (int i = 0; i < size; i++) {
        int status = -1;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(need_6_forked_ranks_reduce),
        cmocka_unit_test(a_host_that_fails_is_a_launch_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
