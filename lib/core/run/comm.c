/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: an id in tags and a list of ranks. Slots of freed ones stay
 * until the context goes, so that a stale handle is recognised.
 */
#include "core/run/comm.h"

#include <string.h>

#include "core/run/cache.h"
#include "core/run/enter.h"
#include "core/run/failure.h"
#include "core/run/request.h"
#include "core/run/watch.h"

static const uint64_t patience_ns = UINT64_C(30000000000);

static bool is_used(const struct rcx_context *context, uint32_t id)
{
    return context->used_ids[id / 8] >> id % 8 & 1;
}

static void mark(struct rcx_context *context, uint32_t id, bool used)
{
    const unsigned char bit = (unsigned char)(1u << id % 8);

    if (used)
        context->used_ids[id / 8] |= bit;
    else
        context->used_ids[id / 8] &= (unsigned char)~bit;
}

rcx_status_t rcx_comm_ids_open(struct rcx_context *context)
{
    context->used_ids =
        rcx_heap_zalloc(&context->heap, rcx_comm_ids_bytes(context));
    if (!context->used_ids)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for communicators");
    for (uint32_t id = 0; id < RCX_COMM_ID_FIRST; id++)
        mark(context, id, true);
    return RCX_OK;
}

uint32_t rcx_comm_id_free_in(const struct rcx_context *context,
                             const unsigned char *used, uint64_t n)
{
    const uint32_t ids = UINT32_C(1) << context->layout.comm_bits;
    uint64_t found = 0;

    for (uint32_t id = RCX_COMM_ID_FIRST; id < ids; id++)
        if (!(used[id / 8] >> id % 8 & 1) && found++ == n)
            return id;
    return found ? rcx_comm_id_free_in(context, used, n % found) : 0;
}

bool rcx_comm_id_take(struct rcx_context *context, uint32_t id)
{
    const bool was_free = !is_used(context, id);

    mark(context, id, true);
    return was_free;
}

void rcx_comm_id_drop(struct rcx_context *context, uint32_t id)
{
    mark(context, id, false);
}

static struct rcx_comm *take_slot(struct rcx_context *context)
{
    struct rcx_comm *comm = context->free_comms;

    if (!comm)
        return rcx_heap_zalloc(&context->heap, sizeof *comm);
    context->free_comms = comm->next;
    memset(comm, 0, sizeof *comm);
    return comm;
}

static void link_comm(struct rcx_context *context, struct rcx_comm *comm)
{
    comm->next = context->comms;
    if (comm->next)
        comm->next->prev = comm;
    context->comms = comm;
}

static void unlink_comm(struct rcx_context *context, struct rcx_comm *comm)
{
    *(comm->prev ? &comm->prev->next : &context->comms) = comm->next;
    if (comm->next)
        comm->next->prev = comm->prev;
}

rcx_status_t rcx_comm_new(struct rcx_context *context, uint32_t id, int rank,
                          int size, int *ranks, struct rcx_comm **comm_p)
{
    struct rcx_comm *comm = take_slot(context);

    if (!comm) {
        rcx_heap_free(&context->heap, ranks);
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a communicator");
    }
    comm->magic = RCX_COMM_MAGIC;
    comm->context = context;
    comm->id = id;
    comm->rank = rank;
    comm->size = size;
    comm->ranks = ranks;
    comm->end = &comm->first;
    comm->mark_mask = rcx_tag_mark(&context->layout, UINT64_MAX);
    rcx_recorder_init(&comm->recorder, &context->heap);
    comm->timeout_ns = context->config.timeout_ns;
    comm->patience_ns = patience_ns;
    link_comm(context, comm);
    *comm_p = comm;
    return RCX_OK;
}

void rcx_comm_delete(struct rcx_comm *comm)
{
    struct rcx_context *context;

    if (!comm)
        return;
    context = comm->context;
    comm->magic = 0;
    rcx_cache_clear(comm);
    rcx_roll_free(comm);
    rcx_recorder_free(&comm->recorder);
    rcx_heap_free(&context->heap, comm->why);
    rcx_heap_free(&context->heap, comm->ranks);
    if (comm->id >= RCX_COMM_ID_FIRST)
        rcx_comm_id_drop(context, comm->id);
    unlink_comm(context, comm);
    comm->next = context->free_comms;
    context->free_comms = comm;
}

void rcx_comm_retire(struct rcx_comm *comm)
{
    if (comm && comm->failed != RCX_OK)
        comm->magic = 0;
    else
        rcx_comm_delete(comm);
}

void rcx_comm_slots_free(struct rcx_context *context)
{
    while (context->free_comms) {
        struct rcx_comm *next = context->free_comms->next;

        rcx_heap_free(&context->heap, context->free_comms);
        context->free_comms = next;
    }
    rcx_heap_free(&context->heap, context->used_ids);
}

rcx_status_t rcx_comm_run(struct rcx_comm *comm, const struct rcx_call *call,
                          const void *in, void *out)
{
    struct rcx_program *program;
    rcx_status_t status = comm->failed == RCX_OK ? RCX_OK : RCX_ERR_COMM_FAILED;

    if (status == RCX_OK)
        status = rcx_program_get(comm, call, &program);
    return status == RCX_OK ? rcx_request_run(comm, program, in, out) : status;
}

rcx_status_t rcx_comm_barrier(struct rcx_comm *comm)
{
    const struct rcx_call call = {.coll = RCX_COLL_BARRIER,
                                  .type = RCX_BYTE,
                                  .op = RCX_BOR,
                                  .internal = true};

    return rcx_comm_run(comm, &call, NULL, NULL);
}

/* ---- Entering ------------------------------------------------------------- */

rcx_status_t rcx_comm_claim(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;

    if (!atomic_exchange_explicit(&comm->starting, true, memory_order_acquire))
        return RCX_OK;
    if (rcx_guard_is_forked(context->guard)) /* by the parent's thread */
        return rcx_enter(context);
    return rcx_fail(&context->log, RCX_ERR_BUSY,
                    "communicator %u: another thread starts a collective on "
                    "it; calls on one communicator need an order",
                    comm->id);
}
