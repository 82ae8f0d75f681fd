/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives as users call them: arguments are checked here, before
 * anything is sent, and become a struct rcx_call. All forms of all collectives
 * then go one way. What a blocking call does each time is inlined into it, so
 * that what its collective has as constants need not be looked at.
 */
#ifndef RCX_CORE_API_COLLECTIVE_H
#define RCX_CORE_API_COLLECTIVE_H

#include "core/api/arguments.h"
#include "core/run/cache.h"
#include "core/run/enter.h"
#include "core/run/request.h"

/* What the user gave, before it is checked. */
struct rcx_arguments {
    enum rcx_coll coll;
    const void *sendbuf;
    void *recvbuf;
    size_t count;             /* reduce_scatter_block: of one block */
    const size_t *recvcounts; /* where irregular */
    bool irregular;           /* reduce_scatter */
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    struct rcx_comm *comm;
};

/* Checked: the buffers, and how they lie to each other. */
struct rcx_buffers {
    const char *in;
    char *out;
    enum rcx_alias alias;
};

/* Check everything and find the plan, pinned, or compile it. */
rcx_status_t rcx_call_look_up(const struct rcx_arguments *a,
                              struct rcx_buffers *b,
                              struct rcx_entry **entry_p);

/*
 * Whether the newest plan is of this call, so that all but its buffers has
 * been checked: the usual case of a short collective in a loop.
 */
__attribute__((always_inline)) static inline bool
rcx_call_is_repeated(const struct rcx_arguments *a, bool in_place)
{
    const struct rcx_entry *last = a->comm->cache.recent;
    const struct rcx_call call = {
        .coll = (uint8_t)a->coll,
        .alias = in_place ? RCX_ALIAS_SAME : RCX_ALIAS_NONE,
        .type = a->type, .op = a->op, .root = a->root, .count = a->count};

    return last && !rcx_coll_has_blocks(a->coll) &&
           rcx_call_is_alike(&last->call, &call);
}

/* The plan of the call, pinned. Whatever is odd is looked up, which says what
 * is wrong. */
__attribute__((always_inline)) static inline rcx_status_t
rcx_call_resolve(const struct rcx_arguments *a, struct rcx_buffers *b,
                 struct rcx_entry **entry_p)
{
    const bool gets = rcx_coll_gets(a->coll, a->comm->rank, a->root);
    const bool in_place =
        gets && (a->sendbuf == RCX_IN_PLACE || a->sendbuf == a->recvbuf);
    const struct rcx_arguments copy = *a; /* so that a's own are in registers */

    if (a->comm->failed != RCX_OK)
        return RCX_ERR_COMM_FAILED;
    if (rcx_call_is_repeated(a, in_place)) {
        const struct rcx_entry *last = a->comm->cache.recent;
        const size_t bytes = a->count * last->combine.reducer.elem_bytes;

        b->out = gets ? a->recvbuf : (char *)a->sendbuf;
        b->in = in_place ? b->out : a->sendbuf;
        if (b->in && b->out && b->in != RCX_IN_PLACE &&
            b->out != RCX_IN_PLACE &&
            (b->in == b->out || !rcx_overlap(b->in, bytes, b->out, bytes))) {
            *entry_p = rcx_entry_repeat(a->comm);
            return RCX_OK;
        }
    }
    return rcx_call_look_up(&copy, b, entry_p);
}

__attribute__((always_inline)) static inline rcx_status_t
rcx_call_enter(const struct rcx_arguments *a)
{
    return rcx_comm_is_valid(a->comm) ? rcx_comm_enter(a->comm)
                                      : rcx_bad_handle("comm", a->comm);
}

/* A blocking call; inlined likewise. */
__attribute__((always_inline)) static inline rcx_status_t
rcx_call_blocking(const struct rcx_arguments *a)
{
    struct rcx_entry *entry;
    struct rcx_buffers b;
    rcx_status_t status = rcx_call_enter(a);

    if (status != RCX_OK)
        return status;
    status = rcx_call_resolve(a, &b, &entry);
    if (status == RCX_OK)
        status = rcx_request_run(a->comm, entry, b.in, b.out);
    rcx_comm_leave(a->comm);
    return status;
}

/* A request, which starts at once where it is not persistent. */
rcx_status_t rcx_call_request(const struct rcx_arguments *a, bool persistent,
                              rcx_request_t **request_p);

#endif
