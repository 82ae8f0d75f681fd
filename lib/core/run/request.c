/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: one operation each, carried out as a row of segments of which a
 * window is in flight. Blocking is start and wait; persistent keeps the program.
 *
 * Each segment takes a sequence number of the communicator. Numbers repeat
 * after the tag's sequence window, so an operation stalls while a segment that
 * old is still outstanding.
 */
#include "core/run/request.h"

#include <string.h>

#include "core/op/types.h"
#include "core/run/cache.h"
#include "core/run/check.h"
#include "core/run/describe.h"
#include "core/run/failure.h"
#include "core/run/pool.h"
#include "core/run/progress.h"
#include "core/run/rounds.h"

enum { SLAB = 32 };

struct rcx_request_slab {
    struct rcx_request_slab *next;
    struct rcx_request requests[SLAB];
};

static struct rcx_request *take_from_pool(struct rcx_context *context)
{
    struct rcx_request *r = context->free_requests;

    if (!r) {
        struct rcx_request_slab *slab =
            rcx_heap_zalloc(&context->heap, sizeof *slab);

        if (!slab)
            return NULL;
        slab->next = context->request_slabs;
        context->request_slabs = slab;
        for (int i = SLAB - 1; i >= 0; i--) {
            slab->requests[i].free_next = r;
            r = &slab->requests[i];
        }
    }
    context->free_requests = r->free_next;
    return r;
}

void rcx_request_slabs_free(struct rcx_context *context)
{
    while (context->request_slabs) {
        struct rcx_request_slab *slab = context->request_slabs;

        context->request_slabs = slab->next;
        rcx_heap_free(&context->heap, slab);
    }
}

static void return_to_pool(struct rcx_context *context, struct rcx_request *r)
{
    r->state = RCX_REQUEST_FREE;
    r->free_next = context->free_requests;
    context->free_requests = r;
}

static rcx_status_t prepare(struct rcx_request *r, struct rcx_comm *comm,
                            struct rcx_program *program, const void *in,
                            void *out)
{
    r->comm = comm;
    r->program = program;
    r->in = (char *)in;
    r->out = out;
    r->callback = NULL;
    r->total = program->segments;
    r->has_rounds = program->has_rounds;
    return r->has_rounds ? rcx_rounds_prepare(r) : RCX_OK;
}

static void let_go(struct rcx_request *r)
{
    rcx_program_unpin(r->comm, r->program);
    if (!r->has_rounds)
        return;
    if (r->opening)
        rcx_program_unpin(r->comm, r->opening);
    if (r->closing)
        rcx_program_unpin(r->comm, r->closing);
}

rcx_status_t rcx_request_new(struct rcx_comm *comm, struct rcx_program *program,
                             const void *in, void *out,
                             struct rcx_request **request_p)
{
    struct rcx_context *context = comm->context;
    struct rcx_request *r = take_from_pool(context);
    rcx_status_t status;

    if (!r) {
        rcx_program_unpin(comm, program);
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a request");
    }
    status = prepare(r, comm, program, in, out);
    if (status != RCX_OK) {
        let_go(r);
        return_to_pool(context, r);
        return status;
    }
    r->state = RCX_REQUEST_IDLE;
    r->status = RCX_OK;
    r->waits_inside = false;
    *request_p = r;
    return RCX_OK;
}

rcx_status_t rcx_request_run(struct rcx_comm *comm, struct rcx_program *program,
                             const void *in, void *out)
{
    struct rcx_request r;
    rcx_status_t status = prepare(&r, comm, program, in, out);

    r.waits_inside = true;
    if (status == RCX_OK) {
        rcx_request_launch(&r);
        status = rcx_request_wait(&r);
    }
    let_go(&r);
    return status;
}

static void link_active(struct rcx_comm *comm, struct rcx_request *r)
{
    r->next = NULL;
    r->link = comm->end;
    *comm->end = r;
    comm->end = &r->next;
}

static void unlink_active(struct rcx_comm *comm, struct rcx_request *r)
{
    *r->link = r->next;
    *(r->next ? &r->next->link : &comm->end) = r->link;
}

/*
 * Whether the next segment's number is not in use by one a window ago. What is
 * below the limit stays so, since the oldest number in use only grows. Behind
 * an opening no number is known to be the same on all ranks.
 */
