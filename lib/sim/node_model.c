/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a call on a modelled node, event by event. Each rank has a core, which
 * does one piece of work at a time: first sends, then copies and reductions,
 * then messages that have arrived, each in the order in which they became
 * ready. So does the executor between two polls.
 */
#include "sim/node_model.h"

#include <math.h>

#include "sim/node_run.h"

/* ---- Events -------------------------------------------------------------- */

enum kind {
    ARRIVES,  /* bytes of a receive can be read */
    EXPECTED, /* a sender knows that its receive is ready, or how much of it is
                 read */
    BEGINS,   /* the data of a rank's work begin to flow */
    ENDS      /* they have flown */
};

struct node_event {
    double time;
    uint64_t order; /* of events at the same time */
    enum kind kind;
    uint32_t id;      /* a step; BEGINS and ENDS: a rank */
    uint32_t version; /* ENDS: of the worker, if it still holds */
    size_t bytes;
};

static bool is_before(const struct node_event *a, const struct node_event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void push(struct node_run *r, struct node_event event)
{
    size_t at = r->event_count;

    if (at == r->event_capacity) {
        const size_t more = 2 * at + 256;
        struct node_event *grown = rcx_heap_grow(
            r->heap, r->events, at * sizeof *grown, more * sizeof *grown);

        if (!grown) {
            r->lacks_memory = true;
            return;
        }
        r->events = grown;
        r->event_capacity = more;
    }
    event.order = r->event_order++;
    r->event_count++;
    for (; at > 0 && is_before(&event, &r->events[(at - 1) / 2]);
         at = (at - 1) / 2)
        r->events[at] = r->events[(at - 1) / 2];
    r->events[at] = event;
}

static struct node_event pop(struct node_run *r)
{
    const struct node_event first = r->events[0];
    const struct node_event last = r->events[--r->event_count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < r->event_count) {
        if (child + 1 < r->event_count &&
            is_before(&r->events[child + 1], &r->events[child]))
            child++;
        if (!is_before(&r->events[child], &last))
            break;
        r->events[at] = r->events[child];
        at = child;
    }
    r->events[at] = last;
    return first;
}

static void at_time(struct node_run *r, double time, enum kind kind,
                    uint32_t id, size_t bytes)
{
    push(r, (struct node_event){
                .time = time, .kind = kind, .id = id, .bytes = bytes});
}

/* ---- Workers ------------------------------------------------------------- */

static void flow_changed(void *arg, int core, double end)
{
    struct node_run *r = arg;
    const uint32_t rank = (uint32_t)r->rank_of[core];

    push(r, (struct node_event){.time = end,
                                .kind = ENDS,
                                .id = rank,
                                .version = ++r->workers[rank].version});
}

/* Let the first piece of work in the queues begin, if the rank is idle. */
static void take_work(struct node_run *r, uint32_t rank)
{
    struct node_worker *w = &r->workers[rank];

    for (int q = 0; q < QUEUES && w->at_work == NODE_NONE; q++) {
        const uint32_t id = w->first[q];

        if (id == NODE_NONE)
            continue;
        w->first[q] = r->states[id].next;
        w->at_work = id;
        at_time(r, r->now + node_work_begin(r, id), BEGINS, rank, 0);
    }
}

static void enqueue(struct node_run *r, uint32_t id, enum node_queue q)
{
    const uint32_t rank = node_rank_of(r, id);
    struct node_worker *w = &r->workers[rank];

    if (r->states[id].is_queued)
        return;
    r->states[id].is_queued = true;
    r->states[id].next = NODE_NONE;
    if (w->first[q] == NODE_NONE)
        w->first[q] = id;
    else
        r->states[w->last[q]].next = id;
    w->last[q] = id;
}

/* Whether the next chunk of a send fits into the ring. There is room for an
 * operand of a pass, which is read when all of it has arrived. */
static bool has_room(const struct node_run *r, uint32_t id)
{
    const struct node_state *state = &r->states[id];
    const struct node_step *partner =
        &node_segment_of(r, id)->steps[node_step_of(r, id)->partner];

    return partner->is_operand ||
           state->done - state->known + r->m->chunk <= r->m->room;
}

static void enqueue_send(struct node_run *r, uint32_t id)
{
    const struct node_state *state = &r->states[id];
    const size_t total = node_bytes(r, id);

    if (state->is_over || !state->is_ready ||
        (state->done > 0 && state->done >= total))
        return;
    if (r->call->lane.staging == NODE_COPIES && state->done > 0 &&
        (!state->is_expected || !has_room(r, id)))
        return;
    enqueue(r, id, QUEUE_SEND);
}

/* A pass over several operands begins when all of their data are there. */
static void enqueue_recv(struct node_run *r, uint32_t id)
{
    const struct node_state *state = &r->states[id];

    if (!state->is_ready || state->is_over || !state->has_come ||
        (node_step_of(r, id)->is_operand && state->known < node_bytes(r, id)))
        return;
    if (state->known > state->done || node_bytes(r, id) == 0)
        enqueue(r, id, QUEUE_RECV);
}

/* ---- Steps --------------------------------------------------------------- */

static void complete(struct node_run *r, uint32_t id);
static void launch(struct node_run *r, uint32_t rank);

/* The sender of a receive learns that it is ready, and how much is read. */
static void tell_sender(struct node_run *r, uint32_t id)
{
    const struct node_step *step = node_step_of(r, id);
    const uint32_t send = node_beside(r, id, step->partner);

    at_time(r,
            r->now + node_latency(r, step->rank,
                                  (uint32_t)node_plan_step(r, id)->peer),
            EXPECTED, send, r->states[id].done);
}

static void become_ready(struct node_run *r, uint32_t id)
{
    const struct node_step *step = node_step_of(r, id);
    struct node_state *state = &r->states[id];

    state->is_ready = true;
    switch (node_plan_step(r, id)->kind) {
    case RCX_STEP_SEND:
        if (node_beside(r, id, step->first) == id)
            enqueue_send(r, id);
        break;
    case RCX_STEP_RECV:
        if (r->call->lane.staging == NODE_COPIES &&
            node_bytes(r, id) > r->m->chunk)
            tell_sender(r, id);
        enqueue_recv(r, id);
        break;
    default:
        if (state->is_consumed || step->joins)
            complete(r, id);
        else
            enqueue(r, id, QUEUE_LOCAL);
    }
}

static void complete(struct node_run *r, uint32_t id)
{
    struct node_segment *segment = &r->segments[r->states[id].segment];
    const uint32_t rank = node_rank_of(r, id);
    const struct simulated_rank *plan_of = &segment->piece->s->ranks[rank];
    const struct rcx_step *step = node_plan_step(r, id);
    const uint32_t first = segment->first + (uint32_t)plan_of->first_step;

    r->states[id].is_over = true;
    for (uint32_t i = 0; i < step->successor_count; i++) {
        const uint32_t next =
            first + plan_of->plan->successors[step->first_successor + i];

        if (--r->states[next].waits == 0)
            become_ready(r, next);
    }
    if (--segment->left[rank] > 0)
        return;
    segment->end = fmax(segment->end, r->now);
    launch(r, rank);
}

/* ---- Segments ------------------------------------------------------------ */

static bool may_launch(const struct node_run *r, const struct node_worker *w,
                       uint32_t rank)
{
    return w->launched < r->segment_count &&
           (w->launched < r->call->window ||
            r->segments[w->launched - r->call->window].left[rank] == 0);
}

/* Start the segments of a rank that the window allows. */
static void launch(struct node_run *r, uint32_t rank)
{
    struct node_worker *w = &r->workers[rank];

    while (may_launch(r, w, rank)) {
        const struct node_segment *segment = &r->segments[w->launched++];
        const struct simulated_rank *plan_of = &segment->piece->s->ranks[rank];
        const struct rcx_plan *plan = plan_of->plan;

        for (uint32_t i = 0; i < plan->ready_count; i++)
            become_ready(r, segment->first + (uint32_t)plan_of->first_step +
                                plan->ready[i]);
    }
}

/* ---- The ends of work ---------------------------------------------------- */

/* The receivers of a group of sends see what is written. */
static void tell_readers(struct node_run *r, uint32_t id, size_t bytes)
{
    const struct node_segment *segment = node_segment_of(r, id);
    const uint32_t rank = node_rank_of(r, id);
    size_t reader = 0;

    for (uint32_t i = id - segment->first; i != NODE_NONE;
         i = segment->steps[i].next) {
        const uint32_t send = segment->first + i;

        at_time(
            r,
            r->now +
                node_latency(r, rank, (uint32_t)node_plan_step(r, send)->peer) +
                r->m->gap * (double)(reader++ % r->m->readers),
            ARRIVES, segment->first + segment->steps[i].partner, bytes);
    }
}

static void end_send(struct node_run *r, uint32_t id, size_t bytes)
{
    const struct node_segment *segment = node_segment_of(r, id);

    r->states[id].done += bytes;
    tell_readers(r, id, bytes);
    if (r->states[id].done < node_bytes(r, id)) {
        enqueue_send(r, id);
        return;
    }
    if (r->call->lane.staging == NODE_DIRECT && node_bytes(r, id) > r->m->slot)
        return; /* until it is read */
    for (uint32_t i = id - segment->first; i != NODE_NONE;
         i = segment->steps[i].next)
        complete(r, segment->first + i);
}

/* All data of a receive are read: tell the sender, if it waits for that. */
static void end_reading(struct node_run *r, uint32_t id)
{
    r->states[id].done = node_bytes(r, id);
    if (r->call->lane.staging == NODE_DIRECT && node_bytes(r, id) > r->m->slot)
        tell_sender(r, id);
}

static void end_recv(struct node_run *r, uint32_t id, size_t bytes)
{
    struct node_state *state = &r->states[id];
    const size_t total = node_bytes(r, id);

    state->done += bytes;
    if (state->done < total) {
        if (r->call->lane.staging == NODE_COPIES)
            tell_sender(r, id);
        enqueue_recv(r, id);
        return;
    }
    if (!node_step_of(r, id)->is_operand)
        end_reading(r, id);
    if (state->is_consumed) {
        const uint32_t sink = node_plan_step(r, id)->sink - 1;
        const struct node_segment *segment = node_segment_of(r, id);

        r->states[segment->first +
                  (uint32_t)segment->piece->s->ranks[node_rank_of(r, id)]
                      .first_step +
                  sink]
            .is_consumed = true;
    }
    complete(r, id);
}

/* The data of a worker's work have flown. */
static void end_work(struct node_run *r, uint32_t rank)
{
    struct node_worker *w = &r->workers[rank];
    const uint32_t id = w->at_work, source = node_work_source(r, id);

    r->states[id].is_queued = false;
    switch (node_plan_step(r, id)->kind) {
    case RCX_STEP_SEND:
        w->at_work = NODE_NONE;
        end_send(r, id, w->bytes);
        break;
    case RCX_STEP_RECV:
        w->at_work = NODE_NONE;
        end_recv(r, id, w->bytes);
        break;
    default:
        r->states[id].done += w->bytes;
        if (source != NODE_NONE)
            end_reading(r, source);
        if (node_work_next(r, id)) {
            at_time(r, r->now + node_work_delay(r, id), BEGINS, rank, 0);
            return;
        }
        w->at_work = NODE_NONE;
        complete(r, id);
    }
    take_work(r, rank);
}

/* ---- Running ------------------------------------------------------------- */

static void begin_flow(struct node_run *r, uint32_t rank)
{
    struct node_worker *w = &r->workers[rank];
    struct node_path *path = &r->flows.flow[w->core].path;

    node_work_path(r, w->at_work, path);
    if (w->bytes == 0 || path->seconds == 0)
        end_work(r, rank);
    else
        node_flow_start(&r->flows, w->core, (double)w->bytes, r->now);
}

static void expect(struct node_run *r, const struct node_event *e)
{
    struct node_state *state = &r->states[e->id];

    state->is_expected = true;
    state->known = e->bytes > state->known ? e->bytes : state->known;
    if (r->call->lane.staging != NODE_DIRECT)
        enqueue_send(r, e->id);
    else if (e->bytes == node_bytes(r, e->id))
        complete(r, e->id);
    take_work(r, node_rank_of(r, e->id));
}

static void handle(struct node_run *r, const struct node_event *e)
{
    switch (e->kind) {
    case ARRIVES:
        r->states[e->id].known += e->bytes;
        r->states[e->id].has_come = true;
        enqueue_recv(r, e->id);
        take_work(r, node_rank_of(r, e->id));
        break;
    case EXPECTED: expect(r, e); break;
    case BEGINS: begin_flow(r, e->id); break;
    default:
        if (e->version != r->workers[e->id].version)
            break;
        node_flow_end(&r->flows, r->workers[e->id].core, r->now);
        end_work(r, e->id);
    }
}

static bool is_over(const struct node_run *r)
{
    for (uint32_t k = 0; k < r->segment_count; k++)
        for (int rank = 0; rank < r->ranks; rank++)
            if (r->segments[k].left[rank] > 0)
                return false;
    return true;
}

/* Seconds of a segment, by the later half of n simulated ones. */
static double pace_of(const struct node_segment *first, uint32_t n)
{
    return (first[n - 1].end - first[n / 2 - 1].end) / (n - n / 2);
}

/* The time of the simulated segments, and of those between them that are not
 * simulated. */
static double total_of(const struct node_run *r)
{
    const double end = r->segments[r->segment_count - 1].end;
    double seconds = end;

    for (uint32_t k = 0, n; k < r->segment_count; k += n) {
        const struct node_piece *piece = r->segments[k].piece;

        for (n = 1;
             k + n < r->segment_count && r->segments[k + n].piece == piece;)
            n++;
        if (piece->segments > n)
            seconds +=
                (double)(piece->segments - n) * pace_of(&r->segments[k], n);
        seconds = fmax(seconds, r->segments[k + n - 1].end);
    }
    return seconds;
}

/* Handle all events. False: the limit has been reached. */
static bool handle_all(struct node_run *r)
{
    const double limit = r->call->limit;

    while (r->event_count > 0 && !r->lacks_memory) {
        const struct node_event e = pop(r);

        if (limit > 0 && e.time > limit)
            return false;
        r->now = e.time;
        handle(r, &e);
    }
    return true;
}

bool node_model_time(const struct node_call *call, double *seconds_p)
{
    struct simulation *s = call->pieces[0].s;
    struct node_run r;
    bool good = node_run_open(&r, call), is_short;

    r.flows.changed = flow_changed;
    r.flows.arg = &r;
    for (int rank = 0; rank < r.ranks && good; rank++) {
        launch(&r, (uint32_t)rank);
        take_work(&r, (uint32_t)rank);
    }
    is_short = good && handle_all(&r);
    good = good && !r.lacks_memory;
    if (!good) {
        simulation_lacks_memory(s);
    } else if (!is_short) {
        *seconds_p = INFINITY;
    } else if (!is_over(&r)) {
        good = false;
        snprintf(s->text, sizeof s->text, "ranks wait for each other");
    } else {
        *seconds_p = total_of(&r);
    }
    node_run_close(&r);
    return good;
}
