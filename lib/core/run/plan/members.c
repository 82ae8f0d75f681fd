/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of communicators, and programs for them. */
#include "core/run/plan/members.h"

#include <string.h>

#include "core/run/plan/cache.h"

struct rcx_members *rcx_members_create(struct rcx_context *context, int size,
                                       int *ranks)
{
    struct rcx_members *m = rcx_heap_zalloc(&context->heap, sizeof *m);

    if (!m) {
        rcx_heap_free(&context->heap, ranks);
        return NULL;
    }
    m->users = 1;
    m->size = size;
    m->ranks = ranks;
    m->cache.context = context;
    m->cache.limit = context->config.plan_cache_bytes;
    return m;
}

struct rcx_members *rcx_members_copy(struct rcx_context *context,
                                     const struct rcx_members *members)
{
    const size_t bytes = (size_t)members->size * sizeof *members->ranks;
    int *ranks = NULL;

    if (members->ranks) {
        ranks = rcx_heap_alloc(&context->heap, bytes);
        if (!ranks)
            return NULL;
        memcpy(ranks, members->ranks, bytes);
    }
    return rcx_members_create(context, members->size, ranks);
}

void rcx_members_replace(struct rcx_comm *comm, struct rcx_members *members)
{
    struct rcx_members *const former = comm->members;

    rcx_comm_use_members(comm, members);
    rcx_members_put(comm->context, former);
}

void rcx_members_put(struct rcx_context *context, struct rcx_members *members)
{
    if (!members || --members->users > 0)
        return;
    rcx_cache_clear(&members->cache);
    if (members->nodes != context->nodes)
        rcx_nodes_free(&context->heap, members->nodes);
    rcx_heap_free(&context->heap, members->ranks);
    rcx_heap_free(&context->heap, members);
}
