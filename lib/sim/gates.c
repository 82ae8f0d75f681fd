/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans with gates, for the simulator. Steps keep their order and meaning;
 * numbers of steps that the plan contains are moved behind the gates.
 */
#include "sim/gates.h"

#include <string.h>

static uint32_t end_of_successors(const struct rcx_plan *plan)
{
    uint32_t end = 0;

    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct rcx_step *step = &plan->steps[i];

        if (end < step->first_successor + step->successor_count)
            end = step->first_successor + step->successor_count;
    }
    return end;
}

/* The real step behind the gate of step i of the plan, plus one; 0: of none. */
static uint32_t behind_gate(const struct rcx_plan *plan, uint32_t i)
{
    uint32_t gates = plan->step_count;

    if (i == 0)
        return 0;
    for (uint32_t k = 0; k < i; k++)
        gates += plan->steps[k].kind != RCX_STEP_SEND;
    return gates;
}

static void move_parts(struct rcx_fused_part *parts,
                       const struct rcx_plan *plan)
{
    for (uint32_t i = 0; i < plan->part_count; i++) {
        parts[i] = plan->parts[i];
        parts[i].step = behind_gate(plan, parts[i].step + 1) - 1;
        parts[i].left_from = behind_gate(plan, parts[i].left_from);
        parts[i].right_from = behind_gate(plan, parts[i].right_from);
    }
}

struct rcx_plan *rcx_gates_add(struct rcx_heap *heap,
                               const struct rcx_plan *plan)
{
    const uint32_t n = plan->step_count, edges = end_of_successors(plan);
    uint32_t gates = 0;
    struct rcx_plan *gated =
        rcx_heap_alloc(heap, sizeof *gated + 2 * n * sizeof *plan->steps +
                                 (edges + n) * sizeof *plan->successors +
                                 plan->part_count * sizeof *plan->parts);
    struct rcx_fused_part *parts;
    struct rcx_step *steps;
    uint32_t *successors;

    if (!gated)
        return NULL;
    steps = (struct rcx_step *)(gated + 1);
    successors = (uint32_t *)(steps + 2 * n);
    parts = (struct rcx_fused_part *)(successors + edges + n);
    move_parts(parts, plan);
    memcpy(steps, plan->steps, n * sizeof *steps);
    memcpy(successors, plan->successors, edges * sizeof *successors);
    for (uint32_t i = 0; i < n; i++) {
        steps[i].sink = 0; /* the step that consumes data may wait at a gate */
        if (steps[i].kind == RCX_STEP_SEND)
            continue;
        steps[n + gates] = steps[i];
        steps[n + gates].waits = 1;
        steps[i] = (struct rcx_step){.kind = RCX_STEP_RECV,
                                     .peer = RCX_GATE,
                                     .waits = steps[i].waits,
                                     .first_successor = edges + gates,
                                     .successor_count = 1};
        successors[edges + gates] = n + gates;
        gates++;
    }
    *gated = *plan;
    gated->step_count = n + gates;
    gated->steps = steps;
    gated->successors = successors;
    gated->parts = parts;
    return gated;
}
