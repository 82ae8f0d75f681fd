/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank of test_profile.sh: profile_main MODE CALLS
 *
 *   late    CALLS allreduces of 8 bytes, before each of which the last rank
 *           sleeps for 20 ms; as many broadcasts from rank 0; and CALLS
 *           nonblocking allreduces on halves of the world
 *   many    the same, with one of these allreduces
 *   dies    the same, and rank 1 ends before it finalizes
 *   shrink  the same, and the others go on without it
 *   aborts  the same, and rank 0 aborts a communicator of ranks 0 and 2
 *   dump    the same as late, with a dump of each rank to dump.RANK
 *   messages  CALLS messages from rank 0 to rank 1, and as many back, which are
 *           received from any source
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leave_last.h"
#include "rcx/rcx.h"

#define MUST(call)                                                             \
    do {                                                                       \
        const rcx_status_t status_ = (call);                                   \
        if (status_ != RCX_OK) {                                               \
            fprintf(stderr, "%s: %s\n", #call, rcx_status_string(status_));    \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

static void late_allreduces(rcx_comm_t *comm, int calls)
{
    const bool is_last = rcx_comm_rank(comm) == rcx_comm_size(comm) - 1;
    double sum, one = 1;

    for (int i = 0; i < calls; i++) {
        if (is_last)
            usleep(20000);
        MUST(rcx_allreduce(&one, &sum, 1, RCX_FLOAT64, RCX_SUM, comm));
    }
}

static void broadcasts(rcx_comm_t *comm, int calls)
{
    char text[1024] = "";

    for (int i = 0; i < calls; i++)
        MUST(rcx_bcast(text, sizeof text, RCX_BYTE, 0, comm));
}

static void halves(rcx_comm_t *world, int calls)
{
    rcx_comm_t *half;
    rcx_request_t *request;
    int64_t one = 1, sum;

    MUST(rcx_comm_split(world, rcx_comm_rank(world) % 2, 0, &half));
    for (int i = 0; i < calls; i++) {
        MUST(rcx_iallreduce(&one, &sum, 1, RCX_INT64, RCX_SUM, half, &request));
        MUST(rcx_wait(request));
        MUST(rcx_request_free(&request));
    }
    MUST(rcx_comm_free(&half));
}

/* The ranks of the other half see no failure. */
static void abort_half(rcx_comm_t *world)
{
    rcx_comm_t *half;

    MUST(rcx_comm_split(world, rcx_comm_rank(world) % 2, 0, &half));
    if (rcx_comm_rank(world) == 0)
        MUST(rcx_comm_abort(half));
    if (rcx_barrier(half) !=
        (rcx_comm_rank(world) % 2 ? RCX_OK : RCX_ERR_COMM_FAILED))
        exit(1);
    MUST(rcx_comm_free(&half));
}

static void messages(rcx_comm_t *world, int calls)
{
    const int rank = rcx_comm_rank(world);
    int64_t word = 0;

    for (int i = 0; i < calls; i++) {
        if (rank == 1)
            MUST(rcx_recv(&word, 1, RCX_INT64, 0, 7, world, NULL));
        MUST(rcx_send(&word, 1, RCX_INT64, 1 - rank, 7, world));
        if (rank == 0)
            MUST(rcx_recv(&word, 1, RCX_INT64, RCX_ANY_SOURCE, 7, world, NULL));
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "late";
    const int calls = argc > 2 ? atoi(argv[2]) : 10;
    rcx_context_t *context;
    rcx_comm_t *world, *living;
    char path[64];

    MUST(rcx_init(NULL, &context));
    world = rcx_world(context);
    if (strcmp(mode, "messages") == 0) {
        messages(world, calls);
        return rcx_finalize(&context) != RCX_OK;
    }
    late_allreduces(world, strcmp(mode, "many") == 0 ? 1 : calls);
    broadcasts(world, calls);
    halves(world, calls);
    if (strcmp(mode, "aborts") == 0)
        abort_half(world);
    if (strcmp(mode, "dump") == 0) {
        snprintf(path, sizeof path, "dump.%d", rcx_comm_rank(world));
        MUST(rcx_dump(context, path));
    }
    if (strcmp(mode, "dies") == 0 || strcmp(mode, "shrink") == 0) {
        MUST(leave_last(world, 1));
        if (rcx_comm_rank(world) == 1)
            _exit(0);
    }
    if (strcmp(mode, "shrink") == 0) {
        MUST(rcx_comm_shrink(world, 0, &living));
        broadcasts(living, calls);
        MUST(rcx_comm_free(&living));
    }
    rcx_finalize(&context);
    return 0;
}
