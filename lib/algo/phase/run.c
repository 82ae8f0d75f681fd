/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of consecutive blocks, cyclic, for Bruck and circulant allgathers. A
 * run that wraps around the vector's end is packed into scratch, or unpacked
 * from it; any other run is sent and received in its place.
 */
#include "algo/phase/run.h"

struct ends {
    struct rcx_span head;
    struct rcx_span tail; /* blocks from the vector's start on; may be empty */
};

static struct ends ends_of(const struct rcx_run *run)
{
    const int p = run->blocks->n, end = run->first + run->n;
    const struct rcx_span vector = run->vector;

    if (end <= p)
        return (struct ends){
            .head = rcx_block_range(run->blocks, vector, run->first, end),
            .tail = rcx_span_sub(vector, 0, 0)};
    return (struct ends){
        .head = rcx_block_range(run->blocks, vector, run->first, p),
        .tail = rcx_block_range(run->blocks, vector, 0, end - p)};
}

/* Reserve *whole_p, scratch for both ends in one piece. Returns the ends within
 * it. */
static struct ends packed(struct rcx_builder *b, const struct ends *ends,
                          struct rcx_span *whole_p)
{
    const size_t head = ends->head.count, tail = ends->tail.count;

    *whole_p = rcx_span_scratch(b, head + tail);
    return (struct ends){.head = rcx_span_sub(*whole_p, 0, head),
                         .tail = rcx_span_sub(*whole_p, head, tail)};
}

void rcx_run_send(struct rcx_builder *b, int peer, const struct rcx_run *run)
{
    const struct ends from = ends_of(run);
    struct rcx_span whole = from.head;

    if (from.tail.count > 0) {
        const struct ends to = packed(b, &from, &whole);

        rcx_step_copy(b, to.head, from.head);
        rcx_step_copy(b, to.tail, from.tail);
    }
    rcx_step_send(b, peer, whole);
}

struct rcx_span rcx_run_recv(struct rcx_builder *b, int peer,
                             const struct rcx_run *run)
{
    const struct ends to = ends_of(run);
    struct rcx_span whole = to.head;
    struct ends from = to;

    if (to.tail.count > 0)
        from = packed(b, &to, &whole);
    rcx_step_recv(b, peer, whole);
    if (to.tail.count > 0) {
        rcx_step_copy(b, to.head, from.head);
        rcx_step_copy(b, to.tail, from.tail);
    }
    return whole;
}
