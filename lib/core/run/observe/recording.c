/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring of a recording, and the functions of a transport that record.
 */
#include "core/run/observe/recording.h"

static void add(struct rcx_recording *r, const struct rcx_event *event)
{
    struct rcx_event *place = &r->events[r->next++ & r->mask];

    *place = *event;
    place->ticks = rcx_ticks_after_reads();
}

void rcx_recording_begin(struct rcx_recording *r, const struct rcx_comm *comm,
                         const struct rcx_program *program, uint64_t sequence,
                         int form)
{
    add(r, &(struct rcx_event){.kind = RCX_EVENT_BEGIN,
                               .tag = sequence,
                               .bytes = program->vector_bytes,
                               .algo = program->method.algo,
                               .peer = (int32_t)comm->id,
                               .coll = program->call.coll,
                               .form = (uint8_t)form});
}

void rcx_recording_end(struct rcx_recording *r, const struct rcx_comm *comm,
                       uint64_t sequence, rcx_status_t status)
{
    add(r, &(struct rcx_event){.kind = RCX_EVENT_END,
                               .tag = sequence,
                               .peer = (int32_t)comm->id,
                               .failed = status != RCX_OK});
}

/* ---- Messages ------------------------------------------------------------ */

static void add_message(struct rcx_recording *r, enum rcx_event_kind kind,
                        int peer, uint64_t tag, size_t bytes)
{
    add(r,
        &(struct rcx_event){
            .kind = (uint8_t)kind, .peer = peer, .tag = tag, .bytes = bytes});
}

/* m was in flight, and is complete. Its whole tag has the bits of both. */
static void add_done(struct rcx_recording *r, const struct rcx_message *m,
                     rcx_status_t status)
{
    const struct rcx_exec *x = m->owner;
    const bool is_send = m->kind == RCX_STEP_SEND;

    add(r, &(struct rcx_event){.kind = is_send ? RCX_EVENT_SENT
                                               : RCX_EVENT_RECEIVED,
                               .peer = m->peer,
                               .tag = x->tag_base | m->tag,
                               .bytes = is_send ? m->due : m->bytes,
                               .failed = status != RCX_OK});
}

static rcx_status_t record_send(struct rcx_transport *t, int peer,
                                const void *buffer, size_t bytes, uint64_t tag,
                                struct rcx_message *m)
{
    struct rcx_recording *r = t->recording;

    add_message(r, RCX_EVENT_SEND, peer, tag, bytes);
    return r->inner->send(t, peer, buffer, bytes, tag, m);
}

static rcx_status_t received(struct rcx_recording *r, int peer, uint64_t tag,
                             const struct rcx_message *m, rcx_status_t status)
{
    if (status == RCX_IN_PROGRESS)
        add_message(r, RCX_EVENT_RECEIVE, peer, tag, m->due);
    else if (status == RCX_OK)
        add_message(r, RCX_EVENT_RECEIVED, peer, tag, m->bytes);
    return status;
}

static rcx_status_t record_recv(struct rcx_transport *t, int peer, void *buffer,
                                size_t bytes, uint64_t tag,
                                struct rcx_message *m)
{
    struct rcx_recording *r = t->recording;

    return received(r, peer, tag, m,
                    r->inner->recv(t, peer, buffer, bytes, tag, m));
}

static rcx_status_t record_recv_masked(struct rcx_transport *t, void *buffer,
                                       size_t bytes, uint64_t tag,
                                       uint64_t mask, struct rcx_message *m)
{
    struct rcx_recording *r = t->recording;
    const rcx_status_t status =
        r->inner->recv_masked(t, buffer, bytes, tag, mask, m);

    return received(r, m->peer, status == RCX_OK ? m->tag : tag, m, status);
}

static void record_send_shared(struct rcx_transport *t, struct rcx_message *m[],
                               unsigned n, const void *buffer, size_t bytes,
                               uint64_t tag_base)
{
    struct rcx_recording *r = t->recording;

    r->inner->send_shared(t, m, n, buffer, bytes, tag_base);
    for (unsigned i = 0; i < n; i++)
        if (m[i]->sharing == RCX_SHARING_SENT)
            add_message(r, RCX_EVENT_SEND, m[i]->peer, tag_base | m[i]->tag,
                        bytes);
}

static rcx_status_t record_expect(struct rcx_transport *t,
                                  struct rcx_message *m, unsigned *polls)
{
    struct rcx_recording *r = t->recording;
    const rcx_status_t status = r->inner->expect(t, m, polls);

    if (status != RCX_IN_PROGRESS)
        add_done(r, m, status);
    return status;
}

/* What completes is appended to the list. */
static unsigned record_progress(struct rcx_transport *t)
{
    struct rcx_recording *r = t->recording;
    struct rcx_message **end = t->done_end;
    const unsigned events = r->inner->progress(t);

    for (; end != t->done_end; end = &(*end)->next)
        add_done(r, *end, (*end)->status);
    return events;
}

/* ---- Recordings ---------------------------------------------------------- */

struct rcx_recording *rcx_recording_open(struct rcx_transport *t,
                                         struct rcx_heap *heap, size_t events)
{
    struct rcx_recording *r = rcx_heap_zalloc(heap, sizeof *r);
    uint64_t size = 64;

    while (size < events)
        size *= 2;
    if (r)
        r->events = rcx_heap_alloc(heap, size * sizeof *r->events);
    if (!r || !r->events) {
        rcx_heap_free(heap, r);
        return NULL;
    }
    r->mask = size - 1;
    r->inner = t->ops;
    r->ops = *t->ops;
    r->ops.send = record_send;
    r->ops.recv = record_recv;
    r->ops.recv_masked = record_recv_masked;
    r->ops.send_shared = r->inner->send_shared ? record_send_shared : NULL;
    r->ops.expect = r->inner->expect ? record_expect : NULL;
    r->ops.progress = record_progress;
    t->recording = r;
    t->ops = &r->ops;
    return r;
}

void rcx_recording_free(struct rcx_recording *r, struct rcx_heap *heap)
{
    if (r)
        rcx_heap_free(heap, r->events);
    rcx_heap_free(heap, r);
}
