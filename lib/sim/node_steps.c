/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Analyses schedules for the node model. Plans mark the sends of the same data;
 * passes over several operands are found here, for lanes that may have them.
 */
#include "sim/node_steps.h"

#include <string.h>

#define NONE SIMULATION_NO_STEP

static bool same_span(struct rcx_span a, struct rcx_span b)
{
    return a.buffer == b.buffer && a.offset == b.offset && a.count == b.count;
}

/* ---- Written once -------------------------------------------------------- */

/* Join the sends that plans mark as shared: each refers to the next one, and
 * the last one to the first. */
static void join_sends(const struct simulated_rank *rank, struct node_step *all)
{
    const struct rcx_plan *plan = rank->plan;
    struct node_step *own = all + rank->first_step;

    for (uint32_t i = 0; i < plan->step_count; i++) {
        const uint32_t next = plan->steps[i].next_shared;

        if (next == 0 || next - 1 <= i)
            continue;
        own[next - 1].first = own[i].first;
        own[next - 1].reader = ++all[own[i].first].reader;
        own[i].next = (uint32_t)rank->first_step + next - 1;
    }
}

/* ---- Passes over several operands ---------------------------------------- */

/* Whether reduction i may be a part of the pass of reduction next, the only
 * step that waits for it. */
static bool may_join(const struct rcx_step *i, const struct rcx_step *next)
{
    const struct rcx_span result = rcx_step_dst(i);

    return next->kind == RCX_STEP_REDUCE && i->count > 0 &&
           (same_span(result, rcx_step_left(next)) ||
            same_span(result, rcx_step_right(next))) &&
           (result.buffer == RCX_BUFFER_TMP ||
            same_span(result, rcx_step_dst(next)));
}

/* Find the passes that wait for a send of the rank to end, since they overwrite
 * its data. */
static void find_held(const struct simulated_rank *rank, struct node_step *all)
{
    const struct rcx_plan *plan = rank->plan;

    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct rcx_step *step = &plan->steps[i];

        for (uint32_t k = 0;
             step->kind == RCX_STEP_SEND && k < step->successor_count; k++)
            all[all[rank->first_step +
                    plan->successors[step->first_successor + k]]
                    .pass]
                .holds_sends = true;
    }
}

/* Let a pass read what is received for it from the senders. Where these read
 * the data of each other in place, a pass that waits for sends does not: both
 * would wait. */
static void find_sources(const struct simulated_rank *rank,
                         const struct node_lane *lane, struct node_step *all)
{
    struct node_step *own = all + rank->first_step;
    const struct rcx_plan *plan = rank->plan;

    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct rcx_step *step = &plan->steps[i], *sink;
        struct node_step *reduction;

        if (step->kind != RCX_STEP_RECV || step->sink == 0)
            continue;
        sink = &plan->steps[step->sink - 1];
        reduction = &own[step->sink - 1];
        own[i].is_operand =
            (reduction->joins || reduction->before != NONE) &&
            !(lane->staging == NODE_DIRECT && all[reduction->pass].holds_sends);
        if (own[i].is_operand)
            reduction
                ->source[!same_span(rcx_step_dst(step), rcx_step_left(sink))] =
                (uint32_t)rank->first_step + i;
    }
}

static void join_reductions(const struct simulated_rank *rank,
                            const struct node_lane *lane, struct node_step *all)
{
    const struct rcx_plan *plan = rank->plan;
    struct node_step *own = all + rank->first_step;

    for (uint32_t i = plan->step_count; i-- > 0;) {
        const struct rcx_step *step = &plan->steps[i];
        uint32_t next;

        if (step->kind != RCX_STEP_REDUCE || step->successor_count != 1)
            continue;
        next = plan->successors[step->first_successor];
        if (!may_join(step, &plan->steps[next]))
            continue;
        own[i].joins = true;
        own[next].inner[!same_span(rcx_step_dst(step),
                                   rcx_step_left(&plan->steps[next]))] = true;
        own[i].pass = own[next].pass;
        own[i].before = all[own[i].pass].before;
        all[own[i].pass].before = (uint32_t)rank->first_step + i;
    }
    find_held(rank, all);
    find_sources(rank, lane, all);
}

/* ---- First touches ------------------------------------------------------- */

/* Disjoint intervals of elements, in ascending order. */
struct cover {
    struct interval {
        size_t from, to;
    } * list;
    size_t count, capacity;
};

