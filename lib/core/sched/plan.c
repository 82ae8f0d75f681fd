/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a plan of the builder's list of steps: adds dependencies, numbers the
 * messages, and packs everything into one block of memory. hazard.c finds the
 * dependencies of spans.
 */
#include <string.h>

#include "core/sched/schedule.h"

/* The messages to or from one peer, in program order. */
struct stream {
    uint64_t key; /* peer and direction, plus one; 0: unused */
    uint32_t count;
    uint32_t first;  /* the step of the oldest message */
    uint32_t last;   /* the step of the newest message */
    uint32_t behind; /* the step that the next message waits for, if its number
                        repeats */
};

static struct stream *stream_of(struct stream *streams, uint32_t mask, int peer,
                                unsigned kind)
{
    const uint64_t key = 2 * (uint64_t)peer + (kind == RCX_STEP_SEND) + 1;
    uint32_t at = (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);

    while (streams[at & mask].key != 0 && streams[at & mask].key != key)
        at++;
    streams[at & mask].key = key;
    return &streams[at & mask];
}

/* Let the acknowledgement to a peer wait for all messages from that peer. */
static void wait_for_all(const struct stream *from_peer, const uint32_t *next,
                         uint32_t ack, struct rcx_edges *edges)
{
    uint32_t at = from_peer->first;

    for (uint32_t i = 0; i < from_peer->count; i++) {
        rcx_edge_add(edges, at, ack);
        at = next[at];
    }
}

/*
 * Number the messages of each peer and direction. They match by number, so
 * edges between them are not needed. But numbers repeat after window messages:
 * of two messages with the same number the second waits for the first.
 */
static rcx_status_t number_messages(struct rcx_builder *b, uint32_t window,
                                    struct rcx_edges *edges)
{
    uint32_t size = 16;

    while (size < 2 * b->step_count)
        size *= 2;

    const size_t bytes = size * sizeof(struct stream);
    struct stream *streams =
        rcx_builder_work(b, bytes + b->step_count * sizeof(uint32_t));

    if (!streams)
        return RCX_ERR_NOMEM;
    memset(streams, 0, bytes);

    uint32_t *next = (uint32_t *)(streams + size);

    for (uint32_t i = 0; i < b->step_count; i++) {
        struct rcx_step *step = &b->steps[i];

        if (!rcx_step_is_message(step->kind))
            continue;

        struct stream *stream =
            stream_of(streams, size - 1, step->peer, step->kind);

        step->message = stream->count++;
        if (step->message == 0)
            stream->first = stream->behind = i;
        else
            next[stream->last] = i;
        stream->last = i;
        if (step->message >= window) {
            rcx_edge_add(edges, stream->behind, i);
            stream->behind = next[stream->behind];
        }
        if (step->count == 0 && step->kind == RCX_STEP_SEND)
            wait_for_all(
                stream_of(streams, size - 1, step->peer, RCX_STEP_RECV), next,
                i, edges);
    }
    return edges->failed ? RCX_ERR_NOMEM : RCX_OK;
}

/* Return the first message, from step i on, of a pair behind pair. */
static uint32_t next_pair(const struct rcx_builder *b, uint32_t i,
                          uint32_t pair)
{
    while (i < b->step_count &&
           (!rcx_step_is_message(b->steps[i].kind) || b->steps[i].pair <= pair))
        i++;
    return i;
}

static void wait_for_pair(const struct rcx_builder *b, uint32_t first,
                          uint32_t step, struct rcx_edges *edges)
{
    const uint32_t pair = b->steps[first].pair;

    for (uint32_t k = first; b->steps[k].pair == pair; k++)
        if (rcx_step_is_message(b->steps[k].kind))
            rcx_edge_add(edges, k, step);
}

/*
 * Let the messages of a pair wait for those of the pair pair_window before it.
 * Pairs without messages do not count. A step waits only for earlier pairs,
 * even if a peer has left out pairs, so pairs complete in order without
 * deadlock.
 */
static void order_pairs(const struct rcx_builder *b, struct rcx_edges *edges)
{
    uint32_t open = 0, oldest;

    if (b->pair_window == 0)
        return;
    oldest = next_pair(b, 0, 0);
    for (uint32_t at = oldest; at < b->step_count;) {
        const uint32_t end = next_pair(b, at, b->steps[at].pair);

        for (uint32_t i = at; i < end && open == b->pair_window; i++)
            if (b->steps[i].pair == b->steps[at].pair &&
                rcx_step_is_message(b->steps[i].kind))
                wait_for_pair(b, oldest, i, edges);
        if (open == b->pair_window)
            oldest = next_pair(b, oldest, b->steps[oldest].pair);
        else
            open++;
        at = end;
    }
}

/* Store the successors of each step next to each other, in the order of
 * kinds. */
static void pack_edges(struct rcx_step *steps, uint32_t count,
                       const struct rcx_edges *edges, uint32_t *successors)
{
    uint32_t at = 0;

    for (size_t e = 0; e < edges->count; e++) {
        steps[edges->list[e].from].successor_count++;
        steps[edges->list[e].to].waits++;
    }
    for (uint32_t i = 0; i < count; i++) {
        steps[i].first_successor = at;
        at += steps[i].successor_count;
        steps[i].successor_count = 0;
    }
    for (int kind = 0; kind < RCX_STEP_KINDS; kind++) {
        for (size_t e = 0; e < edges->count; e++) {
            const struct rcx_edge edge = edges->list[e];
            struct rcx_step *from = &steps[edge.from];

            if (steps[edge.to].kind == kind)
                successors[from->first_successor + from->successor_count++] =
                    edge.to;
        }
    }
}

