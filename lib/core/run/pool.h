/* SPDX-License-Identifier: BSD-3-Clause */
/* Executions that are kept for their next use. */
#ifndef RCX_CORE_RUN_POOL_H
#define RCX_CORE_RUN_POOL_H

#include "core/run/comm.h"

/* An execution of piece, with scratch; NULL when memory ran out. */
struct rcx_exec *rcx_exec_find(struct rcx_comm *comm, struct rcx_piece *piece);
static inline struct rcx_exec *rcx_exec_get(struct rcx_comm *comm,
                                            struct rcx_piece *piece)
{
    struct rcx_exec *x = piece->idle;

    if (__builtin_expect(!x || !piece->owns_scratch, 0))
        return rcx_exec_find(comm, piece);
    piece->idle = x->next;
    return x;
}
static inline void rcx_exec_give_back(struct rcx_piece *piece,
                                      struct rcx_exec *x)
{
    x->next = piece->idle;
    piece->idle = x;
}
static inline void rcx_exec_put(struct rcx_comm *comm, struct rcx_exec *x)
{
    struct rcx_piece *piece = x->home;

    if (!piece->owns_scratch)
        rcx_scratch_put(&comm->context->scratch, x->base[RCX_BUFFER_TMP],
                        piece->scratch_bytes);
    rcx_exec_give_back(piece, x);
}

#endif
