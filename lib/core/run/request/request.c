/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: start, segments in flight, stages, and completion of one operation.
 */
#include "core/run/request/request.h"

#include "core/run/diag/describe.h"
#include "core/run/diag/publish.h"
#include "core/run/fault/failure.h"
#include "core/run/observe/observer.h"
#include "core/run/request/callback.h"
#include "core/run/request/exact_stages.h"
#include "core/run/request/p2p.h"
#include "core/run/request/place.h"
#include "core/run/request/request_pool.h"
#include "core/run/request/seq_window.h"
#include "core/run/request/stages.h"
#include "core/run/request/veclist.h"

/* Append to a list whose end is *end. */
static inline void link_active(struct rcx_request ***end, struct rcx_request *r)
{
    r->next = NULL;
    r->link = *end;
    *end = &(**end = r)->next;
}

static inline void unlink_active(struct rcx_request ***end,
                                 struct rcx_request *r)
{
    *r->link = r->next;
    *(r->next ? &r->next->link : end) = r->link;
    rcx_publish_end(r->comm->context);
    if (__builtin_expect(r->comm->context->sleeper.host != 0, 0))
        rcx_sleeper_tell(&r->comm->context->sleeper);
}

/* ---- Segments ------------------------------------------------------------ */

/* The slot of a segment in flight. */
static struct rcx_exec **slot_of(struct rcx_request *r, uint64_t segment)
{
    return &r->slots[segment % RCX_WINDOW_MAX];
}

/* Whether the segment that used the next slot before has completed. */
static bool has_slot(struct rcx_request *r)
{
    const unsigned window = r->stage->program->method.window;

    return r->launched < window || !*slot_of(r, r->launched - window);
}

/* Whether the next sequence number is free in the window. */
static bool has_number(const struct rcx_request *r)
{
    return rcx_seq_window_has(r->comm, &r->comm->window,
                              r->sequence + r->launched);
}

static struct rcx_piece *next_piece(struct rcx_request *r)
{
    const uint64_t segment = r->launched - r->first;
    struct rcx_piece *piece = r->stage->program->pieces;

    while (segment >= piece->end)
        piece++;
    return piece->acked ? rcx_seq_window_choose_piece(r, piece) : piece;
}

static struct rcx_exec *next_exec(struct rcx_request *r)
{
    struct rcx_piece *piece = next_piece(r);
    struct rcx_exec *x = rcx_exec_get(&piece->pool);

    if (!x)
        return NULL;
    x->owner = r;
    x->segment = r->launched;
    x->tag_base =
        (piece->program->tag ^ r->mark) |
        rcx_seq_window_tag(&r->comm->window, r->sequence + r->launched);
    if (__builtin_expect(r->kind & RCX_REQUEST_PLACED, 0))
        rcx_request_find_place(r, piece, x);
    else
        rcx_request_place(r, piece, x);
    return x;
}

/* Start no further segments. */
static void stop_launching(struct rcx_request *r)
{
    r->total = r->end = r->launched;
}

/* Record the operation, unless that is done. */
static void record(struct rcx_request *r)
{
    if (r->is_recorded)
        return;
    r->record =
        rcx_recorder_begin(&r->comm->recorder, &r->program->record, r->begin);
    r->is_recorded = true;
}

/* For a lack of memory or descriptors this rank is named, not its peer. */
void rcx_request_message_failed(const struct rcx_request *r,
                                rcx_status_t status, int peer)
{
    char *why = r->comm->context->transport->last_error, call[RCX_CALL_TEXT];
    const bool is_own = status == RCX_ERR_NOMEM || status == RCX_ERR_LIMIT;
    const int blamed = is_own ? r->comm->rank : peer;
    char rank[RCX_RANK_TEXT] = "";

    if (blamed >= 0)
        rcx_rank_print(r->comm, blamed, rank);
    rcx_comm_suspect(r->comm, status, &blamed, blamed >= 0, "%s: %s%s%s%s%s",
                     rcx_request_print(r, call), rcx_status_string(status),
                     rank[0] ? ", rank " : "", rank, why[0] ? ": " : "", why);
    why[0] = '\0';
}

/* The receive x ends, and nothing else. */
static void end_withdrawn(struct rcx_request *r, struct rcx_exec *x)
{
    r->status = RCX_ERR_CANCELED;
    rcx_exec_put(x);
    r->slots[0] = NULL;
    r->finished++;
}

static bool is_withdrawn(const struct rcx_request *r, const struct rcx_exec *x)
{
    return r->kind & RCX_REQUEST_WITHDRAWN && x->status == RCX_ERR_CANCELED;
}

