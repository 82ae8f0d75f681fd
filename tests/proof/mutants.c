/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes mutants of schedules and judges whether a proof must find them. A
 * mutant that a proof accepts is excused if it is equivalent: by the order
 * level, or by the order of events. test_mutants.c chooses the cases.
 */
#include "mutants.h"

#include <stdlib.h>
#include <string.h>

#include "sim/timing.h"

/* Runs per mutant. A race shows only in some runs; one that needs a very late
 * message shows in few. */
enum { RUNS = 4, EDGE_RUNS = 64, RARE_RUNS = 4096 };

const char *mutation_name(enum mutation mutation)
{
    static const char *const names[MUTATIONS] = {
        "operands swapped", "wrong peer",       "step dropped",
        "step repeated",    "dst shifted",      "left shifted",
        "right shifted",    "messages swapped", "dependency cleared"};

    return names[mutation];
}

const char *excuse_name(enum excuse excuse)
{
    static const char *const names[EXCUSES] = {
        "operands may commute", "done twice to no effect",
        "ordered by other edges", "a bound on what is posted",
        "still a barrier"};

    return names[excuse];
}

/* ---- Making a mutant ----------------------------------------------------- */

struct making {
    const struct mutant *mutant;
    bool made;
    struct rcx_step step; /* the step before the mutation */
    uint32_t edge_to;     /* step where a cleared edge ends */
    bool is_bound; /* whether a cleared edge only limits what is posted */
};

/* Whether dst overlaps an operand in a way that the builder rejects. */
static bool is_refused(const struct rcx_shape *s, const struct rcx_step *step)
{
    if (rcx_step_is_message(step->kind))
        return false;
    return rcx_span_clash(s, rcx_step_dst(step), rcx_step_left(step)) ||
           (step->kind == RCX_STEP_REDUCE &&
            rcx_span_clash(s, rcx_step_dst(step), rcx_step_right(step)));
}

static bool swap_operands(struct rcx_step *step)
{
    const struct rcx_step old = *step;

    step->left = old.right;
    step->left_at = old.right_at;
    step->right = old.left;
    step->right_at = old.left_at;
    return old.kind == RCX_STEP_REDUCE &&
           (old.left != old.right || old.left_at != old.right_at);
}

static bool change_peer(struct rcx_step *step, const struct rcx_shape *s)
{
    const int old = step->peer;

    if (old < 0 || s->size < 3)
        return false;
    do
        step->peer = (step->peer + 1) % s->size;
    while (step->peer == s->rank);
    return true;
}

static bool shift(const struct rcx_builder *b, uint8_t buffer, size_t *at,
                  size_t count)
{
    const size_t limit = buffer == RCX_BUFFER_IN ? rcx_shape_in_count(b->shape)
                         : buffer == RCX_BUFFER_OUT
                             ? rcx_shape_out_count(b->shape)
                             : b->scratch;

    if (*at + count < limit)
        ++*at;
    else if (*at > 0)
        --*at;
    else
        return false;
    return true;
}

static bool shift_span(const struct rcx_builder *b, struct rcx_step *step,
                       enum mutation mutation)
{
    const int kind = step->kind;

    if (mutation == MUTATION_SHIFT_DST)
        return kind != RCX_STEP_SEND &&
               shift(b, step->dst, &step->dst_at, step->count);
    if (mutation == MUTATION_SHIFT_LEFT)
        return kind != RCX_STEP_RECV &&
               shift(b, step->left, &step->left_at, step->count);
    return kind == RCX_STEP_REDUCE &&
           shift(b, step->right, &step->right_at, step->count);
}

static void remove_step(struct rcx_builder *b, uint32_t at)
{
    b->step_count--;
    memmove(&b->steps[at], &b->steps[at + 1],
            (b->step_count - at) * sizeof *b->steps);
}

static void repeat_step(struct rcx_builder *b, uint32_t at)
{
    if (b->step_count == b->step_capacity) {
        b->step_capacity *= 2;
        b->steps =
            rcx_heap_grow(b->heap, b->steps, b->step_count * sizeof *b->steps,
                          b->step_capacity * sizeof *b->steps);
    }
    memmove(&b->steps[at + 1], &b->steps[at],
            (b->step_count - at) * sizeof *b->steps);
    b->step_count++;
}

