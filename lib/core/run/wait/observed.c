/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking calls while RCX_PROFILE or RCX_TRACE is set. The same as the fast
 * path of blocking.h, which stays free of it: a program that is observed is
 * never single, so its calls come here.
 */
#include "core/run/observe/observer.h"
#include "core/run/wait/blocking.h"

/* One call. begin: ticks; 0: not read. */
struct seen {
    uint64_t sequence, begin;
    bool quick; /* over within its first polls */
};

static rcx_status_t run(struct rcx_comm *comm, struct rcx_program *program,
                        const void *in, void *out, struct seen *seen)
{
    struct rcx_context *context = comm->context;
    struct rcx_exec *x =
        program->is_short && rcx_request_has_room(comm, program)
            ? rcx_exec_lend(&program->pieces->pool)
            : NULL;
    uint64_t stamp;
    bool is_over;

    seen->quick = false;
    if (__builtin_expect(!x, 0)) {
        if (seen->begin == 0)
            seen->begin = rcx_ticks();
        return rcx_request_run_as_request(comm, program, in, out);
    }
    is_over = rcx_request_begin(comm, program, in, out, x);
    rcx_request_note(comm, program);
    stamp = context->progress.ticks;
    if (!is_over)
        is_over = rcx_exec_go_on(x, context->progress.polls);
    if (__builtin_expect(!is_over || x->status != RCX_OK, 0)) {
        if (seen->begin == 0) /* then it began shortly before the stamp */
            seen->begin = stamp;
        return rcx_request_finish_blocking(comm, program, in, out, x, is_over);
    }
    rcx_request_conclude(comm, program, x);
    seen->quick = true;
    return RCX_OK;
}

/* What a profile does with a call that is timed. */
__attribute__((noinline)) static void add(struct rcx_profile *p,
                                          struct rcx_profile_row *row,
                                          const struct seen *seen, int root,
                                          const void *site)
{
    const struct rcx_timed_call call = {.sequence = seen->sequence,
                                        .begin = seen->begin,
                                        .end = rcx_ticks(),
                                        .site = site,
                                        .root = root,
                                        .quick = seen->quick};

    rcx_profile_add(p, row, &call);
}

/* Both, or a recording alone. */
__attribute__((noinline)) static rcx_status_t
run_recorded(struct rcx_comm *comm, struct rcx_program *program, const void *in,
             void *out, const void *site)
{
    struct rcx_observer *o = comm->context->observer;
    struct rcx_profile_row *row = program->rows[RCX_FORM_BLOCKING];
    struct seen seen = {.sequence = comm->window.next, .begin = rcx_ticks()};
    rcx_status_t status;

    rcx_recording_begin(o->recording, comm, program, seen.sequence,
                        RCX_FORM_BLOCKING);
    status = run(comm, program, in, out, &seen);
    rcx_recording_end(o->recording, comm, seen.sequence, status);
    if (!row)
        return status;
    row->calls++;
    row->bytes += program->vector_bytes;
    if (!seen.quick || rcx_profile_samples(row, seen.sequence))
        add(o->profile, row, &seen, program->call.root, site);
    return status;
}

static rcx_status_t run_observed(struct rcx_comm *comm,
                                 struct rcx_program *program, const void *in,
                                 void *out, const void *site)
{
    struct rcx_observer *o = comm->context->observer;
    struct rcx_profile_row *row = program->rows[RCX_FORM_BLOCKING];
    struct seen seen = {.sequence = comm->window.next};
    bool is_sample;
    rcx_status_t status;

    if (o->recording || !row)
        return o->recording ? run_recorded(comm, program, in, out, site)
                            : run(comm, program, in, out, &seen);
    is_sample = rcx_profile_samples(row, seen.sequence);
    if (__builtin_expect(is_sample, 0))
        seen.begin = rcx_ticks();
    status = run(comm, program, in, out, &seen);
    row->calls++;
    row->bytes += program->vector_bytes;
    if (__builtin_expect(is_sample || !seen.quick, 0))
        add(o->profile, row, &seen, program->call.root, site);
    return status;
}

rcx_status_t rcx_request_run_slow(struct rcx_comm *comm,
                                  struct rcx_program *program, const void *in,
                                  void *out, const void *site)
{
    return program->is_observed
               ? run_observed(comm, program, in, out, site)
               : rcx_request_run_as_request(comm, program, in, out);
}