/*
 * A message of x is lost, so the communicator fails. The next
 * rcx_detector_poll() cancels its operations, this one and x included. Or x was
 * withdrawn.
 */
__attribute__((noinline)) static void end_lost(struct rcx_request *r,
                                               struct rcx_exec *x)
{
    if (is_withdrawn(r, x)) {
        end_withdrawn(r, x);
        return;
    }
    record(r);
    r->status = x->status;
    stop_launching(r);
    rcx_request_message_failed(r, x->status, x->lost);
}

static void resume_stalled(struct rcx_comm *comm);

/* If its first step failed, the call does not go on. */
__attribute__((noinline)) static void end_stage(struct rcx_request *r,
                                                struct rcx_exec *x)
{
    const bool is_first_step = rcx_request_is_first_step(r);

    if (r->status != RCX_OK) {
        if (is_first_step)
            stop_launching(r);
        return;
    }
    if (!rcx_stage_end(r, x))
        stop_launching(r);
    resume_stalled(r->comm);
}

__attribute__((noinline)) static void leave_place(struct rcx_request *r,
                                                  struct rcx_exec *x)
{
    const struct rcx_piece *piece = rcx_piece_of(x);

    if (piece->program != r->program && !rcx_request_is_creating(r))
        end_stage(r, x);
    else if (r->veclist && r->status == RCX_OK)
        rcx_veclist_unpack(r->veclist, x->base[RCX_BUFFER_OUT],
                           rcx_request_offset(r, piece, x->segment),
                           rcx_request_segment_bytes(piece));
}

static void finish_segment(struct rcx_request *r, struct rcx_exec *x)
{
    const struct rcx_piece *piece = rcx_piece_of(x);

    if (__builtin_expect(x->steps_left > 0, 0)) {
        end_lost(r, x);
        return;
    }
    if (r->status == RCX_OK)
        r->status = x->status;
    if (x->status == RCX_OK)
        rcx_request_complete_call(r->comm, piece->program, piece, x);
    if (__builtin_expect(r->kind & RCX_REQUEST_PLACED, 0))
        leave_place(r, x);
    rcx_exec_put(x);
    *slot_of(r, x->segment) = NULL;
    r->finished++;
}

static inline void pump(struct rcx_request *r);

static void resume_stalled(struct rcx_comm *comm)
{
    struct rcx_seq_window *w = &comm->window;

    if (w->unstalling)
        return;
    w->unstalling = true;
    while (w->stalled && !rcx_comm_is_failed(comm)) {
        struct rcx_request *r = w->stalled;

        if (r->launched < r->end && !has_number(r))
            break;
        w->stalled = r->next;
        pump(r);
    }
    w->unstalling = false;
}

void rcx_request_destroy(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;

    rcx_callback_remove(&context->callbacks, r);
    if (r->program->makes_comm)
        r->creation->destroy(r);
    if (r->program->is_p2p)
        rcx_p2p_put(&r->comm->p2p, rcx_p2p_of(r->program));
    else
        rcx_request_clear(r);
    if (r->veclist && !rcx_comm_is_failed(r->comm))
        rcx_veclist_destroy(context, r->veclist);
    else if (r->veclist)
        rcx_veclist_defer_destroy(context, r->veclist);
    rcx_requests_put(&context->requests, r);
}

/* Ranks have agreed, before data moved, that their calls do not match. */
static bool is_rejected(const struct rcx_request *r)
{
    return r->status == RCX_ERR_MISMATCH && rcx_request_is_prologue(r) &&
           !rcx_comm_is_failed(r->comm);
}

/* A rejected call and a failed user-defined op leave all ranks in step. False:
 * any other error, for which the communicator fails. */
static bool settle(struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;
    const char *why = rcx_status_string(r->status);
    char call[RCX_CALL_TEXT];

    if (is_rejected(r)) /* which is logged */
        return true;
    rcx_request_print(r, call);
    if (r->status == RCX_ERR_OP)
        rcx_log_line(&comm->context->log, RCX_LOG_ERROR, "%s: %s", call, why);
    else
        rcx_comm_fail(comm, r->status, NULL, 0, "%s: %s", call, why);
    return r->status == RCX_ERR_OP;
}

/* Reads the clock: how long a stopped rank is blamed for depends on it. */
static uint64_t end(struct rcx_request *r)
{
    const uint64_t now = rcx_ticks();

    if (!rcx_request_waits_inside(r))
        r->ended = now;
    return now;
}