static bool is_apart(const struct rcx_shape *s, struct rcx_span a,
                     struct rcx_span b)
{
    a = rcx_shape_resolve(s, a);
    b = rcx_shape_resolve(s, b);
    return a.buffer != b.buffer || a.offset != b.offset || a.count != b.count;
}

/* Exchange the spans of a message and the next one of its kind; peers stay.
 * Returns whether the spans differ. */
static bool swap_messages(struct rcx_builder *b, uint32_t at)
{
    struct rcx_step *one = &b->steps[at], *other = NULL;
    const struct rcx_step old = *one;
    int32_t peer;

    for (uint32_t i = at + 1; i < b->step_count && !other; i++)
        if (b->steps[i].kind == one->kind)
            other = &b->steps[i];
    if (!rcx_step_is_message(one->kind) || !other)
        return false;
    peer = other->peer;
    *one = *other;
    one->peer = old.peer;
    *other = old;
    other->peer = peer;
    return one->kind == RCX_STEP_SEND
               ? is_apart(b->shape, rcx_step_left(one), rcx_step_left(other))
               : is_apart(b->shape, rcx_step_dst(one), rcx_step_dst(other));
}

static void mutate_steps(struct rcx_builder *b, const struct rcx_shape *s,
                         void *arg)
{
    struct making *making = arg;
    const struct mutant *m = making->mutant;
    struct rcx_step *step = b->steps + m->at;

    if (s->rank != m->rank || m->at >= b->step_count)
        return;
    making->step = *step;
    switch (m->mutation) {
    case MUTATION_SWAP_OPERANDS: making->made = swap_operands(step); break;
    case MUTATION_WRONG_PEER: making->made = change_peer(step, s); break;
    case MUTATION_DROP_STEP:
        remove_step(b, m->at);
        making->made = true;
        break;
    case MUTATION_REPEAT_STEP:
        repeat_step(b, m->at);
        making->made = true;
        break;
    case MUTATION_SWAP_MESSAGES: making->made = swap_messages(b, m->at); break;
    case MUTATION_CLEAR_EDGE: /* made in the plan */ break;
    default: making->made = shift_span(b, step, m->mutation);
    }
    if (making->made && m->mutation != MUTATION_DROP_STEP &&
        is_refused(s, &b->steps[m->at]))
        making->made = false;
    if (!making->made)
        b->steps[m->at] = making->step;
}

static bool do_overlap(const struct rcx_shape *s, struct rcx_span a,
                       struct rcx_span b)
{
    a = rcx_shape_resolve(s, a);
    b = rcx_shape_resolve(s, b);
    return a.buffer == b.buffer && a.offset < b.offset + b.count &&
           b.offset < a.offset + a.count;
}

static struct rcx_span span_of(const struct rcx_step *message)
{
    return message->kind == RCX_STEP_SEND ? rcx_step_left(message)
                                          : rcx_step_dst(message);
}

/* Whether both are messages, and neither writes a span that the other uses. */
static bool are_bound(const struct rcx_shape *s, const struct rcx_step *a,
                      const struct rcx_step *b)
{
    return rcx_step_is_message(a->kind) && rcx_step_is_message(b->kind) &&
           ((a->kind == RCX_STEP_SEND && b->kind == RCX_STEP_SEND) ||
            !do_overlap(s, span_of(a), span_of(b)));
}

static void mutate_plan(struct rcx_plan *plan, const struct rcx_shape *s,
                        void *arg)
{
    struct making *making = arg;
    const struct mutant *m = making->mutant;
    struct rcx_step *steps = (struct rcx_step *)plan->steps;
    uint32_t *successor = (uint32_t *)plan->successors;
    struct rcx_step *step = &steps[m->at];

    if (m->mutation != MUTATION_CLEAR_EDGE || s->rank != m->rank ||
        m->at >= plan->step_count || m->edge >= step->successor_count)
        return;
    successor += step->first_successor;
    making->made = true;
    making->edge_to = successor[m->edge];
    making->is_bound = are_bound(s, step, &steps[making->edge_to]);
    successor[m->edge] = successor[--step->successor_count];
    if (--steps[making->edge_to].waits == 0)
        ((uint32_t *)plan->ready)[plan->ready_count++] = making->edge_to;
}

