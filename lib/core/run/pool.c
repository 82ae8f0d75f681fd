/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/pool.h"

#include "core/run/request.h"

static struct rcx_exec *new_exec(struct rcx_comm *comm, struct rcx_piece *piece)
{
    const struct rcx_exec_setting setting = {
        .transport = comm->context->transport,
        .reducer = &piece->program->combine.reducer,
        .layout = comm->context->layout,
        .endpoints = comm->ranks,
        .rank = rcx_comm_context_rank(comm, comm->rank)};
    const size_t bytes = (rcx_exec_bytes(piece->plan) + 63) & ~(size_t)63;
    struct rcx_exec *x = rcx_heap_alloc(
        &comm->context->heap,
        bytes + (piece->owns_scratch ? piece->scratch_bytes : 0));

    if (!x)
        return NULL;
    rcx_exec_init(x, piece->plan, &setting);
    x->home = piece;
    x->base[RCX_BUFFER_TMP] = piece->owns_scratch ? (char *)x + bytes : NULL;
    return x;
}

struct rcx_exec *rcx_exec_find(struct rcx_comm *comm, struct rcx_piece *piece)
{
    struct rcx_exec *x = piece->idle;

    if (x)
        piece->idle = x->next;
    else
        x = new_exec(comm, piece);
    if (!x || piece->owns_scratch)
        return x;
    x->base[RCX_BUFFER_TMP] = rcx_scratch_get(
        &comm->context->scratch, &comm->context->heap, piece->scratch_bytes);
    if (x->base[RCX_BUFFER_TMP])
        return x;
    rcx_exec_give_back(piece, x);
    return NULL;
}
