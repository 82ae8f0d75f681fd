/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blame_main WHAT [MS]
 *
 * One rank of a job in which one rank fails or is late. The error must name
 * that rank and no other, in every communicator; in particular no rank that
 * only waits. Exits with 0, and prints nothing, on success.
 *
 *   elsewhere  rank 2 dies; rank 1 waits for it in a communicator of both,
 *              rank 0 waits for both in the world
 *   back       rank 2 dies; rank 1 waits for it in the world, rank 0 waits for
 *              rank 1 in a communicator of both
 *   stops      rank 1 is stopped for MS while all ranks are in a call
 *   many       ranks from 3 on do not enter the call, whose deadline is MS
 *   count      rank 1 passes another count than the other ranks
 *   left       rank 1 aborts the world, and finalizes while rank 0 waits for it
 *              in a communicator of both (RCX_ERR_MODE=peer)
 *   group      rank 2 dies while ranks 0 and 1 make a group of its communicator
 *              (RCX_ERR_MODE=peer)
 *   poor       rank 1 has no file descriptor for the connection to rank 0
 *   mapped     rank 1 is killed while rank 0 maps its memory (fabric.c)
 *   stream     the last rank dies in a stream of long calls, after MS
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rank.h"

enum { LATE_MS = 100, BLOCK = 27054, LONG_BYTES = 1500000, STREAM = 4 };

static int delay_ms;

/* Check that the error of comm has this status and names exactly these ranks.
 * RCX_OK: the status is not checked. */
static void check(rcx_comm_t *comm, rcx_status_t status, const int ranks[],
                  int n)
{
    rcx_error_info_t info;

    rank_require(rcx_comm_error(comm, &info), "rcx_comm_error");
    if (status != RCX_OK && info.status != status)
        rank_fail("%s instead of %s: %s", rcx_status_string(info.status),
                  rcx_status_string(status), info.text);
    if (info.rank_count != n)
        rank_fail("names %d ranks: %s", info.rank_count, info.text);
    for (int i = 0; i < n; i++)
        if (info.ranks[i] != ranks[i])
            rank_fail("names rank %d: %s", info.ranks[i], info.text);
}

static void check_one(rcx_comm_t *comm, rcx_status_t status, int rank)
{
    check(comm, status, &rank, 1);
}

/* A barrier of comm fails, as one rank is dead: by the deadline, unless the
 * network reports it (with_fabric sets NETWORK_REPORTS). */
static void expect_dead(rcx_comm_t *comm, int rank, const char *what)
{
    rcx_status_t status = rcx_barrier(comm);

    if (status == RCX_ERR_PEER_FAILED && getenv("NETWORK_REPORTS")) {
        check_one(comm, status, rank);
        return;
    }
    rank_expect(status, RCX_ERR_TIMEOUT, what);
    check_one(comm, RCX_ERR_TIMEOUT, rank);
}

/* Make a communicator of ranks first to last of the world. */
static rcx_comm_t *part_of_world(int first, int last)
{
    const bool is_in = me.rank >= first && me.rank <= last;
    rcx_comm_t *part;

    rank_require(rcx_comm_split(me.world, is_in ? 1 : RCX_UNDEFINED, 0, &part),
                 "rcx_comm_split");
    rank_barrier_left_last(me.world, 2);
    return part;
}

static void wait_elsewhere(void)
{
    rcx_comm_t *pair = part_of_world(1, 2);

    if (me.rank == 2)
        raise(SIGKILL);
    if (me.rank == 1) {
        rank_sleep_ms(LATE_MS);
        expect_dead(pair, 1, "rank 1's barrier");
        rcx_comm_free(&pair);
        return;
    }
    expect_dead(me.world, 2, "rank 0's barrier");
}

static void wait_for_one_that_waits(void)
{
    rcx_comm_t *pair = part_of_world(0, 1);

    if (me.rank == 2)
        raise(SIGKILL);
    if (me.rank == 1) {
        rank_sleep_ms(LATE_MS);
        expect_dead(me.world, 2, "rank 1's barrier");
    } else {
        rank_expect(rcx_barrier(pair), RCX_ERR_TIMEOUT, "rank 0's");
        check(pair, RCX_ERR_TIMEOUT, NULL, 0);
    }
    rcx_comm_free(&pair);
}

