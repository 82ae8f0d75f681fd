/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * neighbors_main kill | count
 *
 * kill   ranks exchange in a ring, blocking, nonblocking and by a persistent
 *        request; then rank 2 is killed, and the others must get an error that
 *        names it, or an earlier failure of the communicator
 * count  rank 0 sends more than rank 1 receives, which rank 1 must be told
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "rank.h"

enum { VICTIM = 2, WARM_UP = 20, LENGTH = 3000 };

static double in[2 * LENGTH], out[2 * LENGTH];

static void check(int turn)
{
    const int left = (me.rank + me.size - 1) % me.size;
    const int right = (me.rank + 1) % me.size;

    for (int i = 0; i < LENGTH; i++)
        if (out[i] != 1000 * right + turn ||
            out[LENGTH + i] != 1000 * left + turn + 0.5)
            rank_fail("turn %d: element %d is wrong", turn, i);
}

static rcx_status_t exchange(int turn, rcx_request_t *persistent)
{
    const int left = (me.rank + me.size - 1) % me.size;
    const int right = (me.rank + 1) % me.size;
    const int dests[] = {left, right}, sources[] = {right, left};
    const size_t counts[] = {LENGTH, LENGTH};
    rcx_request_t *request = persistent;
    rcx_status_t status;

    for (int i = 0; i < LENGTH; i++) {
        in[i] = 1000 * me.rank + turn;
        in[LENGTH + i] = in[i] + 0.5;
    }
    if (turn % 3 == 0)
        return rcx_neighbor_alltoallv(in, 2, dests, counts, NULL, out, 2,
                                      sources, counts, NULL, RCX_DOUBLE,
                                      me.world);
    status = turn % 3 == 1
                 ? rcx_start(persistent)
                 : rcx_ineighbor_alltoallv(in, 2, dests, counts, NULL, out, 2,
                                           sources, counts, NULL, RCX_DOUBLE,
                                           me.world, &request);
    if (status != RCX_OK)
        return status;
    status = rcx_wait(request);
    if (turn % 3 == 2)
        rank_require(rcx_request_free(&request), "rcx_request_free");
    return status;
}

static void run_until_death(void)
{
    const int left = (me.rank + me.size - 1) % me.size;
    const int right = (me.rank + 1) % me.size;
    const size_t counts[] = {LENGTH, LENGTH};
    rcx_request_t *persistent;
    rcx_status_t status = RCX_OK;

    rank_require(rcx_neighbor_alltoallv_init(in, 2, (int[]){left, right},
                                             counts, NULL, out, 2,
                                             (int[]){right, left}, counts, NULL,
                                             RCX_DOUBLE, me.world, &persistent),
                 "rcx_neighbor_alltoallv_init");
    for (int turn = 0; status == RCX_OK; turn++) {
        if (me.rank == VICTIM && turn == WARM_UP)
            raise(SIGKILL);
        status = exchange(turn, persistent);
        if (status == RCX_OK)
            check(turn);
        if (turn > WARM_UP + me.size)
            rank_fail("a dead neighbour is not an error");
    }
    if (status != RCX_ERR_PEER_FAILED && status != RCX_ERR_COMM_FAILED)
        rank_fail("%s", rcx_status_string(status));
    if (!strstr(me.error, "rank 2"))
        rank_fail("not named: %s", me.error);
    rank_require(rcx_request_free(&persistent), "rcx_request_free");
}

static void send_too_much(void)
{
    const size_t count = me.rank == 0 ? LENGTH : LENGTH - 1;
    const rcx_status_t status =
        me.rank == 0
            ? rcx_neighbor_alltoallv(in, 1, (int[]){1}, &count, NULL, NULL, 0,
                                     NULL, NULL, NULL, RCX_DOUBLE, me.world)
            : rcx_neighbor_alltoallv(NULL, 0, NULL, NULL, NULL, out, 1,
                                     (int[]){0}, &count, NULL, RCX_DOUBLE,
                                     me.world);

    if (me.rank == 1)
        rank_expect(status, RCX_ERR_MISMATCH, "rcx_neighbor_alltoallv");
}

int main(int argc, char **argv)
{
    rank_require(rank_open(NULL), "rcx_init");
    if (argc > 1 && strcmp(argv[1], "kill") == 0)
        run_until_death();
    else
        send_too_much();
    rcx_finalize(&me.context);
    return 0;
}
