/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sequence window of a communicator, and the limit of how far senders run
 * ahead of receivers.
 */
#include "core/run/request/seq_window.h"

#include "core/run/request/request.h"

/* Numbers below the limit stay free, since the oldest number in use only grows.
 * Behind a prologue ranks may count differently. */
void rcx_seq_window_advance(struct rcx_comm *comm)
{
    const struct rcx_request *first = comm->first;
    const uint64_t in_flight = first->stage->program->method.window;

    if (comm->window.gate)
        return;
    comm->window.limit =
        first->sequence +
        (first->launched > in_flight ? first->launched - in_flight : 0) +
        rcx_tag_sequence_window(&comm->context->layout);
}

void rcx_seq_window_stall(struct rcx_seq_window *w, struct rcx_request *r)
{
    if (!w->stalled || r->sequence < w->stalled->sequence)
        w->stalled = r;
}

void rcx_seq_window_gate(struct rcx_seq_window *w, struct rcx_request *r)
{
    w->gate = r;
    w->limit = r->sequence + 1;
}

/* Ranks may count segments that will not run differently. Operations after r
 * have started no segment. */
void rcx_seq_window_return(struct rcx_seq_window *w, struct rcx_request *r)
{
    w->next = r->sequence + r->launched;
    for (struct rcx_request *later = r->next; later; later = later->next) {
        later->sequence = w->next;
        w->next += later->total;
    }
}

/*
 * A rank that only sends may run ahead of its receivers, whose memory then
 * fills with unexpected messages. So now and then a segment has its messages
 * acknowledged. All ranks count the same segments in the order of calls, so
 * they agree on which.
 */
struct rcx_piece *rcx_seq_window_choose_piece(struct rcx_request *r,
                                              struct rcx_piece *piece)
{
    const uint64_t most = r->comm->context->ahead;
    const uint64_t into = r->ahead & (most - 1);

    r->ahead += piece->weight;
    return into + piece->weight >= most ? piece->acked : piece;
}
