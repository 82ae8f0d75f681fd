/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Offsets of clocks. Ranks of one machine have one clock (CLOCK_MONOTONIC).
 * Rank 0 exchanges short messages with the first rank of each other machine,
 * one after the other, and takes the quickest: the other clock was read
 * somewhere between both of its ends, so half of its duration bounds the error.
 * That rank tells the others of its machine.
 */
#include "core/api/clocks.h"

#include "core/base/clock.h"

enum { TRIPS = 16, TAG = 0 };

/* Machines are numbered in the order of their first ranks. */
static int machine_of(const struct rcx_context *context, int rank)
{
    const struct rcx_nodes *nodes = rcx_nodes_linked(context->nodes);

    return nodes ? nodes->node[rank] : 0;
}

/* ---- Rank 0 and another one ---------------------------------------------- */

/* Buffers of messages. */
struct marks {
    uint64_t time;
    struct rcx_clock_mark mark;
};

static rcx_status_t reply(rcx_comm_t *comm, struct marks *m)
{
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < TRIPS && status == RCX_OK; i++) {
        status = rcx_recv(&m->time, 1, RCX_UINT64, 0, TAG, comm, NULL);
        if (status != RCX_OK)
            break;
        m->time = rcx_now_ns();
        status = rcx_send(&m->time, 1, RCX_UINT64, 0, TAG, comm);
    }
    return status == RCX_OK ? rcx_recv(&m->mark, sizeof m->mark, RCX_BYTE, 0,
                                       TAG, comm, NULL)
                            : status;
}

static rcx_status_t ask(rcx_comm_t *comm, int peer, struct marks *m)
{
    struct rcx_clock_mark *best = &m->mark;
    rcx_status_t status = RCX_OK;

    *best = (struct rcx_clock_mark){.error_ns = INT64_MAX};

    for (int i = 0; i < TRIPS && status == RCX_OK; i++) {
        const uint64_t begin = rcx_now_ns();
        int64_t half;

        m->time = begin;
        status = rcx_send(&m->time, 1, RCX_UINT64, peer, TAG, comm);
        if (status == RCX_OK)
            status = rcx_recv(&m->time, 1, RCX_UINT64, peer, TAG, comm, NULL);
        half = (int64_t)(rcx_now_ns() - begin + 1) / 2;
        if (status == RCX_OK && half < best->error_ns)
            *best = (struct rcx_clock_mark){
                m->time, (int64_t)(m->time - begin) - half, half};
    }
    return status == RCX_OK
               ? rcx_send(best, sizeof *best, RCX_BYTE, peer, TAG, comm)
               : status;
}

/* ---- All ----------------------------------------------------------------- */

static rcx_status_t measure(struct rcx_context *context,
                            const struct rcx_nodes *nodes, struct marks *m)
{
    rcx_comm_t *comm = context->internal;
    const int rank = comm->rank, own = machine_of(context, rank);
    const int *ranks = nodes->ranks + nodes->first[own];
    const int count = rcx_nodes_size(nodes, own);
    rcx_status_t status = RCX_OK;

    for (int i = 1; rank == 0 && i < nodes->count && status == RCX_OK; i++)
        status = ask(comm, nodes->ranks[nodes->first[i]], m);
    if (own == 0)
        return status;
    status = rank == ranks[0] ? reply(comm, m)
                              : rcx_recv(&m->mark, sizeof m->mark, RCX_BYTE,
                                         ranks[0], TAG, comm, NULL);
    for (int i = 1; rank == ranks[0] && i < count && status == RCX_OK; i++)
        status =
            rcx_send(&m->mark, sizeof m->mark, RCX_BYTE, ranks[i], TAG, comm);
    return status;
}

static rcx_status_t measure_kept(struct rcx_context *context,
                                 const struct rcx_nodes *nodes,
                                 struct rcx_clock_mark *mark)
{
    struct marks *m =
        context->marks ?: rcx_heap_zalloc(&context->heap, sizeof *m);
    rcx_status_t status;

    if (!m)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory to compare clocks");
    context->marks = m;
    status = measure(context, nodes, m);
    if (status != RCX_OK)
        return status;
    if (machine_of(context, context->boot->rank) != 0)
        *mark = m->mark;
    rcx_heap_free(&context->heap, m);
    context->marks = NULL;
    return RCX_OK;
}

rcx_status_t rcx_clocks_measure(struct rcx_context *context)
{
    struct rcx_observer *o = context->observer;
    const struct rcx_nodes *nodes = rcx_nodes_linked(context->nodes);
    struct rcx_clock_mark mark = {.at_ns = rcx_now_ns()};
    rcx_status_t status = RCX_OK;

    if (nodes)
        status = measure_kept(context, nodes, &mark);
    if (status == RCX_OK && o->marks < RCX_CLOCK_MARKS)
        o->mark[o->marks++] = mark;
    return status;
}
