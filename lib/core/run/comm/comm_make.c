/* SPDX-License-Identifier: BSD-3-Clause */
/* New communicators from old ones. */
#include "core/run/comm/comm_make.h"

#include "core/run/detect/ctrl_dispatch.h"
#include "core/run/detect/detector.h"
#include "core/run/object/context.h"
#include "core/run/plan/members.h"

rcx_status_t rcx_comm_make_full(struct rcx_context *context, uint32_t id,
                                struct rcx_comm **comm_p)
{
    struct rcx_members *all =
        rcx_members_create(context, context->boot->size, NULL);
    const rcx_status_t status =
        rcx_comm_create(context, id, context->boot->rank, all, comm_p);

    if (status != RCX_OK)
        rcx_members_put(context, all);
    return status;
}

/* Programs that check calls, and those that are observed, are for one
 * communicator. */
static bool shares_members(const struct rcx_comm *parent, const int ranks[],
                           int n)
{
    bool same = n == parent->size && !parent->context->observer &&
                parent->config->check != RCX_CHECK_FULL;

    for (int i = 0; i < n && same; i++)
        same = ranks[i] == i;
    return same;
}

/* Of these ranks of parent. NULL: no memory. */
static struct rcx_members *members_of(const struct rcx_comm *parent,
                                      const int ranks[], int n)
{
    struct rcx_context *context = parent->context;
    int *own;

    if (shares_members(parent, ranks, n)) {
        parent->members->users++;
        return parent->members;
    }
    own = rcx_heap_alloc(&context->heap, (size_t)n * sizeof *own);
    for (int i = 0; i < n && own; i++)
        own[i] = rcx_comm_context_rank(parent, ranks[i]);
    return own ? rcx_members_create(context, n, own) : NULL;
}

static int index_in(const int ranks[], int n, int rank)
{
    int i = 0;

    while (i < n && ranks[i] != rank)
        i++;
    return i < n ? i : -1;
}

rcx_status_t rcx_comm_derive(struct rcx_comm *parent, uint32_t id,
                             const int ranks[], int n, struct rcx_comm **new_p)
{
    struct rcx_context *context = parent->context;
    struct rcx_members *members = members_of(parent, ranks, n);
    const rcx_status_t status = rcx_comm_create(
        context, id, index_in(ranks, n, parent->rank), members, new_p);

    if (status != RCX_OK) {
        rcx_members_put(context, members);
        return status;
    }
    if (parent->own)
        rcx_comm_use_config(*new_p, parent->own);
    (*new_p)->timeout_ns = parent->timeout_ns;
    return RCX_OK;
}

rcx_status_t rcx_comm_make(struct rcx_comm *parent, uint32_t id, uint32_t group,
                           const int ranks[], int n, struct rcx_comm **new_p)
{
    const rcx_status_t status = rcx_comm_derive(parent, id, ranks, n, new_p);

    if (status != RCX_OK)
        return status;
    rcx_comm_set_group(*new_p, group, 0);
    parent->context->comms.live++;
    rcx_ctrl_replay(*new_p); /* others may have reported its failure */
    return RCX_OK;
}

void rcx_comm_attend(struct rcx_comm *comm)
{
    if (rcx_comm_is_failed(comm))
        rcx_detector_poll(comm->context);
}