/* Add an interval. Returns how many of its elements are new. */
static size_t cover_add(struct cover *c, struct rcx_heap *heap, size_t from,
                        size_t to)
{
    size_t fresh = to - from, low = 0, high;

    while (low < c->count && c->list[low].to < from)
        low++;
    for (high = low; high < c->count && c->list[high].from <= to; high++) {
        const struct interval *i = &c->list[high];
        const size_t first = i->from > from ? i->from : from;
        const size_t end = i->to < to ? i->to : to;

        fresh -= end > first ? end - first : 0;
    }
    if (high > low) {
        from = c->list[low].from < from ? c->list[low].from : from;
        to = c->list[high - 1].to > to ? c->list[high - 1].to : to;
    } else if (c->count == c->capacity) {
        struct interval *grown =
            rcx_heap_grow(heap, c->list, c->capacity * sizeof *c->list,
                          (2 * c->capacity + 8) * sizeof *c->list);

        if (!grown)
            return fresh; /* a worse estimate */
        c->list = grown;
        c->capacity = 2 * c->capacity + 8;
    }
    memmove(c->list + low + 1, c->list + high,
            (c->count - high) * sizeof *c->list);
    c->list[low] = (struct interval){from, to};
    c->count += 1 - (high - low);
    return fresh;
}

static float touch(struct cover covers[RCX_BUFFER_COUNT], struct rcx_heap *heap,
                   const struct rcx_shape *shape, struct rcx_span span)
{
    span = rcx_shape_resolve(shape, span);
    if (span.buffer == RCX_BUFFER_TMP || span.count == 0)
        return 0;
    return (float)cover_add(&covers[span.buffer], heap, span.offset,
                            span.offset + span.count) /
           (float)span.count;
}

static void find_touches(struct simulation *s,
                         const struct simulated_rank *rank,
                         struct node_step *own)
{
    struct cover covers[RCX_BUFFER_COUNT] = {{0}};

    for (uint32_t i = 0; i < rank->plan->step_count; i++) {
        const struct rcx_step *step = &rank->plan->steps[i];

        if (step->kind != RCX_STEP_RECV)
            own[i].fresh[1] =
                touch(covers, s->heap, &rank->shape, rcx_step_left(step));
        if (step->kind == RCX_STEP_REDUCE)
            own[i].fresh[2] =
                touch(covers, s->heap, &rank->shape, rcx_step_right(step));
        if (step->kind != RCX_STEP_SEND)
            own[i].fresh[0] =
                touch(covers, s->heap, &rank->shape, rcx_step_dst(step));
    }
    for (int b = 0; b < RCX_BUFFER_COUNT; b++)
        rcx_heap_free(s->heap, covers[b].list);
}

size_t node_steps_scratch(struct simulation *s, int rank)
{
    const struct rcx_plan *plan = s->ranks[rank].plan;
    struct cover scratch = {0};
    size_t elements = 0;

    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct rcx_step *step = &plan->steps[i];

        if (step->kind == RCX_STEP_SEND || step->dst != RCX_BUFFER_TMP ||
            (step->kind == RCX_STEP_RECV && step->sink > 0) || step->count == 0)
            continue;
        elements += cover_add(&scratch, s->heap, step->dst_at,
                              step->dst_at + step->count);
    }
    rcx_heap_free(s->heap, scratch.list);
    return elements;
}

/* ---- All ----------------------------------------------------------------- */

static void analyse(struct simulation *s, const struct simulated_rank *rank,
                    const struct node_lane *lane, struct node_step *all)
{
    find_touches(s, rank, all + rank->first_step);
    if (lane->many_way)
        join_reductions(rank, lane, all);
    if (lane->staging == NODE_ONCE)
        join_sends(rank, all);
}

struct node_step *node_steps_find(struct simulation *s,
                                  const struct node_lane *lane)
{
    struct node_step *all =
        rcx_heap_alloc(s->heap, (s->step_count + 1) * sizeof *all);
    uint32_t *partners = simulation_partners(s);
    bool good = all && partners;

    for (uint32_t i = 0; good && i < s->step_count; i++)
        all[i] = (struct node_step){.partner = partners[i],
                                    .first = i,
                                    .next = NONE,
                                    .pass = i,
                                    .before = NONE,
                                    .source = {NONE, NONE}};
    for (int r = 0; r < s->size && good; r++) {
        for (uint32_t i = 0; i < s->ranks[r].plan->step_count; i++)
            all[s->ranks[r].first_step + i].rank = (uint32_t)r;
        analyse(s, &s->ranks[r], lane, all);
    }
    rcx_heap_free(s->heap, partners);
    if (good)
        return all;
    rcx_heap_free(s->heap, all);
    simulation_lacks_memory(s);
    return NULL;
}