/* Whether the observer sees it here; a blocking call is seen as a whole. */
static inline bool is_seen(const struct rcx_request *r)
{
    return r->program->is_observed && !rcx_request_waits_inside(r);
}

static inline void complete(struct rcx_request *r)
{
    struct rcx_seq_window *w = &r->comm->window;

    if (__builtin_expect(r->program->makes_comm, 0))
        r->creation->end(r);
    if (w->stalled == r) /* it got a number without resume_stalled() */
        w->stalled = r->next;
    unlink_active(&r->comm->end, r);
    r->state = RCX_REQUEST_IDLE;
    if (r->callback)
        rcx_callback_add(&r->comm->context->callbacks, r);
    if (w->stalled)
        resume_stalled(r->comm);
}

/* All segments that r started have completed. If its communicator fails, r ends
 * with the others, by rcx_detector_poll(). */
static inline void conclude(struct rcx_request *r)
{
    const uint64_t now = end(r);

    record(r);
    rcx_recorder_end(&r->comm->recorder, r->record, r->status, now);
    r->comm->ended =
        (struct rcx_ended){r->sequence, r->sequence + r->total, r->begin, now};
    if (__builtin_expect(is_seen(r), 0))
        rcx_observe_end(r, now);
    if (r->status == RCX_OK || settle(r))
        complete(r);
}

/* ---- Messages ------------------------------------------------------------ */

static void complete_message(struct rcx_request *r)
{
    struct rcx_p2p_queue *queue = &r->comm->p2p;

    r->ended = rcx_ticks();
    rcx_recorder_end(&queue->recorder, r->record, r->status, r->ended);
    unlink_active(&queue->end, r);
    r->state = RCX_REQUEST_IDLE;
    if (r->callback)
        rcx_callback_add(&r->comm->context->callbacks, r);
}

/* An error of a message concerns this rank alone. */
static void conclude_message(struct rcx_request *r)
{
    struct rcx_p2p *p = rcx_p2p_of(r->program);

    /* its only execution is idle again */
    r->status = rcx_p2p_finish(p, r->comm, p->piece.pool.idle, r->status);
    complete_message(r);
}

/* Link the request of a message, which is recorded. Its second stage is the
 * check of what arrived, which needs no execution. */
static void link_message(struct rcx_request *r, struct rcx_exec *x)
{
    struct rcx_comm *comm = r->comm;

    r->state = RCX_REQUEST_ACTIVE;
    r->status = RCX_OK;
    r->stage = r->stages;
    r->first = r->finished = 0;
    r->launched = r->end = 1;
    r->total = 2;
    r->begin = comm->context->progress.ticks;
    r->timeout_ns = comm->timeout_ns;
    r->is_recorded = true;
    r->kind = 0;
    link_active(&comm->p2p.end, r);
    if (!comm->is_busy)
        rcx_comm_note_busy(comm);
    x->owner = r;
    x->segment = 0;
    r->slots[0] = x;
}

void rcx_request_post(struct rcx_request *r)
{
    struct rcx_p2p *p = rcx_p2p_of(r->program);
    struct rcx_exec *x = rcx_exec_get(&p->piece.pool);

    link_message(r, x);
    r->record = rcx_recorder_begin(&r->comm->p2p.recorder, &r->program->record,
                                   r->begin);
    if (rcx_p2p_start(p, x))
        rcx_request_advance(r, x);
}

void rcx_request_adopt_message(struct rcx_request *r, struct rcx_exec *x,
                               bool is_over, uint64_t record)
{
    link_message(r, x);
    r->record = record;
    if (is_over)
        rcx_request_advance(r, x);
}

void rcx_request_withdraw(struct rcx_request *r)
{
    struct rcx_transport *t = r->comm->context->transport;

    r->kind |= RCX_REQUEST_WITHDRAWN;
    if (r->slots[0])
        t->ops->withdraw(t, r->slots[0]->messages);
}

const struct rcx_request *rcx_comm_awaited_message(const struct rcx_comm *comm)
{
    const struct rcx_request *r = comm->p2p.first;

    while (r && !rcx_request_waits_inside(r))
        r = r->next;
    return r;
}

/* ---- Stages -------------------------------------------------------------- */

/* No memory for the next segment: the communicator fails. */
static void fail_no_memory(struct rcx_request *r)
{
    record(r);
    stop_launching(r);
    r->status = RCX_ERR_NOMEM;
    settle(r);
}

