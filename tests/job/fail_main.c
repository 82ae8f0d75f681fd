/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fail_main HOW COLLECTIVE
 *
 * One rank of a job in which rank VICTIM does not come to a call: it is killed,
 * is stopped, or just does not call; or a member aborts. The others must have
 * an error within the deadline and a second, know who it was, fail at once
 * afterwards, and leave in order. Prints nothing and exits with 0 if it was so.
 *
 *   kill stop late   what the victim does instead of calling; rank 0 ends one
 *                    that is stopped
 *   dead             as kill, but there is no deadline: RCX_ERR_MODE=peer
 *   abort            the victim calls rcx_comm_abort() instead
 *   thread           a thread of each other rank waits, the victim's does, too,
 *                    and the victim's main thread aborts
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives.h"
#include "rank.h"

enum { VICTIM = 2, WARM_UP = 20, COUNT = 3000 };
#define DEADLINE_NS SECOND_NS

static int64_t pids[64];
static const char *how;
static int64_t in[COUNT], out[COUNT];

static rcx_status_t call_of(enum collective coll, int root)
{
    const size_t block = COUNT / (size_t)me.size;
    size_t blocks[64];
    const struct arguments a = {.sendbuf = in,
                                .recvbuf = out,
                                .count =
                                    collective_has_blocks(coll) ? block : COUNT,
                                .blocks = blocks,
                                .sendcounts = blocks,
                                .type = RCX_INT64,
                                .op = RCX_SUM,
                                .root = root,
                                .comm = me.world};

    for (int i = 0; i < me.size; i++)
        blocks[i] = block;
    return collective_call(coll, BLOCKING, &a, NULL);
}

static rcx_status_t call(const char *collective, int i)
{
    const enum collective coll = collective_by_name(collective);

    if (strcmp(collective, "dup") == 0) {
        rcx_comm_t *copy;
        const rcx_status_t status = rcx_comm_dup(me.world, &copy);

        return status == RCX_OK ? rcx_comm_free(&copy) : status;
    }
    if (coll == COLLECTIVES)
        rank_fail("no such collective: %s", collective);
    return call_of(coll, i % me.size);
}

/* Calls until one fails; how long that took. */
static rcx_status_t call_on(const char *collective, int64_t *took_p)
{
    const int64_t start = rank_now_ns();
    rcx_status_t status = RCX_OK;

    for (int i = WARM_UP; status == RCX_OK; i++)
        status = call(collective, i);
    *took_p = rank_now_ns() - start;
    return status;
}

static void check_blame(const char *collective, int64_t took,
                        rcx_status_t status)
{
    const int aborts = how[0] == 'a' || how[0] == 't';
    const rcx_status_t expected = aborts          ? RCX_ERR_COMM_FAILED
                                  : how[0] == 'd' ? RCX_ERR_PEER_FAILED
                                                  : RCX_ERR_TIMEOUT;
    const int64_t limit = SECOND_NS + (aborts ? 0 : DEADLINE_NS);
    rcx_error_info_t info;

    if (status != expected && status != RCX_ERR_COMM_FAILED)
        rank_expect(status, expected, collective);
    if (took > limit)
        rank_fail("the error took %.3f s", (double)took / 1e9);
    rank_require(rcx_comm_error(me.world, &info), "rcx_comm_error");
    if (info.status != expected || info.rank_count != 1 ||
        info.ranks[0] != VICTIM)
        rank_fail("%s, blames %d ranks, the first is %d: %s",
                  rcx_status_string(info.status), info.rank_count,
                  info.rank_count ? info.ranks[0] : -1, info.text);
    if (!me.error[0])
        rank_fail("nothing was logged");
}

static void check_latch(const char *collective)
{
    const int64_t start = rank_now_ns();

    for (int i = 0; i < 100; i++)
        if (call(collective, i) != RCX_ERR_COMM_FAILED)
            rank_fail("a failed communicator still works");
    if (rank_now_ns() - start > SECOND_NS / 2)
        rank_fail("a failed communicator is slow");
}

static void survive(const char *collective)
{
    int64_t took;
    const rcx_status_t status = call_on(collective, &took);

    check_blame(collective, took, status);
    check_latch(collective);
}

static void *wait_in_thread(void *arg)
{
    int64_t took;

    survive(arg);
    (void)took;
    return NULL;
}

static void abort_from_outside(const char *collective)
{
    pthread_t thread;
    int64_t start, took;

    if (pthread_create(&thread, NULL, wait_in_thread, (void *)collective))
        rank_fail("no thread");
    usleep(200000);
    start = rank_now_ns();
    rank_require(rcx_comm_abort(me.world), "rcx_comm_abort");
    took = rank_now_ns() - start;
    if (took > SECOND_NS / 10)
        rank_fail("rcx_comm_abort took %.3f s", (double)took / 1e9);
    pthread_join(thread, NULL);
}

static void be_victim(const char *collective)
{
    usleep(100000); /* the others have warmed up */
    if (strcmp(how, "kill") == 0 || strcmp(how, "dead") == 0)
        raise(SIGKILL);
    if (strcmp(how, "stop") == 0)
        raise(SIGSTOP);
    if (strcmp(how, "late") == 0) {
        usleep(2000000);
        while (call(collective, 0) == RCX_OK)
            ;
    } else if (strcmp(how, "abort") == 0) {
        rank_require(rcx_comm_abort(me.world), "rcx_comm_abort");
        check_latch(collective);
    } else if (strcmp(how, "thread") == 0) {
        abort_from_outside(collective);
    } else {
        rank_fail("no such thing to do: %s", how);
    }
}

int main(int argc, char **argv)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_TIMEOUT,
                                 .timeout_ns = DEADLINE_NS};

    if (argc != 3)
        return 2;
    how = argv[1];
    rank_require(rank_open(&params), "rcx_init");
    if (strcmp(how, "thread") == 0 || strcmp(how, "dead") == 0)
        rank_require(rcx_comm_set_timeout(me.world, 0), "rcx_comm_set_timeout");
    pids[me.rank] = getpid();
    rank_require(
        rcx_allreduce(RCX_IN_PLACE, pids, 64, RCX_INT64, RCX_SUM, me.world),
        "the sum of process ids");
    for (int i = 0; i < WARM_UP; i++)
        rank_require(call(argv[2], i), "a call before anything happened");
    if (me.rank == VICTIM)
        be_victim(argv[2]);
    else
        survive(argv[2]);
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    if (me.rank == 0 && strcmp(how, "stop") == 0)
        kill((pid_t)pids[VICTIM], SIGKILL);
    return 0;
}
