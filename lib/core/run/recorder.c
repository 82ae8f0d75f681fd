/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/recorder.h"

void rcx_recorder_init(struct rcx_recorder *r, struct rcx_heap *heap)
{
    *r = (struct rcx_recorder){.heap = heap, .born = rcx_instant_now()};
}

void rcx_recorder_free(struct rcx_recorder *r)
{
    if (r->slots != &r->scratch)
        rcx_heap_free(r->heap, r->slots);
    r->slots = NULL;
}

void rcx_recorder_open(struct rcx_recorder *r)
{
    if (r->slots)
        return;
    r->slots = rcx_heap_alloc(r->heap, RCX_RECORDER_DEPTH * sizeof *r->slots);
    r->mask = RCX_RECORDER_DEPTH - 1;
    if (!r->slots) { /* not worth failing an operation for */
        r->slots = &r->scratch;
        r->mask = 0;
    }
}