static void stop_for_a_while(void)
{
    const pid_t self = getpid();

    if (fork() == 0) {
        rank_sleep_ms(LATE_MS / 2);
        kill(self, SIGSTOP);
        rank_sleep_ms(delay_ms);
        kill(self, SIGCONT);
        _exit(0);
    }
}

static void stop(void)
{
    double *in = calloc(BLOCK, sizeof *in);
    double *out = calloc((size_t)BLOCK * (size_t)me.size, sizeof *out);

    rank_require(rcx_barrier(me.world), "rcx_barrier");
    if (me.rank == 1)
        stop_for_a_while();
    if (me.rank == me.size - 1)
        rank_sleep_ms(LATE_MS);
    if (rcx_allgather(in, out, BLOCK, RCX_FLOAT64, me.world) != RCX_OK)
        check_one(me.world, RCX_ERR_TIMEOUT, 1);
    /* in and out may be read until rcx_finalize() has returned */
}

/* The list of absent ranks is longer than one control message can hold. */
static void many(void)
{
    const int64_t deadline_ns = (int64_t)delay_ms * 1000000;
    rcx_error_info_t info = {.rank_count = 0};
    int absent[64];

    rank_require(rcx_barrier(me.world), "rcx_barrier");
    rank_require(rcx_comm_set_timeout(me.world, deadline_ns),
                 "rcx_comm_set_timeout");
    for (int i = 3; i < me.size; i++)
        absent[i - 3] = i;
    if (me.rank >= 3)
        rank_sleep_ms(3 * delay_ms);
    else if (rcx_barrier(me.world) == RCX_OK)
        rank_fail("a barrier without ranks 3 and more");
    if (me.rank < 3) {
        const int64_t until = rank_now_ns() + 10 * deadline_ns;

        while (info.rank_count < me.size - 3 && rank_now_ns() < until) {
            rcx_progress(me.context); /* the rest of the list may follow */
            rank_require(rcx_comm_error(me.world, &info), "rcx_comm_error");
        }
        check(me.world, RCX_ERR_TIMEOUT, absent, me.size - 3);
    }
}

static void count(void)
{
    int64_t in[1025] = {0}, out[1025];

    rank_require(rcx_barrier(me.world), "rcx_barrier");
    rank_expect(rcx_allreduce(in, out, me.rank == 1 ? 1025 : 1024, RCX_INT64,
                              RCX_SUM, me.world),
                RCX_ERR_MISMATCH, "counts that differ");
    check_one(me.world, RCX_ERR_MISMATCH, 1);
}

static void leave(void)
{
    rcx_comm_t *pair = part_of_world(0, 1);
    rcx_error_info_t info;
    int x = 0;

    if (me.rank != 1)
        rank_require(rcx_send(&x, 1, RCX_INT, 1, 7, me.world), "rcx_send");
    for (int i = 0; i < me.size && me.rank == 1; i++)
        if (i != 1)
            rank_require(rcx_recv(&x, 1, RCX_INT, i, 7, me.world, NULL),
                         "rcx_recv");
    if (me.rank == 1)
        rank_require(rcx_comm_abort(me.world), "rcx_comm_abort");
    if (me.rank == 0) {
        rank_expect(rcx_barrier(pair), RCX_ERR_PEER_FAILED, "rank 0's barrier");
        rank_require(rcx_comm_error(pair, &info), "rcx_comm_error");
        if (!strstr(info.text, "has called rcx_finalize()"))
            rank_fail("does not say that it has left: %s", info.text);
    }
    if (pair)
        rcx_comm_free(&pair);
}

static void make_group(void)
{
    const int members[] = {0, 1};
    rcx_comm_t *parent, *group = NULL;
    rcx_status_t status;

    rank_require(rcx_comm_dup(me.world, &parent), "rcx_comm_dup");
    rank_barrier_left_last(me.world, 2);
    if (me.rank == 2) {
        rank_sleep_ms(LATE_MS);
        raise(SIGKILL);
    }
    if (me.rank == 1 && rcx_barrier(parent) == RCX_OK)
        rank_fail("a barrier without rank 2");
    status = rcx_comm_create_group(parent, 2, members, 5, &group);
    rank_expect(status, RCX_ERR_COMM_FAILED, "rcx_comm_create_group");
    check_one(parent, RCX_ERR_PEER_FAILED, 2);
    rcx_comm_free(&parent);
}