static bool has_number(const struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;
    const uint64_t number = r->sequence + r->launched;

    if (number >= comm->sequence_limit && !comm->judged) {
        const struct rcx_request *first = comm->first;
        const uint64_t in_flight = first->program->method.window;
        const uint64_t oldest =
            first->sequence +
            (first->launched > in_flight ? first->launched - in_flight : 0);

        comm->sequence_limit =
            oldest + rcx_tag_sequence_window(&comm->context->layout);
    }
    return number < comm->sequence_limit;
}

/* A request's segments in flight, by their number. */
static struct rcx_exec **slot_of(struct rcx_request *r, uint64_t segment)
{
    return &r->slots[segment % RCX_WINDOW_MAX];
}

/* Whether all segments that a window ago began are over. */
static bool has_slot(struct rcx_request *r, uint64_t segment)
{
    const unsigned window = r->program->method.window;

    return segment < window || !*slot_of(r, segment - window);
}

static bool is_opening(const struct rcx_request *r, uint64_t stage)
{
    return r->has_rounds && r->opening && stage == 0;
}

/* Which segment a stage is. */
static uint64_t segment_at(const struct rcx_request *r, uint64_t stage)
{
    return r->has_rounds ? stage - (r->opening != NULL) : stage;
}

static bool is_closing(const struct rcx_request *r, uint64_t stage)
{
    return r->has_rounds && segment_at(r, stage) == r->program->segments;
}

static struct rcx_piece *piece_of(const struct rcx_request *r, uint64_t stage)
{
    const uint64_t segment = segment_at(r, stage);
    struct rcx_piece *piece = r->program->pieces;

    if (is_opening(r, stage))
        return r->opening->pieces;
    if (is_closing(r, stage))
        return r->closing->pieces;
    while (segment >= piece->end)
        piece++;
    return piece;
}

/* Where a segment of piece begins in each block, in bytes. */
static size_t offset_of(const struct rcx_piece *piece, uint64_t segment)
{
    const struct rcx_row *row = &piece->row;
    const uint64_t number = segment - (piece->end - row->segments);

    return (row->first + number * row->width) *
           piece->program->combine.reducer.elem_bytes;
}

/*
 * Who only sends may be far ahead of who receives, whose memory then fills with
 * messages that it does not expect yet. So now and then senders wait for
 * credits: all ranks count the same segments, in the order of calls, so they
 * agree on when.
 */
static struct rcx_piece *credited_if_due(struct rcx_request *r,
                                         struct rcx_piece *piece)
{
    const uint64_t before = r->ahead / RCX_AHEAD;

    r->ahead += piece->weight;
    return r->ahead / RCX_AHEAD > before ? piece->credited : piece;
}

/* The operands of the rounds before and after. */
static struct rcx_check_record *check_of(struct rcx_exec *x)
{
    return (struct rcx_check_record *)(void *)x->own;
}

static int32_t *verdict_of(struct rcx_exec *x)
{
    return (int32_t *)(void *)x->own;
}

/* Those that start after r wait for the verdict on it. */
static void open_round(struct rcx_request *r, struct rcx_check_record *check)
{
    *check = rcx_round_record_of(r);
    r->comm->judged = r;
    r->comm->sequence_limit = r->sequence + 1;
}

static struct rcx_exec *prepare_segment(struct rcx_request *r, uint64_t segment)
{
    struct rcx_piece *piece = piece_of(r, segment);
    struct rcx_exec *x;

    if (piece->credited)
        piece = credited_if_due(r, piece);
    x = rcx_exec_get(r->comm, piece);
    if (!x)
        return NULL;
    x->owner = r;
    x->segment = segment;
    x->tag_base = (piece->program->tag ^ r->mark) |
                  rcx_tag_sequence(&x->layout, r->sequence + segment);
    if (piece->program != r->program) {
        x->base[RCX_BUFFER_IN] = x->base[RCX_BUFFER_OUT] = (char *)x->own;
        if (piece->program == r->opening)
            open_round(r, check_of(x));
        else
            *verdict_of(x) = r->status;
    } else {
        const size_t offset = offset_of(piece, segment_at(r, segment));

        x->base[RCX_BUFFER_IN] = r->in + offset;
        x->base[RCX_BUFFER_OUT] = r->out + offset;
    }
    return x;
}