/* Start the segments that the windows allow. */
static void launch(struct rcx_request *r)
{
    while (r->launched < r->end) {
        struct rcx_exec *x;

        if (!has_slot(r))
            return;
        if (!has_number(r)) {
            rcx_seq_window_stall(&r->comm->window, r);
            return;
        }
        x = next_exec(r);
        if (!x) {
            fail_no_memory(r);
            return;
        }
        *slot_of(r, r->launched++) = x;
        if (rcx_exec_start(x))
            finish_segment(r, x);
    }
}

static void next_stage(struct rcx_request *r);

/* The same, and go on to the next stage or to the end when a stage has
 * completed. */
static inline void pump(struct rcx_request *r)
{
    if (r->launched < r->end)
        launch(r);
    if (r->finished < r->end)
        return;
    if (r->end < r->total)
        next_stage(r);
    else
        conclude(r);
}

/* The stages before the first one of a creation are not run again. */
static void go_on_creating(struct rcx_request *r)
{
    const enum rcx_creation_step step = r->creation->next(r);

    if (step == RCX_CREATION_OVER) {
        conclude(r);
        return;
    }
    if (step == RCX_CREATION_CONFIRM) {
        r->stage++;
        r->first = r->end;
    } else {
        r->stage--;
        r->first -= r->stage->program->segments;
        r->launched = r->finished = r->first;
    }
    r->end = r->first + r->stage->program->segments;
    pump(r);
}

__attribute__((noinline)) static void next_stage(struct rcx_request *r)
{
    if (r->program->is_p2p) {
        conclude_message(r);
        return;
    }
    if (rcx_request_is_creating(r)) {
        go_on_creating(r);
        return;
    }
    if (rcx_request_is_first_step(r))
        rcx_request_take_over(r);
    else if (rcx_request_is_exact_numbers(r))
        r->stage--; /* the ranges of the next chunk */
    else if (r->stage->program->call.role != RCX_CALL_FLOATS)
        r->stage++; /* floats: the same stage, of the next chunk */
    r->first = r->end;
    r->end += r->stage->program->segments;
    pump(r);
}

void rcx_request_finish(struct rcx_request *r)
{
    uint64_t now;

    if (r->program->is_p2p) {
        complete_message(r);
        return;
    }
    record(r);
    now = end(r);
    rcx_recorder_end(&r->comm->recorder, r->record, r->status, now);
    if (is_seen(r))
        rcx_observe_end(r, now);
    complete(r);
}

/* ---- Starting ------------------------------------------------------------ */

static void prepare_special(struct rcx_request *r)
{
    struct rcx_seq_window *w = &r->comm->window;

    if (r->program->one_way) {
        r->ahead = w->ahead;
        w->ahead += r->program->weight;
    }
    if (!r->program->has_stages)
        return;
    r->end = r->stages[0].program->segments;
    r->total = 0;
    for (unsigned i = 0; i < r->stage_count; i++)
        r->total += r->stages[i].program->segments;
    if (r->program->sums_in_stages)
        r->total += rcx_exact_more_segments(r);
    r->total += r->program->makes_comm; /* what follows its last stage */
}

/* Link an active request; the caller sets its number. */
static inline void link_request(struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;

    r->state = RCX_REQUEST_ACTIVE;
    r->status = RCX_OK;
    r->launched = r->finished = 0;
    r->stage = r->stages;
    r->first = 0;
    r->end = r->total = r->program->segments;
    r->begin = comm->context->progress.ticks;
    r->timeout_ns = comm->timeout_ns;
    r->is_recorded = false;
    link_active(&comm->end, r);
    if (__builtin_expect(!comm->is_busy, 0))
        rcx_comm_note_busy(comm);
}

/* The operation is recorded while its first messages travel. */
void rcx_request_launch(struct rcx_request *r)
{
    struct rcx_seq_window *w = &r->comm->window;

    link_request(r);
    if (r->program->is_special)
        prepare_special(r);
    r->sequence = w->next;
    w->next += r->total;
    r->mark = rcx_seq_window_next_mark(w);
    if (__builtin_expect(is_seen(r), 0))
        rcx_observe_start(r);
    pump(r);
    record(r);
}

void rcx_request_adopt(struct rcx_request *r, struct rcx_exec *x, bool is_over,
                       uint64_t record)
{
    const struct rcx_seq_window *w = &r->comm->window;

    link_request(r);
    r->sequence = w->next - 1;
    r->mark = rcx_seq_window_mark(w);
    r->slots[0] = x;
    r->launched = 1;
    r->record = record;
    r->is_recorded = true;
    if (is_over)
        rcx_request_advance(r, x);
}

void rcx_request_advance(struct rcx_request *r, struct rcx_exec *x)
{
    finish_segment(r, x);
    pump(r);
}