static void die_as_it_is_mapped(void)
{
    const char *file = getenv("FABRIC_VICTIM");
    char text[4096];
    int x = 0;

    snprintf(text, sizeof text, "%s.new", file);
    if (me.rank == 1) {
        FILE *victim = fopen(text, "w");

        fprintf(victim, "%ld\n", (long)getpid());
        fclose(victim);
        rename(text, file);
        pause();
    }
    while (access(file, F_OK) != 0)
        rank_sleep_ms(10);
    rcx_send(&x, 1, RCX_INT, 1, 7, me.world); /* rank 1 may have left already */
    if (rcx_recv(&x, 1, RCX_INT, 1, 7, me.world, NULL) == RCX_OK)
        rank_fail("a message of a rank that was killed");
    check_one(me.world, RCX_OK, 1);
}

static void lack_descriptors(void)
{
    const struct rlimit few = {.rlim_cur = 64, .rlim_max = 64};
    int fds[64], n = 0, x = 0;

    if (me.rank == 1) {
        setrlimit(RLIMIT_NOFILE, &few);
        while (n < 64 && (fds[n] = open("/dev/null", O_RDONLY)) >= 0)
            n++;
        if (rcx_send(&x, 1, RCX_INT, 0, 7, me.world) == RCX_OK)
            rank_fail("a message without a descriptor");
        while (n > 0)
            close(fds[--n]);
    } else if (me.rank == 0 &&
               rcx_recv(&x, 1, RCX_INT, 1, 7, me.world, NULL) == RCX_OK) {
        rank_fail("a message from a rank without a descriptor");
    }
    if (me.rank < 2)
        check_one(me.world, RCX_ERR_LIMIT, 1);
}

static void *die_soon(void *arg)
{
    rank_sleep_ms(delay_ms);
    raise(SIGKILL);
    kill(getpid(), SIGKILL);
    return arg;
}

static rcx_status_t start_long(int i, char *in, char *out, rcx_request_t **p)
{
    return i % 2 ? rcx_iallgather(in, out, LONG_BYTES, RCX_BYTE, me.world, p)
                 : rcx_ialltoall(in, out, LONG_BYTES, RCX_BYTE, me.world, p);
}

static void stream(void)
{
    const size_t size = (size_t)me.size;
    rcx_status_t status;
    char *in[STREAM], *out[STREAM];
    pthread_t thread;

    for (int i = 0; i < STREAM; i++) {
        in[i] = calloc(LONG_BYTES, size);
        out[i] = calloc(LONG_BYTES, size);
    }
    /* slow ranks may still be in this barrier when the last rank dies */
    status = rcx_barrier(me.world);
    if (me.rank == me.size - 1)
        pthread_create(&thread, NULL, die_soon, NULL);
    while (status == RCX_OK) {
        rcx_request_t *requests[STREAM] = {NULL};

        for (int i = 0; i < STREAM && status == RCX_OK; i++)
            status = start_long(i, in[i], out[i], &requests[i]);
        if (status == RCX_OK)
            status = rcx_wait_all(STREAM, requests);
        for (int i = 0; i < STREAM; i++)
            if (requests[i])
                rcx_request_free(&requests[i]);
    }
    check_one(me.world, RCX_OK, me.size - 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"elsewhere", wait_elsewhere},
        {"back", wait_for_one_that_waits},
        {"stops", stop},
        {"many", many},
        {"count", count},
        {"left", leave},
        {"group", make_group},
        {"poor", lack_descriptors},
        {"mapped", die_as_it_is_mapped},
        {"stream", stream},
    };

    delay_ms = argc > 2 ? atoi(argv[2]) : 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc < 2 || strcmp(argv[1], cases[i].name) != 0)
            continue;
        rank_require(rank_open(NULL), "rcx_init");
        cases[i].run();
        rcx_finalize(&me.context); /* may return the error as well */
        return 0;
    }
    return 2;
}
