/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fail_main HOW COLLECTIVE | names
 *
 * One rank of a job in which rank VICTIM does not enter a call, or a member
 * aborts. The other ranks must get an error within the deadline plus 1 s, and
 * it must name VICTIM. Later calls must fail at once, and rcx_finalize must
 * succeed. Exits with 0, and prints nothing, on success.
 *
 *   kill stop late   VICTIM is killed, is stopped, or does not call; at the end
 *                    rank 0 kills a stopped VICTIM
 *   dead             as kill, without a deadline: RCX_ERR_MODE=peer
 *   abort            VICTIM calls rcx_comm_abort() instead
 *   thread           as abort, without a deadline; VICTIM aborts from its main
 *                    thread while another of its threads waits in the call
 *
 * COLLECTIVE is a name of the tests' table of collectives, which "names"
 * prints; or dup, or idup; or every: all of the table at once, each over a
 * communicator of its own.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives.h"
#include "rank.h"

enum { VICTIM = 2, WARM_UP = 20, MOST = 36000 };
#define DEADLINE_NS SECOND_NS
/* Limit for steps that take no time on an idle machine. */
#define SOON_NS (5 * SECOND_NS)

static int64_t pids[64];
static const char *how;
static int64_t in[MOST], out[MOST];
static size_t count = 3000;    /* or FAIL_COUNT of the environment */
static int64_t *in_rcx_memory; /* send buffer of every second collective */

static rcx_status_t call_of(enum collective coll, enum form form, int i,
                            void *result, rcx_comm_t *comm,
                            rcx_request_t **request_p)
{
    const size_t block = count / (size_t)me.size;
    size_t blocks[64];
    const struct arguments a = {.sendbuf = coll % 2 ? in_rcx_memory : in,
                                .recvbuf = result,
                                .count =
                                    collective_has_blocks(coll) ? block : count,
                                .blocks = blocks,
                                .sendcounts = blocks,
                                .type = RCX_INT64,
                                .op = RCX_SUM,
                                .root = i % me.size,
                                .comm = comm};

    for (int k = 0; k < me.size; k++)
        blocks[k] = block;
    return collective_call(coll, form, &a, request_p);
}

/* ---- Every collective at once -------------------------------------------- */

/* A collective over a communicator of its own. Its calls are nonblocking, one
 * after another, until one fails. */
static struct lane {
    enum collective coll;
    rcx_comm_t *comm;
    rcx_request_t *request; /* NULL: none is active */
    int calls;
    bool failed;
    int64_t out[MOST];
} lanes[COLLECTIVES];

static bool is_every(const char *collective)
{
    return strcmp(collective, "every") == 0;
}

static void open_lanes(int64_t timeout_ns)
{
    for (int i = 0; i < COLLECTIVES; i++) {
        lanes[i].coll = (enum collective)i;
        rank_require(rcx_comm_dup(me.world, &lanes[i].comm), "rcx_comm_dup");
        rank_require(rcx_comm_set_timeout(lanes[i].comm, timeout_ns),
                     "rcx_comm_set_timeout");
    }
}

static void close_lanes(void)
{
    for (int i = 0; i < COLLECTIVES; i++)
        rank_require(rcx_comm_free(&lanes[i].comm), "rcx_comm_free");
}

static rcx_status_t call_in(struct lane *lane, int i)
{
    return call_of(lane->coll, BLOCKING, i, lane->out, lane->comm, NULL);
}

static rcx_status_t call_every(int i)
{
    rcx_status_t status = RCX_OK;

    for (int k = 0; k < COLLECTIVES && status == RCX_OK; k++)
        status = call_in(&lanes[k], i);
    return status;
}

/* Start a call, or test the one that is active. */
static rcx_status_t advance(struct lane *lane)
{
    rcx_status_t status;
    int done = 1;

    if (!lane->request)
        return call_of(lane->coll, NONBLOCKING, lane->calls++, lane->out,
                       lane->comm, &lane->request);
    status = rcx_test(lane->request, &done);
    if (done)
        rank_require(rcx_request_free(&lane->request), "rcx_request_free");
    return status;
}

/* ---- One collective ------------------------------------------------------ */