/*
 * The segments of r will not run, and ranks may count them differently; so the
 * numbers that they had go to those that come after r, of which none has begun.
 */
static void give_numbers_back(struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;

    r->total = r->launched;
    comm->sequence = r->sequence + r->total;
    for (struct rcx_request *later = r->next; later; later = later->next) {
        later->sequence = comm->sequence;
        comm->sequence += later->total;
    }
}

/* No data has moved yet; none will. All ranks come to the same verdict, and go
 * on together, unless they do not even agree on which call this is. */
static void judge(struct rcx_request *r, const struct rcx_check_record *check)
{
    const int ranks[] = {check->rank, check->other_rank};
    char call[RCX_CALL_TEXT], text[RCX_TEXT_TOLD];
    int used;

    if (check->value[RCX_CHECK_SAME] == RCX_CHECK_SAME)
        return;
    used = snprintf(text, sizeof text, "%s: ", rcx_request_print(r, call));
    rcx_check_print(check, text + used, sizeof text - (size_t)used);
    r->status = RCX_ERR_MISMATCH;
    give_numbers_back(r);
    if (check->value[RCX_CHECK_SAME] == RCX_CHECK_NUMBER)
        rcx_comm_fail_together(r->comm, RCX_ERR_MISMATCH, ranks, 2, text);
    else
        rcx_comm_refuse(r->comm, ranks, 2, text);
}

static void unstall(struct rcx_comm *comm);

static void end_round(struct rcx_request *r, struct rcx_exec *x)
{
    const struct rcx_piece *piece = x->home;

    if (piece->program == r->opening) {
        r->comm->judged = NULL;
        judge(r, check_of(x));
        unstall(r->comm);
    } else {
        r->status = (rcx_status_t)*verdict_of(x);
    }
}

/* Unless it is. */
static void record(struct rcx_request *r)
{
    if (r->is_recorded)
        return;
    r->record = rcx_recorder_begin(&r->comm->recorder, &r->program->record,
                                   rcx_request_number(r), r->begin);
    r->is_recorded = true;
}

void rcx_request_lose(const struct rcx_request *r, rcx_status_t status,
                      int peer)
{
    char *why = r->comm->context->transport->trouble, call[RCX_CALL_TEXT];

    rcx_comm_fail(r->comm, status, &peer, 1, "%s: %s%s%s",
                  rcx_request_print(r, call), rcx_status_string(status),
                  why[0] ? ": " : "", why);
    why[0] = '\0';
}

/*
 * A message of x is lost: the communicator cannot go on. Its operations are
 * given up at the next rcx_watch(), this one and x included.
 */
__attribute__((noinline)) static void break_off(struct rcx_request *r,
                                                const struct rcx_exec *x)
{
    record(r);
    r->status = x->status;
    r->total = r->launched;
    rcx_request_lose(r, x->status, x->lost);
}

static void finish_segment(struct rcx_request *r, struct rcx_exec *x)
{
    const struct rcx_piece *piece = x->home;

    if (__builtin_expect(x->steps_left > 0, 0)) {
        break_off(r, x);
        return;
    }
    if (r->status == RCX_OK)
        r->status = x->status;
    if (piece->program != r->program && r->status == RCX_OK)
        end_round(r, x);
    if (piece->program->combine.finish && x->status == RCX_OK)
        piece->program->combine.finish(x->base[RCX_BUFFER_OUT],
                                       piece->out_count, r->comm->size);
    rcx_exec_put(r->comm, x);
    *slot_of(r, x->segment) = NULL;
    r->finished++;
}

static void pump(struct rcx_request *r);

static void unstall(struct rcx_comm *comm)
{
    if (comm->unstalling)
        return;
    comm->unstalling = true;
    while (comm->stalled && comm->failed == RCX_OK) {
        struct rcx_request *r = comm->stalled;

        if (r->launched < r->total && !has_number(r))
            break;
        comm->stalled = r->next;
        pump(r);
    }
    comm->unstalling = false;
}

void rcx_request_delete(struct rcx_request *r)
{
    rcx_callback_forget(r);
    let_go(r);
    return_to_pool(r->comm->context, r);
}