static uint32_t pack_ready(const struct rcx_step *steps, uint32_t count,
                           uint32_t *ready)
{
    uint32_t n = 0;

    for (int kind = 0; kind < RCX_STEP_KINDS; kind++)
        for (uint32_t i = 0; i < count; i++)
            if (steps[i].kind == kind && steps[i].waits == 0)
                ready[n++] = i;
    return n;
}

static struct rcx_plan *pack(struct rcx_builder *b,
                             const struct rcx_edges *edges)
{
    const uint32_t n = b->step_count;
    struct rcx_plan *plan;
    const size_t steps_at = sizeof *plan;
    const size_t successors_at = steps_at + n * sizeof *b->steps;
    const size_t parts_at = successors_at + edges->count * sizeof(uint32_t);
    const size_t ready_at =
        parts_at + rcx_reductions_count(b) * sizeof *plan->parts;
    const size_t bytes = ready_at + n * sizeof(uint32_t);

    plan = rcx_heap_alloc_lines(b->heap, bytes);
    if (!plan)
        return NULL;

    struct rcx_step *steps = (void *)((char *)plan + steps_at);
    uint32_t *successors = (void *)((char *)plan + successors_at);
    uint32_t *ready = (void *)((char *)plan + ready_at);
    struct rcx_fused_part *parts = (void *)((char *)plan + parts_at);

    if (n > 0)
        memcpy(steps, b->steps, n * sizeof *steps);
    pack_edges(steps, n, edges, successors);
    rcx_sinks_find(steps, n, successors);
    rcx_shared_sends_find(b, steps, n, successors);
    *plan = (struct rcx_plan){
        .step_count = n,
        .steps = steps,
        .successors = successors,
        .ready = ready,
        .ready_count = pack_ready(steps, n, ready),
        .parts = parts,
        .scratch = b->scratch,
        .combined = rcx_final_steps_find(b->shape, steps, n, successors),
        .bytes = bytes};
    if (rcx_reductions_fuse(b, steps, successors, parts, &plan->part_count))
        return plan;
    rcx_heap_free(b->heap, plan);
    return NULL;
}

rcx_status_t rcx_sched_finish(struct rcx_builder *b, uint32_t message_window,
                              struct rcx_plan **plan_p)
{
    const uint32_t n = b->step_count;
    struct rcx_edges edges = {.capacity = 4 * (size_t)n + 1, .heap = b->heap};
    struct rcx_plan *plan = NULL;
    rcx_status_t status = b->status;

    if (status != RCX_OK)
        return status;
    rcx_copies_forward(b);
    status = RCX_ERR_NOMEM;
    edges.list = rcx_heap_alloc(b->heap, edges.capacity * sizeof *edges.list);
    edges.last_to = rcx_heap_zalloc(b->heap, n * sizeof *edges.last_to);
    if (edges.list && edges.last_to)
        status = rcx_hazards_find(b, &edges);
    if (status == RCX_OK) {
        /* last_to finds duplicates within one pass over the steps only */
        memset(edges.last_to, 0, n * sizeof *edges.last_to);
        status = number_messages(b, message_window, &edges);
    }
    if (status == RCX_OK) {
        order_pairs(b, &edges);
        status = edges.failed ? RCX_ERR_NOMEM : RCX_OK;
    }
    if (status == RCX_OK) {
        plan = pack(b, &edges);
        status = plan ? RCX_OK : RCX_ERR_NOMEM;
    }
    rcx_heap_free(b->heap, edges.list);
    rcx_heap_free(b->heap, edges.last_to);
    if (status == RCX_OK)
        *plan_p = plan;
    return status;
}

static void print_span(FILE *file, int buffer, size_t offset, size_t count)
{
    static const char *const names[] = {"in", "out", "tmp"};

    fprintf(file, " %s[%zu..%zu)", names[buffer], offset, offset + count);
}

void rcx_plan_print(const struct rcx_plan *plan, FILE *file)
{
    static const char *const names[RCX_STEP_KINDS] = {[RCX_STEP_SEND] = "send",
                                                      [RCX_STEP_RECV] = "recv",
                                                      [RCX_STEP_COPY] = "copy",
                                                      [RCX_STEP_REDUCE] =
                                                          "reduce"};

    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct rcx_step *step = &plan->steps[i];

        fprintf(file, "%u %s", i, names[step->kind]);
        if (step->peer >= 0)
            fprintf(file, " %d#%u", step->peer, step->message);
        if (step->kind != RCX_STEP_SEND)
            print_span(file, step->dst, step->dst_at, step->count);
        if (step->kind != RCX_STEP_RECV)
            print_span(file, step->left, step->left_at, step->count);
        if (step->kind == RCX_STEP_REDUCE)
            print_span(file, step->right, step->right_at, step->count);
        for (uint32_t k = 0; k < step->successor_count; k++)
            fprintf(file, "%s%u", k ? "," : " ->",
                    plan->successors[step->first_successor + k]);
        fputc('\n', file);
    }
}
