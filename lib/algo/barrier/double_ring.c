/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier by a double ring (OCC manual 2005).
 *
 *   scratch  an element
 *
 * One element travels twice around the ring, from rank 0 on. When rank 0 has it
 * back, all ranks have entered. The second lap tells the other ranks: a rank
 * that receives the element again may leave.
 */
#include "core/sched/algo.h"

enum { LAPS = 2 };

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return (struct rcx_cost){.rounds =
                                 s->size > 1 ? LAPS * (double)s->size : 0};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span token = rcx_span_scratch(b, 1);
    const int above = (s->rank + 1) % s->size;
    const int below = (s->rank + s->size - 1) % s->size;

    for (int lap = 0; lap < LAPS && s->size > 1; lap++) {
        if (s->rank > 0)
            rcx_step_recv(b, below, token);
        rcx_step_send(b, above, token);
        if (s->rank == 0)
            rcx_step_recv(b, below, token);
    }
}

const struct rcx_algo rcx_barrier_double_ring = {
    .name = "double_ring",
    .coll = RCX_COLL_BARRIER,
    .formula = "2 [p > 1] p a",
    .known_as = "OCC: Dring; Open MPI: double_ring",
    .source = "OCC manual 2005",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
