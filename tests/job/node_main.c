/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node_main WHAT
 *
 * One rank of a job on several nodes, whose last node fails. Exits with 0, and
 * prints nothing, if the ranks of the other nodes and the living ranks of the
 * last one get the expected errors.
 *
 *   dies   all ranks of the last node are killed, and the others go on
 *   cut    the link of the last node is down for longer than the deadline; the
 *          other ranks go on, and those of the last node are excluded, unless
 *          RCX_QUORUM=any lets both go on
 *   slow   its link becomes slow: a call with a long deadline completes, one
 *          with a short deadline times out
 */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank.h"

enum { NAME = 64, RANKS_MOST = 64, COUNT = 64 << 10, CUT_MS = 5000 };
#define DEADLINE_NS rank_limit_ns(SECOND_NS)

static int64_t in[COUNT], out[COUNT];
static int64_t lost[COUNT]; /* messages of a failed call may arrive late */
static char names[RANKS_MOST][NAME];
static int victims[RANKS_MOST], victim_count;
static bool is_victim;

static void find_victims(void)
{
    char mine[NAME] = "";

    if (me.size > RANKS_MOST)
        rank_fail("%d ranks are too many", me.size);
    gethostname(mine, sizeof mine - 1);
    rank_require(rcx_allgather(mine, names, NAME, RCX_UINT8, me.world),
                 "the names of nodes");
    for (int i = 0; i < me.size; i++)
        if (strcmp(names[i], names[me.size - 1]) == 0)
            victims[victim_count++] = i;
    is_victim = strcmp(mine, names[me.size - 1]) == 0;
    if (victim_count == me.size)
        rank_fail("all ranks are on one node");
}

static rcx_status_t sum(rcx_comm_t *comm)
{
    return rcx_allreduce(in, out, COUNT, RCX_INT64, RCX_SUM, comm);
}

static void check_sum(void)
{
    for (int i = 0; i < COUNT; i++)
        if (out[i] != (int64_t)i * me.size)
            rank_fail("element %d is %ld", i, (long)out[i]);
}

/* Run command on the last node, by its first rank. The effect ends with the
 * namespaces of that node. */
static void have_done(const char *command)
{
    if (me.rank == victims[0] && system(command) != 0)
        rank_fail("%s", command);
}

static bool is_among_victims(int rank)
{
    for (int i = 0; i < victim_count; i++)
        if (victims[i] == rank)
            return true;
    return false;
}

/* Connections of processes that die are reset, and a rank may see that
 * first. */
static void check_culprits(bool may_be_reset)
{
    const int others = is_victim ? me.size - victim_count : victim_count;
    const char *node = names[is_victim ? 0 : me.size - 1];
    rcx_error_info_t info;

    rank_require(rcx_comm_error(me.world, &info), "rcx_comm_error");
    if (info.status == RCX_ERR_PEER_FAILED && may_be_reset
            ? info.rank_count < 1
            : info.status != RCX_ERR_TIMEOUT || info.rank_count != others)
        rank_fail("%s, blames %d ranks: %s", rcx_status_string(info.status),
                  info.rank_count, info.text);
    for (int i = 0; i < info.rank_count; i++)
        if (is_among_victims(info.ranks[i]) == is_victim)
            rank_fail("blames rank %d: %s", info.ranks[i], info.text);
    if (!strstr(info.text, node))
        rank_fail("does not name %s: %s", node, info.text);
}

static void die(void)
{
    if (is_victim)
        raise(SIGKILL);
}

static void cut(void)
{
    have_done("ip link set eth0 down");
}

/*
 * Make calls until one fails, within the deadline and a second. The error must
 * name only ranks of the other side, and one of its nodes. A rank that leaves
 * the barrier knows that all earlier calls are complete; other ranks may still
 * be in the barrier.
 */
