/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The observer of a context, and what it sees of nonblocking calls. Blocking
 * ones are seen by run/wait/observed.c.
 */
#include "core/run/observe/observer.h"

rcx_status_t rcx_observer_open(struct rcx_context *context)
{
    const struct rcx_config *config = &context->config;
    struct rcx_observer *o;

    if (!config->profile[0] && !config->trace[0])
        return RCX_OK;
    o = context->observer = rcx_heap_zalloc(&context->heap, sizeof *o);
    if (o && config->profile[0])
        o->profile = rcx_profile_create(&context->heap);
    if (o && config->trace[0])
        o->recording = rcx_recording_open(context->transport, &context->heap,
                                          config->trace_events);
    if (o && (o->profile || !config->profile[0]) &&
        (o->recording || !config->trace[0]))
        return RCX_OK;
    return rcx_fail(&context->log, RCX_ERR_NOMEM,
                    "no memory for RCX_PROFILE or RCX_TRACE");
}

void rcx_observer_close(struct rcx_context *context)
{
    struct rcx_observer *o = context->observer;

    if (!o)
        return;
    rcx_profile_free(o->profile, &context->heap);
    rcx_recording_free(o->recording, &context->heap);
    rcx_heap_free(&context->heap, o);
    context->observer = NULL;
}

int64_t rcx_observer_align(const struct rcx_observer *o, uint64_t ns)
{
    const struct rcx_clock_mark *from = &o->mark[0], *to = &o->mark[1];
    double share;

    if (o->marks == 0)
        return (int64_t)ns;
    if (o->marks == 1 || to->at_ns <= from->at_ns)
        return (int64_t)ns - from->offset_ns;
    share =
        (double)(int64_t)(ns - from->at_ns) / (double)(to->at_ns - from->at_ns);
    return (int64_t)ns - from->offset_ns -
           (int64_t)(share * (double)(to->offset_ns - from->offset_ns));
}

void rcx_observer_adopt(struct rcx_comm *comm, struct rcx_program *e)
{
    const struct rcx_observer *o = comm->context->observer;

    if (!o || e->call.role != RCX_CALL_USERS || comm->id < RCX_COMM_ID_WORLD ||
        rcx_comm_is_for_groups(comm->id))
        return;
    e->is_observed = true;
    for (int form = 0; o->profile && form < RCX_FORMS; form++)
        e->rows[form] = rcx_profile_row(comm, e, (enum rcx_form)form);
}

/* ---- Nonblocking calls --------------------------------------------------- */

void rcx_observe_start(struct rcx_request *r)
{
    struct rcx_recording *recording = r->comm->context->observer->recording;

    if (recording)
        rcx_recording_begin(recording, r->comm, r->program, r->sequence,
                            RCX_FORM_REQUEST);
}

void rcx_observe_end(const struct rcx_request *r, uint64_t now)
{
    struct rcx_observer *o = r->comm->context->observer;
    struct rcx_profile_row *row = r->program->rows[RCX_FORM_REQUEST];
    const struct rcx_timed_call call = {.sequence = r->sequence,
                                        .begin = r->begin,
                                        .end = now,
                                        .site = r->site,
                                        .root = r->program->call.root};

    if (row) {
        row->calls++;
        row->bytes += r->program->vector_bytes;
        rcx_profile_add(o->profile, row, &call);
    }
    if (o->recording)
        rcx_recording_end(o->recording, r->comm, r->sequence, r->status);
}