static rcx_status_t duplicate(void)
{
    rcx_request_t *request;
    rcx_comm_t *copy;
    rcx_status_t status = rcx_comm_idup(me.world, &copy, &request);

    if (status != RCX_OK)
        return status;
    status = rcx_wait(request);
    rank_require(rcx_request_free(&request), "rcx_request_free");
    rank_require(rcx_comm_free(&copy), "rcx_comm_free");
    return status;
}

static rcx_status_t call(const char *collective, int i)
{
    const enum collective coll = collective_by_name(collective);

    if (is_every(collective))
        return call_every(i);
    if (strcmp(collective, "dup") == 0) {
        rcx_comm_t *copy;
        const rcx_status_t status = rcx_comm_dup(me.world, &copy);

        return status == RCX_OK ? rcx_comm_free(&copy) : status;
    }
    if (strcmp(collective, "idup") == 0)
        return duplicate();
    if (coll == COLLECTIVES)
        rank_fail("no such collective: %s", collective);
    return call_of(coll, BLOCKING, i, out, me.world, NULL);
}

/* Make calls until one fails; store the time in *took_p. */
static rcx_status_t call_on(const char *collective, int64_t *took_p)
{
    const int64_t start = rank_time_here();
    rcx_status_t status = RCX_OK;

    for (int i = WARM_UP; status == RCX_OK; i++)
        status = call(collective, i);
    *took_p = rank_time_here() - start;
    return status;
}

/* With NETWORK_REPORTS, which with_fabric and test_cluster.sh set, the network
 * may report the death before the deadline. */
static rcx_status_t expected_status(const rcx_error_info_t *info)
{
    if (how[0] == 'a' || how[0] == 't')
        return RCX_ERR_COMM_FAILED;
    if (strcmp(how, "kill") == 0 && getenv("NETWORK_REPORTS") &&
        info->status == RCX_ERR_PEER_FAILED)
        return RCX_ERR_PEER_FAILED;
    return how[0] == 'd' ? RCX_ERR_PEER_FAILED : RCX_ERR_TIMEOUT;
}

static void check_culprit(const char *collective, rcx_comm_t *comm,
                          int64_t took, rcx_status_t status)
{
    const int aborts = how[0] == 'a' || how[0] == 't';
    const int64_t limit = rank_limit_ns(SECOND_NS) + (aborts ? 0 : DEADLINE_NS);
    rcx_status_t expected;
    rcx_error_info_t info;

    rank_require(rcx_comm_error(comm, &info), "rcx_comm_error");
    expected = expected_status(&info);
    if (status != expected && status != RCX_ERR_COMM_FAILED)
        rank_expect(status, expected, collective);
    if (took > limit)
        rank_fail("%s: the error took %.3f s", collective, (double)took / 1e9);
    if (info.status != expected || info.rank_count != 1 ||
        info.ranks[0] != VICTIM)
        rank_fail("%s: %s, blames %d ranks, the first is %d: %s", collective,
                  rcx_status_string(info.status), info.rank_count,
                  info.rank_count ? info.ranks[0] : -1, info.text);
    if (!me.error[0])
        rank_fail("nothing was logged");
}

static void check_stays_failed(const char *collective)
{
    const int64_t start = rank_time_here();

    for (int i = 0; i < 100; i++)
        if (call(collective, i) != RCX_ERR_COMM_FAILED)
            rank_fail("a failed communicator still works");
    /* 100 deadlines take 100 s */
    if (rank_time_here() - start > rank_limit_ns(SOON_NS))
        rank_fail("a failed communicator is slow");
}

/* Keep a call of every collective active until each has failed. */
static void survive_every(void)
{
    const int64_t start = rank_time_here();

    for (int left = COLLECTIVES; left > 0;)
        for (int i = 0; i < COLLECTIVES; i++) {
            struct lane *lane = &lanes[i];
            const rcx_status_t status = lane->failed ? RCX_OK : advance(lane);

            if (status == RCX_OK)
                continue;
            check_culprit(collectives[i].name, lane->comm,
                          rank_time_here() - start, status);
            rank_expect(call_in(lane, 0), RCX_ERR_COMM_FAILED,
                        "a call of one that has failed");
            lane->failed = true;
            left--;
        }
}

