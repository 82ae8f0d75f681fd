/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that rcx_top looks at: top_main loop | outside | message | circle | slow
 * | short. All but the last one run until they are killed.
 */
#include <string.h>
#include <unistd.h>

#include "rank.h"

enum { COUNT = 1000 };

static int64_t data[COUNT];

static void reduce(rcx_comm_t *comm, size_t count)
{
    rank_require(
        rcx_allreduce(RCX_IN_PLACE, data, count, RCX_INT64, RCX_MAX, comm),
        "allreduce");
}

/* The last rank makes three calls, and the others one more. In the third call
 * ranks wait for rank 0, and so are seen in it. */
static void wait_for_last(void)
{
    for (int i = 0; i < 3; i++) {
        if (i == 2 && me.rank == 0)
            usleep(100 * 1000);
        reduce(me.world, 1);
    }
    while (me.rank == me.size - 1)
        pause();
    reduce(me.world, COUNT);
}

/* Rank 0 waits for a message of rank 1 in another communicator. Rank 2 has
 * started a collective there, and does not wait for it. */
static void wait_for_message(void)
{
    rcx_comm_t *comm;
    rcx_request_t *request;

    rank_require(rcx_comm_dup(me.world, &comm), "dup");
    if (me.rank == 0)
        rank_require(rcx_recv(data, COUNT, RCX_INT64, 1, 7, comm, NULL),
                     "recv");
    if (me.rank == 2)
        rank_require(rcx_iallreduce(RCX_IN_PLACE, data, COUNT, RCX_INT64,
                                    RCX_MAX, comm, &request),
                     "iallreduce");
    for (;;)
        pause();
}

/* Each rank waits for a message of the next one, and none is sent. */
static void wait_in_circle(void)
{
    rank_require(rcx_recv(data, COUNT, RCX_INT64, (me.rank + 1) % me.size, 7,
                          me.world, NULL),
                 "recv");
}

static int add_slowly(void *dst, const void *left, const void *right,
                      size_t count, rcx_datatype_t type, void *arg)
{
    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)dst)[i] =
            ((const int64_t *)left)[i] + ((const int64_t *)right)[i];
    usleep(20 * 1000);
    return 0;
}

/* Calls of many steps, each of which completes soon. */
static void reduce_slowly(void)
{
    rcx_op_t op;

    rank_require(rcx_op_create(me.context, add_slowly,
                               RCX_OP_COMMUTATIVE | RCX_OP_NO_FAIL, NULL, &op),
                 "op");
    for (;;)
        rank_require(
            rcx_allreduce(RCX_IN_PLACE, data, COUNT, RCX_INT64, op, me.world),
            "allreduce");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    rank_require(rank_open(NULL), "init");
    if (strcmp(mode, "outside") == 0)
        wait_for_last();
    if (strcmp(mode, "message") == 0)
        wait_for_message();
    if (strcmp(mode, "circle") == 0)
        wait_in_circle();
    if (strcmp(mode, "slow") == 0)
        reduce_slowly();
    reduce(me.world, 1);
    while (strcmp(mode, "loop") == 0)
        reduce(me.world, 1);
    rank_require(rcx_finalize(&me.context), "finalize");
    return 0;
}
