/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocation of communicator ids: two allreduces over the members, one of the
 * ids in use and one that confirms the choice.
 */
#include "core/run/comm/cid_alloc.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/run/comm/internal.h"
#include "core/run/fault/ctrl_msg.h"

enum {
    CONCURRENT = 1, /* a member may take part in several allocations */
    UNSETTLED = 2   /* ids in use may become free soon */
};

static size_t up_to(size_t bytes, size_t align)
{
    return (bytes + align - 1) / align * align;
}

rcx_status_t rcx_cid_alloc_open(struct rcx_context *context, size_t split_keys,
                                struct rcx_cid_alloc *b)
{
    const size_t ids = rcx_comm_ids_bytes(&context->comms.ids);
    const size_t before =
        up_to(ids + 1 + sizeof(struct rcx_group_check) + sizeof b->group,
              _Alignof(struct rcx_split_key));
    size_t bytes;

    b->bytes = before + split_keys * sizeof *b->split_keys;
    bytes = sizeof *b->result + b->bytes;
    b->group = 0;
    b->result = rcx_memory_get(&context->memory, &context->heap, NULL, bytes);
    if (!b->result)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory to agree on the id of a communicator");
    memset(b->result, 0, bytes);
    b->used = (void *)(b->result + 1);
    b->flags = b->used + ids;
    b->split_keys = (void *)(b->used + before);
    return RCX_OK;
}

/* If orphaned messages may still use the memory, the context frees it. */
void rcx_cid_alloc_close(struct rcx_context *context, struct rcx_cid_alloc *b)
{
    if (!context->orphans.first)
        rcx_memory_put(&context->memory, &context->heap, b->result, false);
}

/* Combine a vector in place. */
static rcx_status_t combine(struct rcx_comm *comm, rcx_datatype_t type,
                            rcx_op_t op, void *vector, size_t count)
{
    const struct rcx_call call = {.coll = RCX_COLL_ALLREDUCE,
                                  .alias = RCX_ALIAS_SAME,
                                  .type = type,
                                  .op = op,
                                  .count = count,
                                  .role = RCX_CALL_OWN};

    if (rcx_comm_is_for_groups(comm->id)) /* every call starts anew */
        comm->window.next = (uint64_t)comm->tag;
    return rcx_internal_run(comm, &call, vector, vector);
}

/* Which free id to try: the lowest one first, then another one for each
 * communicator, so that concurrent allocations soon differ. */
static uint64_t choose(const struct rcx_comm *comm, uint64_t attempt)
{
    const uint64_t who = (uint64_t)comm->id << 32 | (uint32_t)comm->tag;

    return attempt * (who * UINT64_C(0x9E3779B97F4A7C15) >> 40);
}

static struct rcx_group_check group_check_of(const struct rcx_comm *comm)
{
    const uint32_t is = comm->group + comm->attempt;

    return (struct rcx_group_check){is, ~is};
}

/* A message of an attempt that failed long ago may have the tag of this one, as
 * a tag has only six bits of both. */
static rcx_status_t check_group(struct rcx_comm *comm,
                                const struct rcx_group_check *w)
{
    if ((w->is & w->is_not) == 0)
        return RCX_OK;
    return rcx_fail(&comm->context->log, RCX_ERR_MISMATCH,
                    "rcx_comm_create_group: tag=%d: received a message of an "
                    "earlier group with this tag, whose creation failed; call "
                    "it again",
                    comm->tag);
}

/* Rank 0's tells all members. The others send 0. */
static uint32_t propose_group(const struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;
    const uint64_t n = ++context->comms.ids.given;

    return comm->rank == 0
               ? (uint32_t)rcx_hash(n, (uint64_t)context->boot->rank) | 1
               : 0;
}