/* Ranks agreed, before any data moved, that their calls do not match. */
static bool is_refused(const struct rcx_request *r)
{
    return r->status == RCX_ERR_MISMATCH && r->has_rounds && r->opening &&
           r->total == 1 && r->comm->failed == RCX_OK;
}

/* A call that was refused and a user's op that failed leave all ranks in step;
 * anything else does not. */
static void settle(struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;
    const char *why = rcx_status_string(r->status);
    char call[RCX_CALL_TEXT];

    if (is_refused(r)) /* which is said */
        return;
    rcx_request_print(r, call);
    if (r->status == RCX_ERR_OP)
        rcx_log_line(&comm->context->log, RCX_LOG_ERROR, "%s: %s", call, why);
    else
        rcx_comm_fail(comm, r->status, NULL, 0, "%s: %s", call, why);
}

/* Who waits inside has looked at the clock if that took long. A look costs a
 * thirtieth of a short operation. */
static uint64_t end_of(const struct rcx_request *r)
{
    return r->waits_inside ? r->comm->context->ticks : rcx_ticks();
}

static inline void complete(struct rcx_request *r)
{
    record(r);
    if (r->comm->stalled == r) /* it found a number without unstall() */
        r->comm->stalled = r->next;
    unlink_active(r->comm, r);
    r->state = RCX_REQUEST_IDLE;
    rcx_recorder_end(&r->comm->recorder, r->record, r->status, end_of(r));
    if (r->status != RCX_OK)
        settle(r);
    if (r->callback)
        rcx_request_call_back(r);
    if (r->comm->stalled)
        unstall(r->comm);
}

/* No memory for the next segment: the communicator cannot go on. */
static void cut_short(struct rcx_request *r)
{
    record(r);
    r->total = r->launched;
    r->status = RCX_ERR_NOMEM;
    settle(r);
}

static void stall(struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;

    if (!comm->stalled || r->sequence < comm->stalled->sequence)
        comm->stalled = r;
}

/* Segments wait for the opening, the closing waits for them. */
static bool must_wait(const struct rcx_request *r, uint64_t stage)
{
    return (is_closing(r, stage) && r->finished < stage) ||
           (r->opening && stage > 0 && r->finished == 0);
}

/* Launch what the windows allow. */
static void launch(struct rcx_request *r)
{
    while (r->launched < r->total) {
        const uint64_t segment = r->launched;

        if (!has_slot(r, segment) || (r->has_rounds && must_wait(r, segment)))
            return;
        if (!has_number(r)) {
            stall(r);
            return;
        }

        struct rcx_exec *x = prepare_segment(r, segment);

        if (!x) {
            cut_short(r);
            break;
        }
        *slot_of(r, segment) = x;
        r->launched++;
        if (rcx_exec_start(x))
            finish_segment(r, x);
    }
}

/* And complete the request where it is over. */
static void pump(struct rcx_request *r)
{
    if (r->launched < r->total)
        launch(r);
    if (r->finished == r->total)
        complete(r);
}

void rcx_request_finish(struct rcx_request *r)
{
    complete(r);
}

/* Recorded while the first messages travel. */
void rcx_request_launch(struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;

    r->state = RCX_REQUEST_ACTIVE;
    r->status = RCX_OK;
    r->launched = r->finished = 0;
    r->begin = r->comm->context->ticks;
    r->timeout_ns = comm->timeout_ns;
    r->sequence = comm->sequence;
    comm->sequence += r->total;
    if (r->program->one_way) {
        r->ahead = comm->ahead;
        comm->ahead += r->program->weight;
    }
    comm->mark = (comm->mark - comm->mark_mask) & comm->mark_mask;
    r->mark = comm->mark;
    r->is_recorded = false;
    link_active(comm, r);
    pump(r);
    record(r);
}

void rcx_request_advance(struct rcx_request *r, struct rcx_exec *x)
{
    finish_segment(r, x);
    pump(r);
}

int rcx_request_peers(const struct rcx_request *r, int peers[], int most)
{
    int n = 0;

    for (unsigned i = 0; i < rcx_request_slots(r) && n == 0; i++)
        if (r->slots[i])
            n = rcx_exec_peers(r->slots[i], peers, most);
    return n;
}
