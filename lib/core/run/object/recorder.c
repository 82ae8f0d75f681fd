/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings of the flight recorder.
 */
#include "core/run/object/recorder.h"

void rcx_recorder_init(struct rcx_recorder *r, struct rcx_heap *heap)
{
    *r = (struct rcx_recorder){
        .described = 1, .heap = heap, .born = rcx_instant_now()};
    r->calls = &r->unseen;
}

void rcx_recorder_free(struct rcx_recorder *r)
{
    if (r->slots != &r->scratch)
        rcx_heap_free(r->heap, r->slots);
    r->slots = NULL;
}

/* Allocate the entries, followed by the records. */
void rcx_recorder_open(struct rcx_recorder *r)
{
    if (r->slots)
        return;
    r->slots = rcx_heap_alloc_lines(
        r->heap,
        RCX_RECORDER_DEPTH * (sizeof *r->slots + 2 * sizeof *r->records));
    if (r->slots) {
        r->mask = RCX_RECORDER_DEPTH - 1;
        r->records = (void *)(r->slots + RCX_RECORDER_DEPTH);
    } else { /* no reason to fail an operation */
        r->slots = &r->scratch;
        r->mask = 0;
        r->records = r->scratch_records;
    }
    r->described = r->mask + 1; /* so that no record seems to be copied */
}

/*
 * The copy of an entry's record is one of the newest mask + 1 copies when the
 * entry is made. It is overwritten after as many further copies, each of which
 * had an entry of its own: the entry has been overwritten by then.
 */
void rcx_recorder_describe(struct rcx_recorder *r, struct rcx_record *record)
{
    rcx_recorder_open(r);
    record->number = ++r->described;
    record->place = (uint16_t)(record->number & (2 * r->mask + 1));
    r->records[record->place] = *record;
}
