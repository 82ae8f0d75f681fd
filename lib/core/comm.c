/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/context.h"

rcx_status_t rcx_comm_new(struct rcx_context *context, uint32_t id, int rank,
                          int size, struct rcx_comm **comm_p)
{
    struct rcx_comm *comm = rcx_heap_zalloc(&context->heap, sizeof *comm);

    if (!comm)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a communicator");
    comm->magic = RCX_COMM_MAGIC;
    comm->context = context;
    comm->id = id;
    comm->rank = rank;
    comm->size = size;
    rcx_builder_init(&comm->builder, &context->heap, &context->log);
    *comm_p = comm;
    return RCX_OK;
}

void rcx_comm_delete(struct rcx_comm *comm)
{
    if (!comm)
        return;
    comm->magic = 0;
    rcx_plan_cache_clear(comm);
    rcx_builder_free(&comm->builder);
    rcx_heap_free(&comm->context->heap, comm);
}

rcx_status_t rcx_comm_barrier(struct rcx_comm *comm)
{
    const struct rcx_call call = {.coll = RCX_COLL_BARRIER, .type = RCX_BYTE,
                                  .op = RCX_BOR};
    struct rcx_entry *entry;
    rcx_status_t status = comm->failed;

    if (status == RCX_OK)
        status = rcx_entry_get(comm, &call, &entry);
    return status == RCX_OK ? rcx_request_run(comm, entry, NULL, NULL) : status;
}

int rcx_comm_rank(const rcx_comm_t *comm)
{
    return rcx_comm_is_valid(comm) ? comm->rank : -1;
}

int rcx_comm_size(const rcx_comm_t *comm)
{
    return rcx_comm_is_valid(comm) ? comm->size : -1;
}
