/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory from RCX. */
#include "core/api/arguments.h"
#include "core/run/enter.h"

rcx_status_t rcx_mem_alloc(rcx_comm_t *comm, size_t bytes, void **ptr_p)
{
    struct rcx_context *context;
    rcx_status_t status;
    void *ptr;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm", comm);
    if (!ptr_p)
        return rcx_missing(&comm->context->log, "ptr_p");
    context = comm->context;
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    ptr = rcx_memory_get(&context->memory, &context->heap, context->transport,
                         bytes);
    if (ptr)
        *ptr_p = ptr;
    else
        status = rcx_fail(&context->log, RCX_ERR_NOMEM, "bytes=%zu: no memory",
                          bytes);
    rcx_comm_leave(comm);
    return status;
}

static rcx_status_t put(rcx_comm_t *comm, void *ptr, bool is_lent,
                        const char *otherwise)
{
    struct rcx_context *context;
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm", comm);
    context = comm->context;
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    if (!rcx_memory_put(&context->memory, &context->heap, ptr, is_lent))
        status =
            rcx_fail(&context->log, RCX_ERR_ARG, "ptr=%p: %s", ptr, otherwise);
    rcx_comm_leave(comm);
    return status;
}

rcx_status_t rcx_mem_free(rcx_comm_t *comm, void *ptr)
{
    return put(comm, ptr, false, "not from rcx_mem_alloc()");
}

static rcx_status_t lend(struct rcx_context *context, void *ptr, size_t bytes)
{
    if (!ptr && bytes > 0)
        return rcx_missing(&context->log, "ptr");
    if (bytes > UINTPTR_MAX - (uintptr_t)ptr)
        return rcx_fail(&context->log, RCX_ERR_ARG,
                        "bytes=%zu: more than there are behind ptr=%p", bytes,
                        ptr);
    if (rcx_memory_overlaps(&context->memory, ptr, bytes))
        return rcx_fail(&context->log, RCX_ERR_ARG,
                        "ptr=%p: overlaps memory that is known already", ptr);
    return rcx_memory_lend(&context->memory, &context->heap, context->transport,
                           ptr, bytes)
               ? RCX_OK
               : rcx_fail(&context->log, RCX_ERR_NOMEM, "no memory for a note");
}

rcx_status_t rcx_mem_register(rcx_comm_t *comm, void *ptr, size_t bytes)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm", comm);
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    status = lend(comm->context, ptr, bytes);
    rcx_comm_leave(comm);
    return status;
}

rcx_status_t rcx_mem_deregister(rcx_comm_t *comm, void *ptr)
{
    return put(comm, ptr, true, "not registered by rcx_mem_register()");
}