static void survive(const char *collective)
{
    rcx_status_t status;
    int64_t took;

    if (is_every(collective)) {
        survive_every();
        return;
    }
    status = call_on(collective, &took);
    check_culprit(collective, me.world, took, status);
    check_stays_failed(collective);
}

static void give_up(const char *collective)
{
    for (int i = 0; i < COLLECTIVES && is_every(collective); i++)
        rank_require(rcx_comm_abort(lanes[i].comm), "rcx_comm_abort");
    if (!is_every(collective))
        rank_require(rcx_comm_abort(me.world), "rcx_comm_abort");
}

static void *wait_in_thread(void *arg)
{
    survive(arg);
    return NULL;
}

static void abort_from_outside(const char *collective)
{
    pthread_t thread;
    int64_t start, took;

    if (pthread_create(&thread, NULL, wait_in_thread, (void *)collective))
        rank_fail("no thread");
    usleep(200000);
    start = rank_time_here();
    give_up(collective);
    took = rank_time_here() - start;
    /* waiting would never end: there is no deadline */
    if (took > rank_limit_ns(SOON_NS))
        rank_fail("rcx_comm_abort took %.3f s", (double)took / 1e9);
    pthread_join(thread, NULL);
}

static void be_late(const char *collective)
{
    for (int i = 0; i < COLLECTIVES && is_every(collective); i++)
        while (call_in(&lanes[i], 0) == RCX_OK)
            ;
    while (!is_every(collective) && call(collective, 0) == RCX_OK)
        ;
}

static void be_victim(const char *collective)
{
    usleep(100000); /* by then the other ranks are in a call */
    if (strcmp(how, "kill") == 0 || strcmp(how, "dead") == 0)
        raise(SIGKILL);
    if (strcmp(how, "stop") == 0)
        raise(SIGSTOP);
    if (strcmp(how, "late") == 0) {
        rank_await_signals(me.size - 1);
        be_late(collective);
    } else if (strcmp(how, "abort") == 0) {
        give_up(collective);
        check_stays_failed(collective);
    } else if (strcmp(how, "thread") == 0) {
        abort_from_outside(collective);
    } else {
        rank_fail("no such thing to do: %s", how);
    }
}

static int print_names(void)
{
    for (int coll = 0; coll < COLLECTIVES; coll++)
        printf("%s\n", collectives[coll].name);
    return 0;
}

int main(int argc, char **argv)
{
    bool has_no_deadline;

    if (argc == 2 && strcmp(argv[1], "names") == 0)
        return print_names();
    if (argc != 3)
        return 2;
    if (getenv("FAIL_COUNT"))
        count = strtoul(getenv("FAIL_COUNT"), NULL, 10);
    if (count > MOST)
        return 2;
    how = argv[1];
    rank_watch_machine();
    rank_require(rank_open(NULL), "rcx_init"); /* may take a while */
    has_no_deadline = strcmp(how, "thread") == 0 || strcmp(how, "dead") == 0;
    rank_require(
        rcx_comm_set_timeout(me.world, has_no_deadline ? 0 : DEADLINE_NS),
        "rcx_comm_set_timeout");
    if (is_every(argv[2]))
        open_lanes(has_no_deadline ? 0 : DEADLINE_NS);
    rank_require(rcx_mem_alloc(me.world, sizeof in, (void **)&in_rcx_memory),
                 "rcx_mem_alloc");
    memset(in_rcx_memory, 0, sizeof in);
    pids[me.rank] = getpid();
    rank_require(
        rcx_allreduce(RCX_IN_PLACE, pids, 64, RCX_INT64, RCX_SUM, me.world),
        "the sum of process ids");
    for (int i = 0; i < WARM_UP; i++)
        rank_require(call(argv[2], i), "a call before anything happened");
    rank_leave_last(me.world, pids[VICTIM]);
    if (me.rank == VICTIM)
        be_victim(argv[2]);
    else
        survive(argv[2]);
    if (me.rank != VICTIM && strcmp(how, "late") == 0)
        rank_signal(pids[VICTIM]);
    if (is_every(argv[2]))
        close_lanes();
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    if (me.rank == 0 && strcmp(how, "stop") == 0)
        kill((pid_t)pids[VICTIM], SIGKILL);
    return 0;
}
