/* SPDX-License-Identifier: BSD-3-Clause */
/* New communicators from old ones. */
#include "core/run/comm/comm_make.h"

#include "core/run/detect/ctrl_dispatch.h"
#include "core/run/detect/detector.h"
#include "core/run/object/context.h"

rcx_status_t rcx_comm_derive(struct rcx_comm *parent, uint32_t id,
                             const int members[], int n,
                             struct rcx_comm **new_p)
{
    struct rcx_context *context = parent->context;
    int *ranks = rcx_heap_alloc(&context->heap, (size_t)n * sizeof *ranks);
    int rank = -1;
    rcx_status_t status;

    if (!ranks)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a communicator of %d ranks", n);
    for (int i = 0; i < n; i++) {
        if (members[i] == parent->rank)
            rank = i;
        ranks[i] = rcx_comm_context_rank(parent, members[i]);
    }
    status = rcx_comm_create(context, id, rank, n, ranks, new_p);
    if (status != RCX_OK)
        return status;
    if (parent->own)
        rcx_comm_use_config(*new_p, parent->own);
    (*new_p)->timeout_ns = parent->timeout_ns;
    return RCX_OK;
}

rcx_status_t rcx_comm_make(struct rcx_comm *parent, uint32_t id, uint32_t group,
                           const int members[], int n, struct rcx_comm **new_p)
{
    const rcx_status_t status = rcx_comm_derive(parent, id, members, n, new_p);

    if (status != RCX_OK)
        return status;
    (*new_p)->group = group;
    parent->context->comms.live++;
    rcx_ctrl_replay(*new_p); /* others may have reported its failure */
    return RCX_OK;
}

void rcx_comm_attend(struct rcx_comm *comm)
{
    if (rcx_comm_is_failed(comm))
        rcx_detector_poll(comm->context);
}
