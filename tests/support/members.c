/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of a communicator by one of its members: its ranks, and the results of
 * collectives on it. For tests in which each member has a thread or a process;
 * failures end the process.
 */
#include "members.h"

#include "test.h"

const int in_order[MEMBERS_MOST] = {0, 1, 2,  3,  4,  5,  6,  7,
                                    8, 9, 10, 11, 12, 13, 14, 15};

static const struct kind sum = {.type = RCX_UINT64, .op = RCX_SUM};

rcx_comm_t *members_make(rcx_comm_t *world, int i)
{
    const int rank = rcx_comm_rank(world), size = rcx_comm_size(world);
    rcx_comm_t *comm = NULL;
    int ranks[MEMBERS_MOST];

    for (int k = 0; k < size; k++)
        ranks[k] = k;
    require_ok(i % 5 ? RCX_OK : rcx_comm_split(world, RCX_UNDEFINED, 0, &comm));
    if (i % 3 == 0)
        require_ok(rcx_comm_dup(world, &comm));
    else if (i % 3 == 1)
        require_ok(rcx_comm_split(world, 0, -rank, &comm));
    else
        require_ok(rcx_comm_create_group(world, size, ranks, i % 8192, &comm));
    return comm;
}

void members_begin(rcx_comm_t *world, int i, rcx_comm_t **new_p,
                   rcx_request_t **request_p)
{
    const int rank = rcx_comm_rank(world), size = rcx_comm_size(world);

    if (i % 3 == 0)
        require_ok(rcx_comm_idup(world, new_p, request_p));
    else if (i % 3 == 1)
        require_ok(rcx_comm_isplit(world, 0, -rank, new_p, request_p));
    else
        require_ok(rcx_comm_icreate_group(world, size, in_order, i % 8192,
                                          new_p, request_p));
}

void members_start(struct attempt *a, rcx_comm_t *comm, uint64_t k,
                   uint64_t seed)
{
    struct call call = call_mixed(&sum, 7 * k % 160, rcx_comm_size(comm), k);

    call.form = NONBLOCKING;
    call.seed = seed;
    attempt_open(a, &call, comm);
    require_ok(attempt_call(a, comm));
}

void members_verify(struct attempt *a)
{
    if (attempt_check(a))
        require_failed(__FILE__, __LINE__, "attempt_check", a->problem);
}

void members_finish(struct attempt *a)
{
    require_ok(rcx_wait(a->request));
    members_verify(a);
    attempt_close(a);
}

void members_run(rcx_comm_t *comm, uint64_t k)
{
    const struct call call =
        call_mixed(&sum, 7 * k % 160, rcx_comm_size(comm), k);
    char problem[256];

    if (call_run(&call, comm, problem) != RCX_OK)
        require_failed(__FILE__, __LINE__, "call_run", problem);
}

void members_check(rcx_comm_t *comm, int me, const int ranks[], int n)
{
    const int rank = rcx_comm_rank(comm);
    int32_t seats[MEMBERS_MOST] = {0};

    require(rcx_comm_size(comm) == n);
    require(rank >= 0 && rank < n && ranks[rank] == me);
    seats[rank] = me + 1;
    require_ok(rcx_allreduce(RCX_IN_PLACE, seats, (size_t)n, RCX_INT32, RCX_SUM,
                             comm));
    for (int i = 0; i < n; i++)
        require(seats[i] == ranks[i] + 1);
    for (uint64_t k = 0; k < 8; k++)
        members_run(comm, k);
}

int members_draw(uint64_t *state, int n)
{
    *state = serial_mix(*state, 1, 2);
    return (int)((*state >> 33) % (uint64_t)n);
}

void members_shuffle(uint64_t *state, int list[], int n)
{
    for (int i = 0; i < n; i++) {
        const int k = members_draw(state, i + 1);

        list[i] = list[k];
        list[k] = i;
    }
}
