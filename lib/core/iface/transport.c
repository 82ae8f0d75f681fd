/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of control messages, and the marks of failed peers, for all
 * transports.
 */
#include <string.h>

#include "core/iface/transport.h"

struct rcx_ctrl_frame *rcx_ctrl_queue_pop(struct rcx_transport *t)
{
    struct rcx_ctrl_frame *first = t->ctrl;

    if (!first)
        return NULL;
    t->ctrl = first->next;
    if (!t->ctrl)
        t->ctrl_end = &t->ctrl;
    return first;
}

void rcx_ctrl_frame_free(struct rcx_ctrl_frame *frame)
{
    rcx_heap_free(frame->heap, frame);
}

void rcx_ctrl_queue_push(struct rcx_transport *t, struct rcx_heap *heap,
                         const void *note, size_t bytes)
{
    struct rcx_ctrl_frame *copy = rcx_heap_alloc(heap, sizeof *copy + bytes);

    if (!copy)
        return;
    copy->heap = heap;
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
