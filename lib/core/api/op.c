/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of ops and types, and rcx_reduce_local(). */
#include "core/api/arguments.h"
#include "core/run/plan/cache.h"
#include "core/run/wait/enter.h"

/* What a function that works under the guard came to. */
/* Errors from here on name the call. */
static rcx_status_t enter(const char *call, rcx_context_t *context)
{
    rcx_status_t status;

    if (!context)
        return rcx_bad_handle(call, "context", context);
    status = rcx_enter(context);
    if (status == RCX_OK)
        rcx_log_name_call(&context->log, call);
    return status;
}

static rcx_status_t leave(struct rcx_context *context, rcx_status_t status)
{
    rcx_log_name_call(&context->log, NULL);
    rcx_leave(context);
    return status;
}

/* Remove what was compiled for a type or op, on all communicators. */
static void remove_user_entry(struct rcx_context *context, rcx_datatype_t type,
                              rcx_op_t op)
{
    for (struct rcx_comm *comm = context->comms.first; comm; comm = comm->next)
        rcx_cache_remove(comm->cache, type, op);
}

int rcx_op_supported(rcx_op_t op, rcx_datatype_t datatype)
{
    return rcx_registry_defines(op, datatype);
}

rcx_status_t rcx_op_create(rcx_context_t *context, rcx_op_fn_t fn,
                           unsigned flags, void *arg, rcx_op_t *op_p)
{
    const rcx_status_t status = enter("op_create", context);

    if (status != RCX_OK)
        return status;
    return leave(context, op_p ? rcx_registry_add_op(&context->registry, fn,
                                                     flags, arg, op_p)
                               : rcx_missing(&context->log, "op_p"));
}

rcx_status_t rcx_op_free(rcx_context_t *context, rcx_op_t *op)
{
    rcx_status_t status = enter("op_free", context);

    if (status != RCX_OK)
        return status;
    status = !op        ? rcx_missing(&context->log, "op")
             : *op == 0 ? RCX_OK
                        : rcx_registry_remove_op(&context->registry, *op);
    if (status == RCX_OK && *op != 0) {
        remove_user_entry(context, 0, *op);
        *op = 0;
    }
    return leave(context, status);
}

rcx_status_t rcx_type_create(rcx_context_t *context, size_t extent_bytes,
                             rcx_datatype_t *type_p)
{
    const rcx_status_t status = enter("type_create", context);

    if (status != RCX_OK)
        return status;
    return leave(context, type_p ? rcx_registry_add_type(&context->registry,
                                                         extent_bytes, type_p)
                                 : rcx_missing(&context->log, "type_p"));
}

rcx_status_t rcx_type_free(rcx_context_t *context, rcx_datatype_t *type)
{
    rcx_status_t status = enter("type_free", context);

    if (status != RCX_OK)
        return status;
    status = !type        ? rcx_missing(&context->log, "type")
             : *type == 0 ? RCX_OK
                          : rcx_registry_remove_type(&context->registry, *type);
    if (status == RCX_OK && *type != 0) {
        remove_user_entry(context, *type, 0);
        *type = 0;
    }
    return leave(context, status);
}

rcx_status_t rcx_type_size(rcx_context_t *context, rcx_datatype_t datatype,
                           size_t *bytes_p)
{
    const struct rcx_type_info *info = rcx_type_predefined(datatype);
    rcx_status_t status;

    if (info && bytes_p) {
        *bytes_p = info->bytes;
        return RCX_OK;
    }
    status = enter("type_size", context);
    if (status != RCX_OK)
        return status;
    return leave(context, bytes_p ? rcx_registry_measure(&context->registry,
                                                         datatype, bytes_p)
                                  : rcx_missing(&context->log, "bytes_p"));
}

rcx_status_t rcx_reduce_local(rcx_context_t *context, void *dst,
                              const void *left, const void *right, size_t count,
                              rcx_datatype_t datatype, rcx_op_t op)
{
    struct rcx_combine combine;
    rcx_status_t status;
    size_t bytes;

    status = enter("reduce_local", context);
    if (status != RCX_OK)
        return status;
    status = leave(context, rcx_registry_combine(&context->registry, datatype,
                                                 op, &combine));
    if (status != RCX_OK || count == 0)
        return status;
    if (__builtin_mul_overflow(count, combine.reducer.elem_bytes, &bytes))
        return rcx_fail(
            &context->log, RCX_ERR_ARG,
            "rcx_reduce_local: count=%zu: count times the size of datatype %d "
            "overflows size_t",
            count, datatype);
    if (!dst || !left || !right)
        return rcx_fail(&context->log, RCX_ERR_ARG,
                        "rcx_reduce_local: %s=NULL with count=%zu",
                        !dst    ? "dst"
                        : !left ? "left"
                                : "right",
                        count);
    if ((dst != left && rcx_overlap(dst, bytes, left, bytes)) ||
        (dst != right && rcx_overlap(dst, bytes, right, bytes)))
        return rcx_fail(
            &context->log, RCX_ERR_ARG,
            "rcx_reduce_local: dst=%p overlaps left=%p or right=%p without being "
            "equal to it",
            dst, left, right);
    status = rcx_reducer_apply(&combine.reducer, dst, left, right, count);
    return status == RCX_OK
               ? status
               : rcx_fail(&context->log, status,
                          "rcx_reduce_local: the user's op failed");
}
