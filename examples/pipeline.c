/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pipeline: the blocks of a long vector are summed over all ranks, and each
 * sum overlaps with the computation of the next block. At the end all sums are
 * compared with those that one process computes alone.
 */
#include <rcx/rcx.h>
#include <stdio.h>

enum { BLOCKS = 32, BLOCK = 4096, DEPTH = 2 /* blocks in flight */ };

static double mine[DEPTH][BLOCK], sums[BLOCKS][BLOCK];

/* Compute a rank's operand of a block. A real program reads files or computes
 * for long, and calls rcx_progress() from time to time. */
static void compute(int rank, int block, double *out)
{
    for (int i = 0; i < BLOCK; i++)
        out[i] = (rank + 1) * (block * BLOCK + i) % 1000;
}

/* Complete the operation of a slot, and free its request. The operand may be
 * overwritten afterwards. */
static rcx_status_t finish(rcx_request_t **request)
{
    rcx_status_t status = RCX_OK;

    if (*request) {
        status = rcx_wait(*request);
        rcx_request_free(request);
    }
    return status;
}

static rcx_status_t sum_all(rcx_context_t *context, rcx_comm_t *world)
{
    rcx_request_t *requests[DEPTH] = {NULL};
    rcx_status_t status = RCX_OK;

    for (int block = 0; block < BLOCKS && status == RCX_OK; block++) {
        const int slot = block % DEPTH;

        status = finish(&requests[slot]);
        if (status != RCX_OK)
            break;
        compute(rcx_comm_rank(world), block, mine[slot]);
        status = rcx_iallreduce(mine[slot], sums[block], BLOCK, RCX_FLOAT64,
                                RCX_SUM, world, &requests[slot]);
        rcx_progress(context);
    }
    for (int slot = 0; slot < DEPTH; slot++) {
        const rcx_status_t last = finish(&requests[slot]);

        status = status == RCX_OK ? last : status;
    }
    return status;
}

/* Number of elements that differ from the sum over all ranks, computed here. */
static int wrong(int size)
{
    static double want[BLOCK], part[BLOCK];
    int count = 0;

    for (int block = 0; block < BLOCKS; block++) {
        compute(0, block, want);
        for (int rank = 1; rank < size; rank++) {
            compute(rank, block, part);
            for (int i = 0; i < BLOCK; i++)
                want[i] += part[i];
        }
        for (int i = 0; i < BLOCK; i++)
            count += sums[block][i] != want[i];
    }
    return count;
}

int main(void)
{
    rcx_context_t *context;
    rcx_status_t status = rcx_init(NULL, &context);
    int bad = 1;

    if (status != RCX_OK) {
        fprintf(stderr, "%s\n", rcx_status_string(status));
        return 1;
    }

    rcx_comm_t *world = rcx_world(context);

    status = sum_all(context, world);
    if (status == RCX_OK) {
        bad = wrong(rcx_comm_size(world));
        if (rcx_comm_rank(world) == 0)
            printf("%d blocks of %d ranks summed, %d elements wrong\n", BLOCKS,
                   rcx_comm_size(world), bad);
    }
    return rcx_finalize(&context) != RCX_OK || bad != 0;
}
