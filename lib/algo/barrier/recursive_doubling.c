/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier by recursive doubling (OCC manual 2005).
 *
 *   scratch  floor(lg p) + 2 elements
 *
 * Let p = 2^k + r. Each of the last r ranks first sends to the rank 2^k below.
 * The lower 2^k ranks exchange at distances 1, 2, 4, ..., and then send to the
 * last r ranks. Each received element is copied onto the element that is sent,
 * so the overlap of spans yields the dependencies.
 */
#include "core/sched/algo.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int cube = rcx_pow2_floor(s->size);

    return (struct rcx_cost){.rounds = rcx_log2_floor(s->size) +
                                       2 * (s->size > cube)};
}

static void hear(struct rcx_builder *b, int peer, struct rcx_span own)
{
    const struct rcx_span theirs = rcx_span_scratch(b, 1);

    rcx_step_recv(b, peer, theirs);
    rcx_step_copy(b, own, theirs);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const int me = s->rank, cube = rcx_pow2_floor(s->size);
    const struct rcx_span own = rcx_span_scratch(b, 1);

    if (me >= cube) {
        rcx_step_send(b, me - cube, own);
        rcx_step_recv(b, me - cube, own);
        return;
    }
    if (me < s->size - cube)
        hear(b, me + cube, own);
    for (int dist = 1; dist < cube; dist *= 2) {
        rcx_step_send(b, me ^ dist, own);
        hear(b, me ^ dist, own);
    }
    if (me < s->size - cube)
        rcx_step_send(b, me + cube, own);
}

const struct rcx_algo rcx_barrier_recursive_doubling = {
    .name = "recursive_doubling",
    .coll = RCX_COLL_BARRIER,
    .formula = "(k + 2 [p > 2^k]) a, k = floor(lg p)",
    .known_as = "OCC: Recdbl; MPICH: recexch; Open MPI: recursive_doubling, "
                "two_proc; UCC: knomial",
    .source = "OCC manual 2005",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
