/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: an id in tags, and a list of ranks. Slots of freed
 * communicators are kept until the context ends, so that a stale handle is
 * recognised.
 */
#include "core/run/object/comm.h"

#include <string.h>

static const uint64_t stall_warn_ns = UINT64_C(30000000000);

static struct rcx_comm *take_slot(struct rcx_context *context)
{
    struct rcx_comm *comm = context->comms.free;

    if (!comm)
        return rcx_heap_zalloc_lines(&context->heap, sizeof *comm);
    context->comms.free = comm->next;
    memset(comm, 0, sizeof *comm);
    return comm;
}

static void link_comm(struct rcx_context *context, struct rcx_comm *comm)
{
    comm->next = context->comms.first;
    if (comm->next)
        comm->next->prev = comm;
    context->comms.first = comm;
}

void rcx_comm_note_busy(struct rcx_comm *comm)
{
    comm->is_busy = true;
    comm->next_busy = comm->context->comms.busy;
    comm->context->comms.busy = comm;
}

void rcx_comms_unlist_idle(struct rcx_comms *comms)
{
    struct rcx_comm **link = &comms->busy;

    while (*link) {
        struct rcx_comm *comm = *link;

        comm->is_busy = rcx_comm_is_active(comm);
        if (comm->is_busy)
            link = &comm->next_busy;
        else
            *link = comm->next_busy;
    }
}

static void unlink_comm(struct rcx_context *context, struct rcx_comm *comm)
{
    if (comm->is_busy) /* not any more */
        rcx_comms_unlist_idle(&context->comms);
    *(comm->prev ? &comm->prev->next : &context->comms.first) = comm->next;
    if (comm->next)
        comm->next->prev = comm->prev;
}

void rcx_comm_set_group(struct rcx_comm *comm, uint32_t group, uint32_t attempt)
{
    comm->group = group;
    comm->attempt = attempt;
    comm->window.tag =
        rcx_tag_base(&comm->context->layout, comm->id, group ^ attempt);
}

void rcx_comm_use_members(struct rcx_comm *comm, struct rcx_members *members)
{
    comm->members = members;
    comm->ranks = members->ranks;
    comm->cache = &members->cache;
    comm->repeat = (struct rcx_repeat){.program = NULL};
}

rcx_status_t rcx_comm_create(struct rcx_context *context, uint32_t id, int rank,
                             struct rcx_members *members,
                             struct rcx_comm **comm_p)
{
    struct rcx_comm *comm = members ? take_slot(context) : NULL;

    if (!comm)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a communicator");
    comm->magic = RCX_COMM_MAGIC;
    comm->context = context;
    comm->id = id;
    comm->rank = rank;
    comm->size = members->size;
    rcx_comm_use_members(comm, members);
    comm->end = &comm->first;
    comm->window.mark_mask = rcx_tag_mark(&context->layout, UINT64_MAX);
    comm->window.sequence_mask = rcx_tag_sequence(&context->layout, UINT64_MAX);
    comm->window.sequence_shift = rcx_tag_sequence_shift(&context->layout);
    rcx_comm_set_group(comm, 0, 0);
    comm->config = &context->config;
    rcx_recorder_init(&comm->recorder, &context->heap);
    rcx_recorder_init(&comm->p2p.recorder, &context->heap);
    comm->shown = rcx_status_add_comm(&context->status, id, rank, comm->size);
    if (comm->shown) {
        comm->recorder.calls = &comm->shown->collectives;
        comm->p2p.recorder.calls = &comm->shown->messages;
    }
    comm->p2p.end = &comm->p2p.first;
    comm->timeout_ns = context->config.timeout_ns;
    comm->stall_warn_ns = stall_warn_ns;
    link_comm(context, comm);
    *comm_p = comm;
    return RCX_OK;
}

static void put_config(struct rcx_heap *heap, struct rcx_comm_config *config)
{
    if (config && --config->users == 0)
        rcx_heap_free(heap, config);
}

void rcx_comm_destroy(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;

    comm->magic = 0;
    rcx_status_remove_comm(comm->shown);
    rcx_recorder_free(&comm->recorder);
    rcx_heap_free(&context->heap, comm->why);
    put_config(&context->heap, comm->own);
    if (comm->id >= RCX_COMM_ID_FIRST) {
        rcx_comm_id_put(&context->comms.ids, comm->id);
        rcx_comm_id_note_freed(&context->comms.ids, &context->heap, comm->id,
                               comm->group);
    }
    unlink_comm(context, comm);
    comm->next = context->comms.free;
    context->comms.free = comm;
}

void rcx_comms_free(struct rcx_comms *comms, struct rcx_heap *heap)
{
    while (comms->free) {
        struct rcx_comm *next = comms->free->next;

        rcx_heap_free(heap, comms->free);
        comms->free = next;
    }
    rcx_comm_ids_free(&comms->ids, heap);
    rcx_attempts_close(&comms->attempts, heap);
}

void rcx_comm_use_config(struct rcx_comm *comm, struct rcx_comm_config *config)
{
    config->users++;
    put_config(&comm->context->heap, comm->own);
    comm->own = config;
    comm->config = &config->config;
    comm->cache->limit = config->config.plan_cache_bytes;
}

bool rcx_comm_map_nodes(const struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;
    struct rcx_members *m = comm->members;

    if (m->has_nodes)
        return true;
    if (!m->ranks)
        m->nodes = context->nodes;
    m->has_nodes = !m->ranks || !context->nodes ||
                   rcx_nodes_map_subset(&context->heap, context->nodes,
                                        m->ranks, m->size, &m->nodes);
    return m->has_nodes;
}

int rcx_comm_index(const struct rcx_comm *comm, int context_rank)
{
    if (!comm->ranks)
        return context_rank < comm->size ? context_rank : -1;
    for (int i = 0; i < comm->size; i++)
        if (comm->ranks[i] == context_rank)
            return i;
    return -1;
}

bool rcx_comm_has_failed_for(const struct rcx_comm *comm, int context_rank)
{
    const struct rcx_failure *why = rcx_comm_is_failed(comm) ? comm->why : NULL;

    for (int i = 0; why && i < why->rank_count; i++)
        if (rcx_comm_context_rank(comm, why->ranks[i]) == context_rank)
            return true;
    return false;
}