static void lose_the_others(void (*happen)(void), bool may_be_reset)
{
    int64_t start = rank_time_here();
    rcx_status_t status = rcx_barrier(me.world);

    happen();
    while (status == RCX_OK) {
        start = rank_time_here();
        status = sum(me.world);
    }
    if (rank_time_here() - start > DEADLINE_NS + rank_limit_ns(SECOND_NS))
        rank_fail("the error took %.3f s",
                  (double)(rank_time_here() - start) / 1e9);
    check_culprits(may_be_reset);
}

/* The ranks of this side go on in a communicator of their own. */
static void go_on(void)
{
    const char *quorum = getenv("RCX_QUORUM");
    const bool may_all = quorum && strcmp(quorum, "any") == 0;
    rcx_comm_t *next;
    const rcx_status_t status =
        rcx_comm_shrink(me.world, 8 * DEADLINE_NS, &next);
    const int *failed;
    int n;

    rank_expect(status, is_victim && !may_all ? RCX_ERR_EXCLUDED : RCX_OK,
                "rcx_comm_shrink");
    if (status != RCX_OK)
        return;
    rank_require(rcx_comm_failed(me.world, &n, &failed), "rcx_comm_failed");
    for (int i = 0; i < n; i++)
        if (is_among_victims(failed[i]) == is_victim)
            rank_fail("goes on without rank %d", failed[i]);
    if (n + rcx_comm_size(next) != me.size)
        rank_fail("%d ranks go on without %d", rcx_comm_size(next), n);
    rank_require(sum(next), "a call of those that go on");
    for (int i = 0; i < COUNT; i++)
        if (out[i] != (int64_t)i * rcx_comm_size(next))
            rank_fail("element %d is %ld", i, (long)out[i]);
    rank_require(rcx_comm_free(&next), "rcx_comm_free");
}

static void go_slowly(void)
{
    rcx_error_info_t info;
    rcx_status_t status;
    rcx_comm_t *hasty;

    have_done("tc qdisc change dev eth0 root tbf rate 10mbit burst 64kb "
              "latency 400ms");
    rank_require(rcx_comm_set_timeout(me.world, 60 * SECOND_NS),
                 "rcx_comm_set_timeout");
    rank_require(sum(me.world), "a call that has time");
    check_sum();
    rank_require(rcx_comm_dup(me.world, &hasty), "rcx_comm_dup");
    rank_require(rcx_comm_set_timeout(hasty, 100 * MS_NS),
                 "rcx_comm_set_timeout");
    status = rcx_allreduce(in, lost, COUNT, RCX_INT64, RCX_SUM, hasty);
    if (status != RCX_ERR_TIMEOUT && status != RCX_ERR_COMM_FAILED)
        rank_expect(status, RCX_ERR_TIMEOUT, "a call that has no time");
    rank_require(rcx_comm_error(hasty, &info), "rcx_comm_error");
    if (info.status != RCX_ERR_TIMEOUT) /* no rank has failed */
        rank_fail("%s, blames %d ranks: %s", rcx_status_string(info.status),
                  info.rank_count, info.text);
    rank_require(rcx_comm_free(&hasty), "rcx_comm_free");
    rank_require(sum(me.world), "the world is as it was");
    check_sum();
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    rank_watch_machine();
    rank_require(rank_open(NULL), "rcx_init");
    rank_require(rcx_comm_set_timeout(me.world, 20 * SECOND_NS),
                 "rcx_comm_set_timeout");
    for (int i = 0; i < COUNT; i++)
        in[i] = i;
    find_victims();
    rank_require(sum(me.world), "a call before anything happened");
    check_sum();
    rank_require(rcx_comm_set_timeout(me.world, DEADLINE_NS),
                 "rcx_comm_set_timeout");
    if (strcmp(argv[1], "slow") == 0) {
        go_slowly();
    } else if (strcmp(argv[1], "dies") == 0) {
        lose_the_others(die, true);
        go_on();
    } else if (strcmp(argv[1], "cut") == 0) {
        lose_the_others(cut, false);
        go_on();
        have_done("sleep 3 && ip link set eth0 up");
        if (is_victim) /* exits only when the launcher can be told of it */
            rank_sleep_ms(CUT_MS);
    } else {
        return 2;
    }
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
