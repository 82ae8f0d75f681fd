/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: one operation each, carried out as a row of segments of which a
 * window is in flight. Blocking is start and wait; persistent keeps the entry.
 *
 * Each segment takes a sequence number of the communicator. Numbers repeat
 * after the tag's sequence window, so an operation stalls while a segment that
 * old is still outstanding.
 */
#include "core/failure.h"
#include "core/sleep.h"

#include <sched.h>
#include <string.h>

enum { SLAB = 32, TURNS = 64, AHEAD = 64, AHEAD_BYTES = 4 << 20 };

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

/* The round after a user's op in which ranks agree that it failed nowhere. Out
 * of line, since hardly any call has one. */
__attribute__((noinline)) static rcx_status_t
prepare_closing(struct rcx_request *r)
{
    const struct rcx_call call = {
        .coll = RCX_COLL_ALLREDUCE, .alias = RCX_ALIAS_SAME,
        .type = RCX_INT32, .op = RCX_MIN, .count = 1, .internal = true};

    r->total++;
    return rcx_entry_get(r->comm, &call, &r->closing);
}

static rcx_status_t prepare(struct rcx_request *r, struct rcx_comm *comm,
                            struct rcx_entry *entry, const void *in, void *out)
{
    r->comm = comm;
    r->entry = entry;
    r->in = (char *)in;
    r->out = out;
    r->closing = NULL;
    r->callback = NULL;
    memset(r->slots, 0, sizeof r->slots);
    r->total = entry->segments;
    return entry->combine.may_fail && comm->size > 1 ? prepare_closing(r)
                                                     : RCX_OK;
}

static void let_go(struct rcx_request *r)
{
    rcx_entry_unpin(r->comm, r->entry);
    if (r->closing)
        rcx_entry_unpin(r->comm, r->closing);
}

rcx_status_t rcx_request_new(struct rcx_comm *comm, struct rcx_entry *entry,
                             const void *in, void *out,
                             struct rcx_request **request_p)
{
    struct rcx_context *context = comm->context;
    struct rcx_request *r = take_from_pool(context);
    rcx_status_t status;

    if (!r) {
        rcx_entry_unpin(comm, entry);
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a request");
    }
    status = prepare(r, comm, entry, in, out);
    if (status != RCX_OK) {
        let_go(r);
        return_to_pool(context, r);
        return status;
    }
    r->state = RCX_REQUEST_IDLE;
    r->status = RCX_OK;
    *request_p = r;
    return RCX_OK;
}

rcx_status_t rcx_request_run(struct rcx_comm *comm, struct rcx_entry *entry,
                             const void *in, void *out)
{
    struct rcx_request r;
    rcx_status_t status = prepare(&r, comm, entry, in, out);

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
    r->prev = comm->last;
    *(comm->last ? &comm->last->next : &comm->first) = r;
    comm->last = r;
}

static void unlink_active(struct rcx_comm *comm, struct rcx_request *r)
{
    *(r->prev ? &r->prev->next : &comm->first) = r->next;
    *(r->next ? &r->next->prev : &comm->last) = r->prev;
}

/*
 * Whether the next segment's number is not in use by one a window ago. What is
 * below the limit stays so, since the oldest number in use only grows.
 */
