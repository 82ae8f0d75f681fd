/* SPDX-License-Identifier: BSD-3-Clause */
/* What belongs to a context, as users call it: progress, ops, types, local
 * reduction and memory. */
#include "core/api/arguments.h"
#include "core/run/cache.h"
#include "core/run/enter.h"
#include "core/run/progress.h"

rcx_comm_t *rcx_world(rcx_context_t *context)
{
    return context ? context->world : NULL;
}

int rcx_progress(rcx_context_t *context)
{
    rcx_status_t status;
    int events;

    if (!context)
        return (int)rcx_bad_handle("context", context);
    status = rcx_enter(context);
    if (status != RCX_OK)
        return (int)status;
    events = rcx_context_progress(context);
    rcx_leave(context);
    return events;
}

/* What a function that works under the guard came to. */
static rcx_status_t leave(struct rcx_context *context, rcx_status_t status)
{
    rcx_leave(context);
    return status;
}

/* Give up what was compiled for a type or op, on all communicators. */
static void forget(struct rcx_context *context, rcx_datatype_t type,
                   rcx_op_t op)
{
    for (struct rcx_comm *comm = context->comms; comm; comm = comm->next)
        rcx_plan_cache_forget(comm, type, op);
}

int rcx_op_supported(rcx_op_t op, rcx_datatype_t datatype)
{
    return rcx_registry_defines(op, datatype);
}

rcx_status_t rcx_op_create(rcx_context_t *context, rcx_op_fn_t fn,
                           unsigned flags, void *arg, rcx_op_t *op_p)
{
    if (!context)
        return rcx_bad_handle("context", context);
    if (!op_p)
        return rcx_missing(&context->log, "op_p");

    const rcx_status_t status = rcx_enter(context);

    return status == RCX_OK
               ? leave(context, rcx_registry_add_op(&context->registry, fn,
                                                    flags, arg, op_p))
               : status;
}

rcx_status_t rcx_op_free(rcx_context_t *context, rcx_op_t *op)
{
    rcx_status_t status;

    if (!context)
        return rcx_bad_handle("context", context);
    if (!op)
        return rcx_missing(&context->log, "op");
    status = rcx_enter(context);
    if (status != RCX_OK)
        return status;
    status = rcx_registry_remove_op(&context->registry, *op);
    if (status == RCX_OK) {
        forget(context, 0, *op);
        *op = 0;
    }
    return leave(context, status);
}

rcx_status_t rcx_type_create(rcx_context_t *context, size_t extent_bytes,
                             rcx_datatype_t *type_p)
{
    if (!context)
        return rcx_bad_handle("context", context);
    if (!type_p)
        return rcx_missing(&context->log, "type_p");

    const rcx_status_t status = rcx_enter(context);

    return status == RCX_OK
               ? leave(context, rcx_registry_add_type(&context->registry,
                                                      extent_bytes, type_p))
               : status;
}

rcx_status_t rcx_type_free(rcx_context_t *context, rcx_datatype_t *type)
{
    rcx_status_t status;

    if (!context)
        return rcx_bad_handle("context", context);
    if (!type)
        return rcx_missing(&context->log, "type");
    status = rcx_enter(context);
    if (status != RCX_OK)
        return status;
    status = rcx_registry_remove_type(&context->registry, *type);
    if (status == RCX_OK) {
        forget(context, *type, 0);
        *type = 0;
    }
    return leave(context, status);
}

rcx_status_t rcx_reduce_local(rcx_context_t *context, void *dst,
                              const void *left, const void *right, size_t count,
                              rcx_datatype_t datatype, rcx_op_t op)
{
    struct rcx_combine combine;
    rcx_status_t status;
    size_t bytes;

    if (!context)
        return rcx_bad_handle("context", context);
    status = rcx_enter(context);
    if (status != RCX_OK)
        return status;
    status = leave(context, rcx_registry_combine(&context->registry, datatype,
                                                 op, &combine));
    if (status != RCX_OK || count == 0)
        return status;
    if (__builtin_mul_overflow(count, combine.reducer.elem_bytes, &bytes))
        return rcx_fail(&context->log, RCX_ERR_ARG,
                        "count=%zu: count times the size of datatype %d "
                        "overflows size_t", count, datatype);
    if (!dst || !left || !right)
        return rcx_fail(&context->log, RCX_ERR_ARG, "%s=NULL with count=%zu",
                        !dst ? "dst" : !left ? "left" : "right", count);
    if ((dst != left && rcx_overlap(dst, bytes, left, bytes)) ||
        (dst != right && rcx_overlap(dst, bytes, right, bytes)))
        return rcx_fail(&context->log, RCX_ERR_ARG,
                        "dst=%p overlaps left=%p or right=%p without being "
                        "equal to it", dst, left, right);
    status = rcx_reducer_apply(&combine.reducer, dst, left, right, count);
    return status == RCX_OK
               ? status
               : rcx_fail(&context->log, status,
                          "rcx_reduce_local: the user's op failed");
}

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
