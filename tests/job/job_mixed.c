/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of job_main: collectives and messages, mixed. Calls of any size, root
 * and form run on several communicators, with delays, while a nonblocking call
 * and messages are in flight.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 1000, COMMS = 4, MOST = 20000 };

static const struct kind sum = {.type = RCX_UINT64, .op = RCX_SUM};

/* Make four communicators: the world, a copy of it, its ranks in reverse order,
 * and its even or odd ranks. */
static void make_comms(struct member *m, rcx_comm_t *comms[])
{
    comms[0] = m->comm;
    job_require(m, rcx_comm_dup(m->comm, &comms[1]), "rcx_comm_dup");
    job_require(m, rcx_comm_split(m->comm, 0, -m->rank, &comms[2]),
                "rcx_comm_split");
    job_require(m, rcx_comm_split(m->comm, m->rank % 2, 0, &comms[3]),
                "rcx_comm_split");
}

static size_t draw_count(uint64_t random)
{
    static const size_t limits[] = {1, 2, 10, 100, 1000, MOST};

    return (random >> 8) % limits[random % 6];
}

/* Every third call uses memory of rcx_mem_alloc(), so allocations come and
 * go. */
static bool is_in_rcx_memory(uint64_t k)
{
    return serial_mix(k, 9, 9) % 3 == 0;
}

static struct call draw(rcx_comm_t *comm, uint64_t k)
{
    struct call call = call_mixed(&sum, draw_count(serial_mix(k, 7, 7)),
                                  rcx_comm_size(comm), k);

    call.in_rcx_memory = is_in_rcx_memory(k);
    return call;
}

/* ---- Messages round a ring ----------------------------------------------- */

struct ring {
    rcx_comm_t *comm;
    uint64_t seed;
    size_t count;
    int below;
    bool in_rcx_memory; /* whether given is from rcx_mem_alloc() */
    uint64_t *given, *gotten;
    rcx_request_t *requests[2];
};

static void *get_shared(struct member *m, rcx_comm_t *comm, size_t bytes)
{
    void *memory = NULL;

    job_require(m, rcx_mem_alloc(comm, bytes, &memory), "rcx_mem_alloc");
    return memory;
}

static void post(struct member *m, struct ring *r, rcx_comm_t *comm, uint64_t k)
{
    const int rank = rcx_comm_rank(comm), size = rcx_comm_size(comm);
    const int above = (rank + 1) % size, tag = (int)(k % 32768);

    *r = (struct ring){.comm = comm,
                       .seed = serial_mix(k, 3, 3),
                       .count = draw_count(serial_mix(k, 4, 4)),
                       .below = (rank + size - 1) % size};
    r->in_rcx_memory = is_in_rcx_memory(k);
    r->given = r->in_rcx_memory
                   ? get_shared(m, comm, (r->count + 1) * sizeof *r->given)
                   : malloc((r->count + 1) * sizeof *r->given);
    r->gotten = malloc((r->count + 1) * sizeof *r->gotten);
    if (!r->given || !r->gotten)
        abort();
    serial_fill(&sum, r->given, 0, r->count, rank, r->seed);
    job_require(m,
                rcx_irecv(r->gotten, r->count, RCX_UINT64,
                          k % 2 ? RCX_ANY_SOURCE : r->below, tag, comm,
                          &r->requests[0]),
                "rcx_irecv");
    job_require(m,
                rcx_isend(r->given, r->count, RCX_UINT64, above, tag, comm,
                          &r->requests[1]),
                "rcx_isend");
}

static void collect(struct member *m, struct ring *r)
{
    rcx_recv_info_t info;

    job_require(m, rcx_wait_all(2, r->requests), "messages");
    job_require(m, rcx_request_recv_info(r->requests[0], &info),
                "rcx_request_recv_info");
    if (info.source != r->below || info.count != r->count ||
        !serial_keeps(&sum, r->gotten, 0, r->count, r->below, r->seed))
        job_fail(m, "a message of %zu elements of rank %d is wrong", r->count,
                 r->below);
    for (int i = 0; i < 2; i++)
        job_require(m, rcx_request_free(&r->requests[i]), "rcx_request_free");
    if (r->in_rcx_memory)
        job_require(m, rcx_mem_free(r->comm, r->given), "rcx_mem_free");
    else
        free(r->given);
    free(r->gotten);
}

/* ---- The mix ------------------------------------------------------------- */

/* Start a nonblocking call that is in flight during the next calls. */
static void start(struct member *m, struct attempt *a, rcx_comm_t *comm,
                  uint64_t k)
{
    struct call call = draw(comm, k + CALLS);

    call.form = NONBLOCKING;
    attempt_open(a, &call, comm);
    job_require(m, attempt_call(a, comm), "nonblocking");
}

static void finish(struct member *m, struct attempt *a)
{
    job_require(m, rcx_wait(a->request), "rcx_wait");
    if (attempt_check(a))
        job_fail(m, "%s", a->problem);
    attempt_close(a);
}

static void mix(struct member *m, rcx_comm_t *comms[], uint64_t k)
{
    const uint64_t random = serial_mix(k, 5, 5);
    rcx_comm_t *world = m->comm, *comm = comms[random % COMMS];
    const struct call call = draw(comm, k);
    struct attempt beside;
    struct ring ring;

    post(m, &ring, comms[(random >> 8) % COMMS], k);
    start(m, &beside, comms[(random >> 16) % COMMS], k);
    job_delay(m);
    m->comm = comm;
    job_call(m, &call);
    m->comm = world;
    job_delay(m);
    finish(m, &beside);
    collect(m, &ring);
}

void job_mixed(struct member *m)
{
    rcx_comm_t *comms[COMMS];

    make_comms(m, comms);
    for (uint64_t k = 0; k < CALLS; k++)
        mix(m, comms, k);
    for (int i = 1; i < COMMS; i++)
        job_require(m, rcx_comm_free(&comms[i]), "rcx_comm_free");
}
