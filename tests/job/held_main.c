/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held_main
 *
 * A rank of a job whose last rank dies by SIGKILL, again and again, down to
 * three ranks: always while the others hold each other's messages, since
 * theirs have arrived and the victim's never will. The others shrink and go on
 * over the same connections, with vectors of many lengths. Exits with 0, and
 * prints nothing, on success.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "rank.h"

enum { LEAST = 3, MOST = 20000, ROUNDS = 40, AT_ONCE = 3, VALUES = 97 };
#define LIMIT_NS (20 * SECOND_NS)

static double in[AT_ONCE][MOST], out[AT_ONCE][MOST];

static double value(int rank, size_t i)
{
    return (rank + 1) * (double)(i % VALUES + 1);
}

static void check(const double *vector, size_t count, int ranks)
{
    for (size_t i = 0; i < count; i++)
        if (vector[i] != ranks * (ranks + 1) / 2 * (double)(i % VALUES + 1))
            rank_fail("element %zu of %zu is %g on %d ranks", i, count,
                      vector[i], ranks);
}

/* Start calls of different lengths, and complete them in any order. */
static void run_some(rcx_comm_t *comm, uint64_t *random)
{
    rcx_request_t *requests[AT_ONCE];
    size_t counts[AT_ONCE];

    for (int k = 0; k < AT_ONCE; k++) {
        counts[k] =
            1 + rank_random(random) % (MOST >> rank_random(random) % 12);
        rank_require(rcx_iallreduce(in[k], out[k], counts[k], RCX_FLOAT64,
                                    RCX_SUM, comm, &requests[k]),
                     "rcx_iallreduce");
    }
    for (int k = AT_ONCE - 1; k >= 0; k--) {
        rank_require(rcx_wait(requests[k]), "rcx_wait");
        rank_require(rcx_request_free(&requests[k]), "rcx_request_free");
        check(out[k], counts[k], rcx_comm_size(comm));
    }
}

/* The last rank dies. Return a communicator of the others. */
static rcx_comm_t *lose_one(rcx_comm_t *comm, size_t count)
{
    const int last = rcx_comm_size(comm) - 1;
    rcx_comm_t *next;

    rank_barrier_left_last(comm, last);
    if (rcx_comm_rank(comm) == last)
        kill(getpid(), SIGKILL);
    if (rcx_allreduce(in[0], out[0], count, RCX_FLOAT64, RCX_SUM, comm) ==
        RCX_OK)
        rank_fail("a call without the last rank succeeds");
    rank_require(rcx_comm_shrink(comm, LIMIT_NS, &next), "rcx_comm_shrink");
    if (rcx_comm_size(next) != rcx_comm_size(comm) - 1)
        rank_fail("%d ranks go on", rcx_comm_size(next));
    return next;
}

int main(void)
{
    uint64_t random = 5;
    rcx_comm_t *comm;

    rank_require(rank_open(NULL), "rcx_init");
    for (int k = 0; k < AT_ONCE; k++)
        for (size_t i = 0; i < MOST; i++)
            in[k][i] = value(me.rank, i);
    rank_require(rcx_comm_dup(me.world, &comm), "rcx_comm_dup");
    for (;;) {
        rcx_comm_t *old = comm;

        for (int i = 0; i < ROUNDS; i++)
            run_some(comm, &random);
        if (rcx_comm_size(comm) == LEAST)
            break;
        comm = lose_one(comm, 200 << rcx_comm_size(comm) % 5);
        rank_require(rcx_comm_free(&old), "rcx_comm_free");
    }
    rank_require(rcx_comm_free(&comm), "rcx_comm_free");
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
