/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps of a context: walks its communicators. */
#include "core/run/diag/dump_context.h"

#include "core/run/diag/describe.h"
#include "core/run/diag/dump.h"
#include "core/run/diag/dump_recording.h"
#include "core/run/object/request.h"

enum { PEERS = 16 };

/* The context, and the current communicator. */
struct source {
    struct rcx_comm *next;
    struct rcx_comm *comm;
    int peers[PEERS];
};

static struct rcx_request *request_with(const struct rcx_comm *comm,
                                        uint64_t number)
{
    struct rcx_request *r = comm->first;

    while (r && rcx_request_number(r) != number)
        r = r->next;
    return r;
}

static int progress_of(void *arg, uint64_t sequence,
                       struct rcx_dump_progress *progress_p)
{
    struct source *source = arg;
    const struct rcx_request *r = request_with(source->comm, sequence);
    uint64_t left = 0, steps = 0;

    if (!r)
        return 0;
    for (unsigned i = 0; i < rcx_request_slots(r); i++) {
        const struct rcx_exec *x = r->slots[i];

        steps += x ? x->plan->step_count : 0;
        left += x ? x->steps_left : 0;
    }
    *progress_p = (struct rcx_dump_progress){
        .step = steps - left,
        .steps = steps,
        .waiting_for = source->peers,
        .waiting_count = (size_t)rcx_request_peers(r, source->peers, PEERS)};
    return 1;
}

static bool next_comm(void *arg, struct rcx_dump_comm *comm_p)
{
    struct source *source = arg;
    struct rcx_comm *comm = source->next;

    if (!comm)
        return false;
    source->comm = comm;
    source->next = comm->next;
    *comm_p = (struct rcx_dump_comm){
        .id = comm->id,
        .name = comm->name,
        .rank = comm->rank,
        .size = comm->size,
        .ranks = comm->ranks,
        .status = rcx_comm_failure(comm),
        .error = comm->why ? comm->why->text : NULL,
        .missing = comm->why ? comm->why->ranks : NULL,
        .missing_count = comm->why ? (size_t)comm->why->rank_count : 0,
        .next_sequence = comm->recorder.next + 1,
        .recorder = &comm->recorder,
        .messages = &comm->p2p.recorder,
        .progress_of = progress_of,
        .arg = source};
    return true;
}

static void put_recording(FILE *file, void *context)
{
    rcx_dump_recording(file, context);
}

rcx_status_t rcx_dump_context(struct rcx_context *context, const char *path,
                              const char *by, const char *reason)
{
    struct source source = {.next = context->comms.first};
    const struct rcx_dump_head head = {.rank = context->boot->rank,
                                       .size = context->boot->size,
                                       .reason = reason,
                                       .by = by,
                                       .next = next_comm,
                                       .more = put_recording,
                                       .more_arg = context,
                                       .arg = &source};

    return rcx_dump_to_path(&context->log, path, &head);
}

void rcx_dump_failure(struct rcx_context *context, const char *reason)
{
    char path[sizeof context->config.dump + 32];

    if (!context->config.dump[0])
        return;
    snprintf(path, sizeof path, "%s.%d.json", context->config.dump,
             context->boot->rank);
    rcx_dump_context(context, path, "RCX_DUMP", reason);
}
