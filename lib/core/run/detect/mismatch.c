/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds calls that do not match between ranks (RCX_CHECK=cheap). Calls differ
 * in the fingerprint of their tags. This module finds the difference; the
 * straggler query decides which rank made the other call.
 */
#include "core/run/detect/mismatch.h"

#include "core/run/detect/straggler.h"
#include "core/run/diag/describe.h"
#include "core/run/request/request.h"

enum { PROBE_SEQUENCE_BITS = 8 };

/* Not for a group in the making: a message of the next attempt may arrive
 * before the last one of this attempt. Not if sequence numbers repeat soon: a
 * peer that is ahead uses this number again. */
static bool is_probed(const struct rcx_comm *comm)
{
    const struct rcx_context *context = comm->context;

    return comm->config->check != RCX_CHECK_OFF &&
           context->layout.sequence_bits >= PROBE_SEQUENCE_BITS &&
           !rcx_comm_is_for_groups(comm->id);
}

/*
 * A message of another call has the same sequence number and another
 * fingerprint. No receive matches it, so a probe finds it.
 */
static void check_fingerprints(const struct rcx_request *r,
                               const struct rcx_exec *x)
{
    const struct rcx_tag_layout *l = &x->layout;
    const uint64_t mask = rcx_tag_call_mask(l);
    struct rcx_arrival found;

    for (uint64_t i = 1; i < UINT64_C(1) << l->fingerprint_bits; i++) {
        const uint64_t other = x->tag_base ^ i << l->rank_bits;

        if (!x->transport->ops->probe(x->transport, RCX_PROBE_OPEN, other, mask,
                                      &found))
            continue;
        rcx_straggler_compare_calls(
            r, r->sequence + x->segment,
            rcx_comm_index(r->comm, (int)rcx_tag_low(found.tag, l->rank_bits)));
        return;
    }
}

/* Whether both have the same sequence number and belong to different calls. */
static bool are_different(const struct rcx_exec *x, uint64_t tag_base)
{
    const struct rcx_tag_layout *l = &x->layout;
    const uint64_t fingerprint = ((UINT64_C(1) << l->fingerprint_bits) - 1)
                                 << l->rank_bits;
    const uint64_t difference = (x->tag_base ^ tag_base) & rcx_tag_call_mask(l);

    return difference != 0 && (difference & ~fingerprint) == 0;
}

void rcx_mismatch_compare(struct rcx_comm *comm,
                          const struct rcx_ctrl_msg *body)
{
    if (!is_probed(comm))
        return;
    for (const struct rcx_request *r = comm->first; r; r = r->next)
        for (unsigned i = 0; i < rcx_request_slots(r); i++)
            if (!rcx_comm_is_failed(comm) && r->slots[i] &&
                are_different(r->slots[i], body->sequence))
                rcx_straggler_compare_calls(r,
                                            r->sequence + r->slots[i]->segment,
                                            rcx_comm_index(comm, body->from));
}

/* If all ranks wait for each other, no message shows the mismatch. So a rank
 * that waits sends its call to the ranks that it waits for, once. */
static void announce_call(struct rcx_comm *comm)
{
    const struct rcx_request *r = comm->first;
    const uint64_t number = rcx_request_number(r);
    struct rcx_ctrl_msg body = {.kind = RCX_CTRL_CALL};
    int ranks[RCX_RANKS_LISTED];
    unsigned i = 0;
    int n;

    while (i < rcx_request_slots(r) && !r->slots[i])
        i++;
    if (comm->asked == number || i == rcx_request_slots(r))
        return;
    comm->asked = number;
    body.sequence = r->slots[i]->tag_base;
    n = rcx_request_peers(r, ranks, RCX_RANKS_LISTED);
    for (int k = 0; k < n; k++)
        rcx_ctrl_send(comm, ranks[k], &body);
}

static void check_calls(struct rcx_comm *comm)
{
    for (unsigned i = 0;
         i < rcx_request_slots(comm->first) && !rcx_comm_is_failed(comm); i++)
        if (comm->first->slots[i])
            check_fingerprints(comm->first, comm->first->slots[i]);
}

void rcx_mismatch_check(struct rcx_comm *comm)
{
    if (!is_probed(comm))
        return;
    check_calls(comm);
    if (!rcx_comm_is_failed(comm))
        announce_call(comm);
}
