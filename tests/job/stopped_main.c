/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stopped_main ROUNDS [shared]
 *
 * One of two ranks. In each round rank 1 is stopped somewhere in a call, for
 * longer than rank 0's deadline. Rank 0 gets an error and uses its buffer for
 * something else at once. Rank 1, which has no deadline, goes on in the same
 * call: its result is right, or it gets an error. shared: the buffers come from
 * rcx_mem_alloc(). Exits with 0, and prints nothing, on success.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank.h"

/* RCX waits for 20 ms more than the deadline for an answer of the other. */
enum { COUNT = 30000, DEADLINE_MS = 2, STOP_MS = 40, MOST_US = 100 };

static int64_t own_in[COUNT], own_out[COUNT], *in = own_in, *out = own_out;

static void run_round(int stopper, int us)
{
    rcx_status_t status;
    rcx_comm_t *comm;

    rank_require(rcx_comm_dup(me.world, &comm), "rcx_comm_dup");
    if (me.rank == 0)
        rank_require(rcx_comm_set_timeout(comm, DEADLINE_MS * MS_NS),
                     "rcx_comm_set_timeout");
    for (int i = 0; i < COUNT; i++)
        in[i] = me.rank + i;
    rank_require(rcx_barrier(me.world), "rcx_barrier");
    if (me.rank == 1 && write(stopper, &us, sizeof us) != sizeof us)
        rank_fail("no stopper");
    status = rcx_allreduce(in, out, COUNT, RCX_INT64, RCX_SUM, comm);
    memset(in, 0xee, COUNT * sizeof *in);
    for (int i = 0; status == RCX_OK && i < COUNT; i++)
        if (out[i] != 2 * i + 1)
            rank_fail("stopped after %d us: element %d is %ld", us, i,
                      (long)out[i]);
    if (status != RCX_OK && status != RCX_ERR_TIMEOUT)
        rank_expect(status, RCX_ERR_COMM_FAILED, "rcx_allreduce");
    if (me.rank == 1) /* until it has been stopped */
        rank_sleep_ms(STOP_MS + STOP_MS / 4);
    rank_require(rcx_comm_free(&comm), "rcx_comm_free");
    rank_require(rcx_barrier(me.world), "rcx_barrier");
}

int main(int argc, char **argv)
{
    const int stopper = rank_fork_stopper(STOP_MS);
    void *blocks[2];
    uint64_t random = 5;

    if (argc < 2)
        return 2;
    rank_require(rank_open(NULL), "rcx_init");
    for (int i = 0; argc > 2 && i < 2; i++)
        rank_require(rcx_mem_alloc(me.world, sizeof own_in, &blocks[i]),
                     "rcx_mem_alloc");
    if (argc > 2) {
        in = blocks[0];
        out = blocks[1];
    }
    for (int i = atoi(argv[1]); i > 0; i--)
        run_round(stopper, (int)(rank_random(&random) % MOST_US));
    for (int i = 0; argc > 2 && i < 2; i++)
        rank_require(rcx_mem_free(me.world, blocks[i]), "rcx_mem_free");
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