static bool has_number(const struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;
    const uint64_t number = r->sequence + r->launched;

    if (number >= comm->sequence_limit) {
        const struct rcx_request *first = comm->first;
        const uint64_t in_flight = first->entry->method.window;
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
    const unsigned window = r->entry->method.window;

    return segment < window || !*slot_of(r, segment - window);
}

static bool is_closing(const struct rcx_request *r, uint64_t segment)
{
    return segment == r->entry->segments;
}

static struct rcx_piece *piece_of(const struct rcx_request *r,
                                  uint64_t segment)
{
    struct rcx_piece *piece = r->entry->pieces;

    if (is_closing(r, segment))
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
           piece->entry->combine.reducer.elem_bytes;
}

/*
 * Who only sends may be far ahead of who receives, whose memory then fills with
 * messages that it does not expect yet. So now and then a send waits until it
 * is received.
 */
static bool is_far_ahead(struct rcx_comm *comm, const struct rcx_piece *piece)
{
    comm->ahead++;
    comm->ahead_bytes +=
        piece->row.width * piece->entry->combine.reducer.elem_bytes;
    if (comm->ahead < AHEAD && comm->ahead_bytes < AHEAD_BYTES)
        return false;
    comm->ahead = 0;
    comm->ahead_bytes = 0;
    return true;
}

static struct rcx_exec *prepare_segment(struct rcx_request *r, uint64_t segment)
{
    struct rcx_piece *piece = piece_of(r, segment);
    struct rcx_exec *x = rcx_exec_get(r->comm, piece);

    if (!x)
        return NULL;
    x->owner = r;
    x->segment = segment;
    x->sync = piece->entry->one_way && is_far_ahead(r->comm, piece);
    x->tag_base = piece->entry->tag |
                  rcx_tag_sequence(&x->layout, r->sequence + segment);
    if (piece->entry == r->closing) {
        r->verdict = r->status;
        x->base[RCX_BUFFER_IN] = x->base[RCX_BUFFER_OUT] = (char *)&r->verdict;
    } else {
        const size_t offset = offset_of(piece, segment);

        x->base[RCX_BUFFER_IN] = r->in + offset;
        x->base[RCX_BUFFER_OUT] = r->out + offset;
    }
    return x;
}

static void finish_segment(struct rcx_request *r, struct rcx_exec *x)
{
    const struct rcx_piece *piece = x->home;

    if (r->status == RCX_OK)
        r->status = x->status;
    if (piece->entry == r->closing && r->status == RCX_OK)
        r->status = (rcx_status_t)r->verdict;
    if (piece->entry->combine.finish && x->status == RCX_OK)
        piece->entry->combine.finish(x->base[RCX_BUFFER_OUT], piece->out_count,
                                     r->comm->size);
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
    while (comm->stalled) {
        struct rcx_request *r = comm->stalled;

        if (r->launched < r->total && !has_number(r))
            break;
        comm->stalled = r->next;
        pump(r);
    }
    comm->unstalling = false;
}

void rcx_request_call_back(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;

    r->called_next = NULL;
    *(context->called ? context->called_end : &context->called) = r;
    context->called_end = &r->called_next;
}

/* A request that is freed gets no call any more. */
static void forget_callback(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;
    struct rcx_request **link = &context->called;

    while (*link && *link != r)
        link = &(*link)->called_next;
    if (!*link)
        return;
    *link = r->called_next;
    if (!*link)
        context->called_end = link;
}

/* Only one thread at a time does it, and no callback from inside another. */
void rcx_make_callbacks(struct rcx_context *context)
{
    if (context->calling)
        return;
    context->calling = true;
    while (context->called) {
        struct rcx_request *r = context->called;
        const rcx_callback_fn_t fn = r->callback;
        void *const arg = r->callback_arg;
        const rcx_status_t status = r->status;

        context->called = r->called_next;
        if (!r->persistent)
            r->callback = NULL;
        rcx_step_out(context);
        fn(r, status, arg);
        rcx_step_in(context);
    }
    context->calling = false;
}

void rcx_request_delete(struct rcx_request *r)
{
    forget_callback(r);
    let_go(r);
    return_to_pool(r->comm->context, r);
}

#define WHICH "%s of %zu elements, number %llu on communicator %u: %s"
#define WHICH_OF(r) \
    rcx_coll_name((r)->entry->call.coll), (r)->entry->call.count, \
        (unsigned long long)(r)->sequence, (r)->comm->id, \
        rcx_status_string((r)->status)

/* The user's op failing leaves all ranks in step; anything else does not. */
static void settle(struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;

    if (r->status == RCX_ERR_OP)
        rcx_log_line(&comm->context->log, RCX_LOG_ERROR, WHICH, WHICH_OF(r));
    else
        rcx_comm_fail(comm, r->status, NULL, 0, WHICH, WHICH_OF(r));
}

void rcx_request_finish(struct rcx_request *r)
{
    if (r->comm->stalled == r) /* it found a number without unstall() */
        r->comm->stalled = r->next;
    unlink_active(r->comm, r);
    r->state = RCX_REQUEST_IDLE;
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

/* Launch what the windows allow; complete the request where it is over. */
static void pump(struct rcx_request *r)
{
    while (r->launched < r->total) {
        const uint64_t segment = r->launched;

        if (!has_slot(r, segment) ||
            (is_closing(r, segment) && r->finished < segment))
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
    if (r->finished == r->total)
        rcx_request_finish(r);
}

void rcx_request_launch(struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;

    r->state = RCX_REQUEST_ACTIVE;
    r->status = RCX_OK;
    r->launched = r->finished = 0;
    r->begin = r->comm->context->ticks;
    r->sequence = comm->sequence;
    comm->sequence += r->total;
    link_active(comm, r);
    pump(r);
}

static int handle_done(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    int events = 0;

    while (t->done) {
        struct rcx_message *m = t->done;
        struct rcx_exec *x = m->owner;

        t->done = m->next;
        if (!t->done)
            t->done_end = &t->done;
        events++;
        if (!x->owner) {
            rcx_abandoned_message(context, x, m);
        } else if (rcx_exec_advance(x, m)) {
            struct rcx_request *r = x->owner;

            finish_segment(r, x);
            pump(r);
        }
    }
    return events;
}

int rcx_context_poll(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    int events;

    if (!t)
        return 0;
    events = t->done ? 0 : (int)t->ops->progress(t);
    return events + handle_done(context);
}

/* A turn of whoever makes progress; not each one watches. */
static void turn(struct rcx_context *context)
{
    if (++context->turns < TURNS && !rcx_is_attracted(context))
        return;
    context->turns = 0;
    rcx_watch(context);
}

int rcx_context_progress(struct rcx_context *context)
{
    const int events = rcx_context_poll(context);

    turn(context);
    return events;
}

void rcx_context_catch_up(struct rcx_context *context)
{
    for (int i = 0; i < TURNS && rcx_context_poll(context) > 0; i++)
        ;
    rcx_watch(context);
}

int rcx_request_peers(const struct rcx_request *r, int peers[], int most)
{
    int n = 0;

    for (int i = 0; i < RCX_WINDOW_MAX && n == 0; i++)
        if (r->slots[i])
            n = rcx_exec_peers(r->slots[i], peers, most);
    return n;
}

/* Poll until something happened, or polls in a row were in vain. As tight as
 * it can be: half a turn passes before a message is seen. */
static bool poll(struct rcx_transport *t, unsigned polls)
{
    unsigned (*const progress)(struct rcx_transport *) = t->ops->progress;

    while (!t->done && !progress(t))
        if (--polls == 0)
            return false;
    return true;
}

/* Nothing happened: look around, let other threads in, or give the core away
 * if even more polls were in vain. */
static void idle(struct rcx_context *context, unsigned *vain)
{
    rcx_watch(context);
    *vain += context->polls;
    if (rcx_guard_is_wanted(context->guard))
        rcx_guard_pass(context->guard);
    else if (*vain < context->spin)
        return;
    else if (context->config.wait == RCX_WAIT_BLOCK)
        rcx_sleep(context);
    else
        sched_yield();
    *vain = 0;
}

rcx_status_t rcx_request_wait(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;
    unsigned vain = 0;

    while (r->state == RCX_REQUEST_ACTIVE) {
        if (!poll(context->transport, context->polls)) {
            idle(context, &vain);
        } else {
            handle_done(context);
            turn(context);
            vain = 0;
        }
    }
    return r->status;
}