/* ---- Order of events ----------------------------------------------------- */

/*
 * The start and the end of each step are events. Sends count as eager: the end
 * of a send implies nothing about its receive.
 */
struct causes {
    const struct simulation *s;
    const uint32_t *partner;
    uint32_t *stack;
    size_t stack_count;
    bool *seen; /* by event: 2 step is its start, 2 step + 1 its end */
};

static void see(struct causes *c, uint32_t event)
{
    if (c->seen[event])
        return;
    c->seen[event] = true;
    c->stack[c->stack_count++] = event;
}

static const struct simulated_rank *rank_of(const struct simulation *s,
                                            uint32_t step)
{
    int r = s->size - 1;

    while (s->ranks[r].first_step > step)
        r--;
    return &s->ranks[r];
}

static const struct rcx_step *step_at(const struct simulation *s, uint32_t at)
{
    const struct simulated_rank *rank = rank_of(s, at);

    return &rank->plan->steps[at - (uint32_t)rank->first_step];
}

static void follow(struct causes *c, uint32_t event)
{
    const uint32_t at = event / 2;
    const struct simulated_rank *rank = rank_of(c->s, at);
    const uint32_t first = (uint32_t)rank->first_step;
    const struct rcx_plan *plan = rank->plan;
    const struct rcx_step *step = step_at(c->s, at);

    if (event % 2 == 0) {
        see(c, event + 1);
        if (step->kind == RCX_STEP_SEND && c->partner[at] != SIMULATION_NO_STEP)
            see(c, 2 * c->partner[at] + 1);
        return;
    }
    for (uint32_t i = 0; i < step->successor_count; i++)
        see(c, 2 * (first + plan->successors[step->first_successor + i]));
}

static void spread(struct causes *c)
{
    while (c->stack_count > 0)
        follow(c, c->stack[--c->stack_count]);
}

/*
 * Whether step from has stopped using its buffer before step to begins. A step
 * uses its buffer until its end; a send, at the latest until its message is
 * received. A receive begins at the earliest when its message is sent.
 */
static bool is_ordered(struct causes *c, uint32_t from, uint32_t to)
{
    const struct rcx_step *first = step_at(c->s, from);
    const struct rcx_step *second = step_at(c->s, to);

    see(c, 2 * from + 1);
    if (first->kind == RCX_STEP_SEND && c->partner[from] != SIMULATION_NO_STEP)
        see(c, 2 * c->partner[from] + 1);
    spread(c);
    if (second->kind == RCX_STEP_RECV && c->partner[to] != SIMULATION_NO_STEP)
        return c->seen[2 * c->partner[to]];
    return c->seen[2 * to];
}

/* Whether, for every two ranks, the end of some step of one depends on a step
 * of the other. */
static bool is_barrier(struct causes *c)
{
    for (int a = 0; a < c->s->size; a++) {
        memset(c->seen, 0, 2 * c->s->step_count * sizeof *c->seen);
        for (uint32_t i = 0; i < c->s->ranks[a].plan->step_count; i++)
            see(c, 2 * ((uint32_t)c->s->ranks[a].first_step + i));
        spread(c);
        for (int r = 0; r < c->s->size; r++) {
            const struct simulated_rank *rank = &c->s->ranks[r];
            bool reached = false;

            for (uint32_t i = 0; i < rank->plan->step_count; i++)
                reached |= c->seen[2 * (rank->first_step + i) + 1];
            if (!reached)
                return false;
        }
    }
    return true;
}

/* Open the mutant's schedules again. Return whether other edges imply the
 * cleared one; for other mutations of barriers, whether it is still a
 * barrier. */
