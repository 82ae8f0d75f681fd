/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of control messages, and the marks of failed peers, for all
 * transports.
 */
#include <string.h>

#include "core/iface/transport.h"

bool rcx_ctrl_queue_pop(struct rcx_transport *t, struct rcx_heap *heap,
                        void *note, size_t bytes)
{
    struct rcx_ctrl_frame *first = t->ctrl;
    const bool fits = first && first->bytes == bytes;

    if (!first)
        return false;
    t->ctrl = first->next;
    if (!t->ctrl)
        t->ctrl_end = &t->ctrl;
    if (fits)
        memcpy(note, first->data, bytes);
    rcx_heap_free(heap, first);
    return fits;
}

void rcx_ctrl_queue_push(struct rcx_transport *t, struct rcx_heap *heap,
                         const void *note, size_t bytes)
{
    struct rcx_ctrl_frame *copy = rcx_heap_alloc(heap, sizeof *copy + bytes);

    if (!copy)
        return;
    copy->bytes = bytes;
    memcpy(copy->data, note, bytes);
    copy->next = NULL;
    *t->ctrl_end = copy;
    t->ctrl_end = &copy->next;
}

void rcx_transport_peer_failed(struct rcx_transport *t, int peer)
{
    t->failed_count += t->watches_peers && !t->failed_peers[peer];
    t->failed_peers[peer] = 1;
}
