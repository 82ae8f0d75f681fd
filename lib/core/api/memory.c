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

rcx_status_t rcx_mem_free(rcx_comm_t *comm, void *ptr)
{
    struct rcx_context *context;
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm", comm);
    context = comm->context;
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    if (!rcx_memory_put(&context->memory, &context->heap, ptr))
        status = rcx_fail(&context->log, RCX_ERR_ARG,
                          "ptr=%p: not from rcx_mem_alloc()", ptr);
    rcx_comm_leave(comm);
    return status;
}
