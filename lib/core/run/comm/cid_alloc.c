/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocation of communicator ids. */
#include "core/run/comm/cid_alloc.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/run/fault/ctrl_msg.h"

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

    *b = (struct rcx_cid_alloc){.bytes = before +
                                         split_keys * sizeof *b->split_keys};
    bytes = sizeof *b->result + b->bytes;
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
static rcx_status_t check_group(const struct rcx_comm *comm,
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

void rcx_cid_propose(const struct rcx_comm *comm, struct rcx_cid_alloc *b)
{
    const struct rcx_comm_ids *ids = &comm->context->comms.ids;
    const struct rcx_group_check of = group_check_of(comm);

    memcpy(b->used, ids->used, rcx_comm_ids_bytes(ids));
    *b->flags = ids->unsettled > 0;
    memcpy(b->flags + 1, &of, sizeof of);
    b->group = propose_group(comm);
    memcpy(b->flags + 1 + sizeof of, &b->group, sizeof b->group);
}

rcx_status_t rcx_cid_choose(const struct rcx_comm *comm,
                            struct rcx_cid_alloc *b)
{
    struct rcx_comm_ids *ids = &comm->context->comms.ids;
    struct rcx_group_check of;
    rcx_status_t status;

    memcpy(&of, b->flags + 1, sizeof of);
    memcpy(&b->group, b->flags + 1 + sizeof of, sizeof b->group);
    status = check_group(comm, &of);
    if (status != RCX_OK)
        return status;
    b->id = rcx_comm_id_free_in(ids, b->used, choose(comm, b->attempt));
    /* alone, this rank would try again without making progress */
    if (!b->id && (!*b->flags || comm->size == 1))
        return rcx_fail(&comm->context->log, RCX_ERR_LIMIT,
                        "no communicator id is free on all members: at most %u "
                        "communicators may exist at once",
                        (1u << comm->context->layout.comm_bits) -
                            RCX_COMM_ID_FIRST);
    b->has_id = b->id && rcx_comm_id_get(ids, b->id);
    ids->unsettled += b->has_id;
    *b->result = (struct rcx_cid_result){!b->has_id, group_check_of(comm)};
    return RCX_OK;
}

rcx_status_t rcx_cid_check_result(const struct rcx_comm *comm,
                                  const struct rcx_cid_alloc *b)
{
    return check_group(comm, &b->result->group);
}

bool rcx_cid_is_settled(const struct rcx_comm *comm, struct rcx_cid_alloc *b)
{
    struct rcx_comm_ids *ids = &comm->context->comms.ids;

    ids->unsettled -= b->has_id;
    if (!b->result->is_rejected)
        return true;
    if (b->has_id)
        rcx_comm_id_put(ids, b->id);
    b->has_id = false;
    b->attempt++;
    return false;
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

void rcx_cid_give_up(struct rcx_comm *comm, struct rcx_cid_alloc *b,
                     rcx_status_t status)
{
    if (!b->has_id)
        return;
    comm->context->comms.ids.unsettled--;
    if (rcx_comm_is_for_groups(comm->id))
        rcx_cid_announce_not_made(comm, b->id, b->group, status);
}
