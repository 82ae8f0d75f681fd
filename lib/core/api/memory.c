/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory from RCX. */
#include "core/api/arguments.h"
#include "core/run/enter.h"

rcx_status_t rcx_mem_alloc(rcx_comm_t *comm, size_t bytes, void **ptr_p)
{
    struct rcx_memory_block *block;
    struct rcx_context *context;
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm", comm);
    if (!ptr_p)
        return rcx_missing(&comm->context->log, "ptr_p");
    context = comm->context;
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    block = bytes > PTRDIFF_MAX - sizeof *block
                ? NULL
                : rcx_heap_alloc(&context->heap, sizeof *block + bytes);
    if (block) {
        block->next = context->memory;
        context->memory = block;
        *ptr_p = block + 1;
    } else {
        status = rcx_fail(&context->log, RCX_ERR_NOMEM, "bytes=%zu: no memory",
                          bytes);
    }
    rcx_comm_leave(comm);
    return status;
}

rcx_status_t rcx_mem_free(rcx_comm_t *comm, void *ptr)
{
    struct rcx_memory_block **link, *block;
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm", comm);
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    link = &comm->context->memory;
    while (*link && (void *)(*link + 1) != ptr)
        link = &(*link)->next;
    block = *link;
    if (block)
        *link = block->next;
    else
        status = rcx_fail(&comm->context->log, RCX_ERR_ARG,
                          "ptr=%p: not from rcx_mem_alloc()", ptr);
    rcx_heap_free(&comm->context->heap, block);
    rcx_comm_leave(comm);
    return status;
}