/* Choose an id for all members to try; 0: none is free. */
static rcx_status_t propose(struct rcx_comm *comm, struct rcx_cid_alloc *b,
                            uint64_t attempt, uint32_t *id_p)
{
    struct rcx_context *context = comm->context;
    struct rcx_group_check of = group_check_of(comm);
    rcx_status_t status;

    memcpy(b->used, context->comms.ids.used,
           rcx_comm_ids_bytes(&context->comms.ids));
    *b->flags = (context->threads == RCX_THREAD_MULTIPLE ? CONCURRENT : 0) |
                (context->comms.ids.unsettled > 0 ? UNSETTLED : 0);
    memcpy(b->flags + 1, &of, sizeof of);
    b->group = propose_group(comm);
    memcpy(b->flags + 1 + sizeof of, &b->group, sizeof b->group);
    status = combine(comm, RCX_BYTE, RCX_BOR, b->used, b->bytes);
    memcpy(&of, b->flags + 1, sizeof of);
    memcpy(&b->group, b->flags + 1 + sizeof of, sizeof b->group);
    if (status == RCX_OK)
        status = check_group(comm, &of);
    if (status == RCX_OK)
        *id_p = rcx_comm_id_free_in(&context->comms.ids, b->used,
                                    choose(comm, attempt));
    if (status != RCX_OK || *id_p || *b->flags & UNSETTLED)
        return status;
    return rcx_fail(&context->log, RCX_ERR_LIMIT,
                    "no communicator id is free on all members: at most %u "
                    "communicators may exist at once",
                    (1u << context->layout.comm_bits) - RCX_COMM_ID_FIRST);
}

void rcx_cid_announce_not_made(struct rcx_comm *comm, uint32_t id,
                               uint32_t group, rcx_status_t status)
{
    const struct rcx_failure *why = comm->why;

    for (int i = 0; i < comm->size; i++) {
        struct rcx_ctrl_msg body = {.kind = RCX_CTRL_FAILED,
                                    .comm_id = id,
                                    .group = group,
                                    .status = (int8_t)status};

        while (why && body.rank_count < why->rank_count &&
               body.rank_count < RCX_RANKS_LISTED) {
            body.ranks[body.rank_count] = why->ranks[body.rank_count];
            body.rank_count++;
        }
        if (i != comm->rank)
            rcx_ctrl_reply(comm->context, rcx_comm_context_rank(comm, i),
                           &body);
    }
}

/*
 * A member whose threads take part in several allocations may choose the same
 * id in two of them. So each member takes the id, and all tell whether they
 * could.
 */
static rcx_status_t confirm(struct rcx_comm *comm, struct rcx_cid_alloc *b,
                            uint32_t id)
{
    struct rcx_context *context = comm->context;
    const bool mine = rcx_comm_id_get(&context->comms.ids, id);
    const bool is_group = rcx_comm_is_for_groups(comm->id);
    rcx_status_t status = RCX_OK;

    *b->result = (struct rcx_cid_result){!mine, group_check_of(comm)};
    if (is_group || *b->flags & CONCURRENT) {
        context->comms.ids.unsettled += mine;
        status = combine(comm, RCX_UINT32, RCX_BOR, b->result,
                         sizeof *b->result / sizeof(uint32_t));
        context->comms.ids.unsettled -= mine;
        if (status == RCX_OK)
            status = check_group(comm, &b->result->group);
    }
    if (mine && status == RCX_OK && b->result->is_rejected)
        rcx_comm_id_put(&context->comms.ids, id);
    if (mine && status != RCX_OK && is_group)
        rcx_cid_announce_not_made(comm, id, b->group, status);
    return status; /* after an error some members may keep the id */
}

rcx_status_t rcx_cid_alloc_run(struct rcx_comm *comm, struct rcx_comm *second,
                               struct rcx_cid_alloc *b, uint32_t *id_p)
{
    rcx_status_t status = RCX_OK;
    bool is_settled = false;
    uint32_t id = 0;

    for (uint64_t attempt = 0; status == RCX_OK && !is_settled; attempt++) {
        status = propose(comm, b, attempt, &id);
        if (status == RCX_OK && id)
            status = confirm(second, b, id);
        is_settled = status == RCX_OK && id && !b->result->is_rejected;
    }
    if (status == RCX_OK)
        *id_p = id;
    return status;
}
