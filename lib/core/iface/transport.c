/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "core/iface/transport.h"

bool rcx_note_take(struct rcx_transport *t, struct rcx_heap *heap, void *note,
                   size_t bytes)
{
    struct rcx_note *first = t->notes;
    const bool fits = first && first->bytes == bytes;

    if (!first)
        return false;
    t->notes = first->next;
    if (!t->notes)
        t->notes_end = &t->notes;
    if (fits)
        memcpy(note, first->data, bytes);
    rcx_heap_free(heap, first);
    return fits;
}

void rcx_note_put(struct rcx_transport *t, struct rcx_heap *heap,
                  const void *note, size_t bytes)
{
    struct rcx_note *copy = rcx_heap_alloc(heap, sizeof *copy + bytes);

    if (!copy)
        return;
    copy->bytes = bytes;
    memcpy(copy->data, note, bytes);
    copy->next = NULL;
    *t->notes_end = copy;
    t->notes_end = &copy->next;
}

void rcx_transport_bury(struct rcx_transport *t, int peer)
{
    t->deaths += t->looks_for_dead && !t->dead[peer];
    t->dead[peer] = 1;
}
