/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frees a communicator with what other modules keep for it.
 */
#include "core/run/comm/comm_close.h"

#include "core/run/detect/poll.h"
#include "core/run/detect/straggler.h"
#include "core/run/fault/agreement.h"
#include "core/run/fault/failure.h"
#include "core/run/plan/members.h"
#include "core/run/request/p2p.h"

void rcx_comm_close(struct rcx_comm *comm)
{
    rcx_straggler_free(comm);
    rcx_agreement_free(comm);
    rcx_p2p_close(&comm->p2p);
    rcx_comm_set_freed(comm);
    rcx_members_put(comm->context, comm->members);
    rcx_comm_destroy(comm);
}

void rcx_comm_drop_unexpected(const struct rcx_comm *comm)
{
    const struct rcx_tag_layout *l = &comm->context->layout;
    struct rcx_transport *t = comm->context->transport;

    if (t && t->ops->drop_unexpected)
        t->ops->drop_unexpected(t, rcx_tag_base(l, comm->id, 0),
                                rcx_tag_base(l, UINT64_MAX, 0));
}

/* Whether nothing refers to a failed communicator any more. */
static bool is_done_with(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;

    if (!comm->is_replaced)
        return false;
    rcx_context_poll(context);
    rcx_comm_drop_unexpected(comm);
    return !rcx_orphans_have(context,
                             rcx_tag_base(&context->layout, comm->id, 0));
}

static bool may_be_closed(struct rcx_comm *comm)
{
    return rcx_comm_is_failed(comm)
               ? is_done_with(comm)
               : rcx_agreement_may_be_freed(comm) &&
                     !rcx_p2p_warn_unreceived(
                         comm, "; the communicator's id is not used again");
}

/* Those that were kept, if that has become possible. */
static void close_kept(struct rcx_context *context)
{
    struct rcx_comm *comm = context->comms.first, *next;

    for (; comm; comm = next) {
        next = comm->next;
        if (comm->magic || comm->live_requests > 0 || !is_done_with(comm))
            continue;
        rcx_comm_close(comm);
        context->comms.kept--;
    }
}

void rcx_comm_close_or_keep(struct rcx_comm *comm)
{
    struct rcx_context *context;

    if (!comm)
        return;
    context = comm->context;
    if (context->comms.kept > 0)
        close_kept(context);
    if (may_be_closed(comm)) {
        rcx_comm_close(comm);
    } else {
        comm->magic = 0;
        context->comms.kept++;
    }
}

void rcx_comm_end_use(struct rcx_comm *comm)
{
    if (--comm->live_requests == 0 && comm->is_freed)
        rcx_comm_close_or_keep(comm);
}