static bool is_excused_by_causes(const struct proof_case *c,
                                 const struct simulation_hooks *hooks)
{
    const struct making *making = hooks->arg;
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(c, &heap);
    struct simulation s;
    struct causes causes = {.s = &s};
    bool excused = false;

    call.hooks = hooks;
    if (simulation_open(&s, &call)) {
        const uint32_t first =
            (uint32_t)s.ranks[making->mutant->rank].first_step;
        uint32_t *partner = simulation_partners(&s);

        causes.partner = partner;
        causes.stack = calloc(2 * s.step_count, sizeof *causes.stack);
        causes.seen = calloc(2 * s.step_count, sizeof *causes.seen);
        excused = making->mutant->mutation == MUTATION_CLEAR_EDGE &&
                          rcx_coll_has_data(c->algo->coll)
                      ? is_ordered(&causes, first + making->mutant->at,
                                   first + making->edge_to)
                      : is_barrier(&causes);
        rcx_heap_free(&heap, partner);
        free(causes.stack);
        free(causes.seen);
    }
    simulation_close(&s);
    proof_call_free(&call);
    return excused;
}

/* ---- The verdict --------------------------------------------------------- */

static bool is_idempotent(const struct proof_case *c,
                          const struct making *making)
{
    const struct rcx_step *step = &making->step;
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(c, &heap);
    struct rcx_shape s = call.shape;
    bool apart;

    s.rank = making->mutant->rank;
    s.alias = call.alias[s.rank];
    apart = is_apart(&s, rcx_step_dst(step), rcx_step_left(step)) &&
            is_apart(&s, rcx_step_dst(step), rcx_step_right(step));
    proof_call_free(&call);
    return step->kind == RCX_STEP_COPY ||
           (step->kind == RCX_STEP_REDUCE && apart);
}

static bool is_excused(const struct proof_case *c,
                       const struct simulation_hooks *hooks,
                       const struct proof_report *report, enum excuse *excuse_p)
{
    const struct making *making = hooks->arg;
    const enum mutation mutation = making->mutant->mutation;

    if (!rcx_coll_has_data(c->algo->coll)) {
        *excuse_p = EXCUSE_BARRIER;
        return is_excused_by_causes(c, hooks);
    }
    switch (mutation) {
    case MUTATION_SWAP_OPERANDS:
        *excuse_p = EXCUSE_COMMUTES;
        return report->stated < RCX_ORDER_RANK;
    case MUTATION_SWAP_MESSAGES: /* in a phase or step of a better level */
        *excuse_p = EXCUSE_COMMUTES;
        return report->stated < RCX_ORDER_RANK;
    case MUTATION_REPEAT_STEP:
        *excuse_p = EXCUSE_IDEMPOTENT;
        return is_idempotent(c, making);
    case MUTATION_CLEAR_EDGE:
        *excuse_p = making->is_bound ? EXCUSE_POSTED : EXCUSE_ORDERED;
        return making->is_bound || is_excused_by_causes(c, hooks);
    default: return false;
    }
}

/* Whether the mutation applies to the step at all. */
static bool can_be_made(const struct proof_case *c,
                        const struct simulation_hooks *hooks)
{
    const struct making *making = hooks->arg;
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(c, &heap);
    struct simulation s;

    call.hooks = hooks;
    simulation_open(&s, &call);
    simulation_close(&s);
    proof_call_free(&call);
    return making->made;
}

struct verdict_of mutant_try(const struct proof_case *c,
                             const struct mutant *mutant)
{
    struct making making = {.mutant = mutant};
    const struct simulation_hooks hooks = {mutate_steps, mutate_plan, &making};
    struct proof_options options = {
        .seed = 1,
        .hooks = &hooks,
        .runs = mutant->mutation == MUTATION_CLEAR_EDGE ? EDGE_RUNS : RUNS};
    struct verdict_of v = {.verdict = MUTANT_CAUGHT};
    struct proof_report report;
    bool accepted;

    if (!can_be_made(c, &hooks))
        return (struct verdict_of){.verdict = MUTANT_NONE};
    accepted = proof_prove(c, &options, &report);
    if (accepted && is_excused(c, &hooks, &report, &v.excuse))
        v.verdict = MUTANT_EQUIVALENT;
    else if (accepted && mutant->mutation != MUTATION_CLEAR_EDGE)
        v.verdict = MUTANT_MISSED;
    else if (accepted) {
        options.runs = RARE_RUNS;
        if (proof_prove(c, &options, &report))
            v.verdict = MUTANT_MISSED;
    }
    memcpy(v.text, report.text, sizeof v.text);
    return v;
}
