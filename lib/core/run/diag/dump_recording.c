/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a recording as JSON. Tags are taken apart here, so that readers need
 * not know their layout.
 */
#include "core/run/diag/dump_recording.h"

#include <inttypes.h>

#include "core/run/observe/observer.h"
#include "core/sched/algo.h"

static const char *const kinds[RCX_EVENTS] = {"begin", "end",     "send",
                                              "sent",  "receive", "received"};

static void put_call(FILE *file, const struct rcx_event *e)
{
    fprintf(file, ", \"comm\": %" PRId32 ", \"sequence\": %" PRIu64, e->peer,
            e->tag);
    if (e->kind == RCX_EVENT_BEGIN)
        fprintf(file,
                ", \"collective\": \"%s\", \"bytes\": %" PRIu64
                ", \"algorithm\": \"%s\", \"blocking\": %s",
                rcx_coll_name((enum rcx_coll)e->coll), e->bytes,
                e->algo ? e->algo->name : "-",
                e->form == RCX_FORM_BLOCKING ? "true" : "false");
}

/* A message of a call has a sequence number and its number in the call; one of
 * the user has a tag. */
static void put_message(FILE *file, const struct rcx_event *e,
                        const struct rcx_tag_layout *l)
{
    const unsigned shift = rcx_tag_sequence_shift(l);
    const uint64_t comm = e->tag >> (shift + l->sequence_bits);

    fprintf(file,
            ", \"comm\": %" PRIu64 ", \"peer\": %" PRId32
            ", \"source\": %" PRIu64 ", \"bytes\": %" PRIu64,
            rcx_tag_low(comm, l->comm_bits), e->peer,
            rcx_tag_low(e->tag, l->rank_bits), e->bytes);
    if (e->tag & RCX_TAG_P2P)
        fprintf(file, ", \"tag\": %" PRIu64,
                rcx_tag_low(e->tag >> l->rank_bits, l->fingerprint_bits +
                                                        l->message_bits +
                                                        l->sequence_bits));
    else
        fprintf(file, ", \"sequence\": %" PRIu64 ", \"message\": %" PRIu64,
                rcx_tag_low(e->tag >> shift, l->sequence_bits),
                rcx_tag_low(e->tag >> (l->fingerprint_bits + l->rank_bits),
                            l->message_bits));
}

static void put_event(FILE *file, const struct rcx_context *context,
                      const struct rcx_event *e, const struct rcx_instant *now)
{
    fprintf(file, "{\"event\": \"%s\", \"at_ns\": %" PRIu64, kinds[e->kind],
            rcx_ticks_to_ns(e->ticks, &context->time.born, now));
    if (e->kind <= RCX_EVENT_END)
        put_call(file, e);
    else
        put_message(file, e, &context->layout);
    fprintf(file, e->failed ? ", \"failed\": true}" : "}");
}

void rcx_dump_recording(FILE *file, const struct rcx_context *context)
{
    const struct rcx_instant now = rcx_instant_now();
    const struct rcx_observer *o = context->observer;
    const struct rcx_recording *r = o ? o->recording : NULL;
    const uint64_t oldest = r ? rcx_recording_oldest(r) : 0;

    if (!o)
        return;
    fprintf(file,
            ", \"recording\": {\"sequences\": %" PRIu64
            ", \"dropped\": %" PRIu64 ", \"clock\": [",
            rcx_tag_sequence_window(&context->layout), oldest);
    for (unsigned i = 0; i < o->marks; i++)
        fprintf(file,
                "%s{\"at_ns\": %" PRIu64 ", \"offset_ns\": %" PRId64
                ", \"error_ns\": %" PRId64 "}",
                i ? ", " : "", o->mark[i].at_ns, o->mark[i].offset_ns,
                o->mark[i].error_ns);
    fprintf(file, "], \"events\": [");
    for (uint64_t n = oldest; r && n < r->next; n++) {
        fprintf(file, n == oldest ? "\n" : ",\n");
        put_event(file, context, &r->events[n & r->mask], &now);
    }
    fprintf(file, "]}");
}
