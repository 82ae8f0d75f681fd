/* SPDX-License-Identifier: BSD-3-Clause */
/* What the log says of calls: the same words and numbers everywhere. */
#include "core/run/describe.h"

#include "core/op/types.h"

static void print_operands(const struct rcx_entry *e, char *text, size_t bytes)
{
    const struct rcx_type_info *type = rcx_type_predefined(e->record.type);
    const struct rcx_op_info *op = rcx_op_predefined(e->record.op);
    char extent[48];

    snprintf(extent, sizeof extent, "of a user's type of %zu bytes",
             e->combine.reducer.elem_bytes);
    snprintf(text, bytes, " of %zu %s, %s", e->call.count,
             type ? type->name : extent, op ? op->name : "a user's op");
}

/* "reduce of 24 int64, sum, root 1" */
static int print_call(const struct rcx_entry *e, char *text, size_t bytes)
{
    char operands[96] = "", root[24] = "";

    if (e->call.coll != RCX_COLL_BARRIER)
        print_operands(e, operands, sizeof operands);
    if (e->call.coll == RCX_COLL_REDUCE)
        snprintf(root, sizeof root, ", root %d", e->call.root);
    return snprintf(text, bytes, "%s%s%s", rcx_coll_name(e->call.coll),
                    operands, root);
}

const char *rcx_request_print(const struct rcx_request *r,
                              char text[RCX_CALL_TEXT])
{
    const int used = print_call(r->entry, text, RCX_CALL_TEXT);

    snprintf(text + used, RCX_CALL_TEXT - (size_t)used,
             ", number %llu on communicator %u",
             (unsigned long long)rcx_request_number(r), r->comm->id);
    return text;
}
