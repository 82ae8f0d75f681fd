/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds receives whose data need not be stored, since a single reduction reads
 * it. If the other dependencies of the reduction are complete when the data
 * arrives, the transport passes the data to it directly. Scratch is neither
 * written nor read then. Receive and reduction remain two steps, so
 * dependencies do not change, and no deadlock is added.
 */
#include "core/sched/algo.h"

static bool is_same(struct rcx_span a, struct rcx_span b)
{
    return a.buffer == b.buffer && a.offset == b.offset && a.count == b.count;
}

/* Whether step reads data. Successors that are receives or empty messages only
 * wait. */
static bool does_read(const struct rcx_step *step)
{
    return step->kind != RCX_STEP_RECV && step->count > 0;
}

/* Whether reduction may consume data on arrival. data must be in scratch,
 * equal one operand, and not overlap the other. It must equal dst or not
 * overlap it. */
static bool can_consume(const struct rcx_step *reduction, struct rcx_span data)
{
    const struct rcx_span left = rcx_step_left(reduction);
    const struct rcx_span right = rcx_step_right(reduction);
    const struct rcx_span dst = rcx_step_dst(reduction);

    return reduction->kind == RCX_STEP_REDUCE &&
           data.buffer == RCX_BUFFER_TMP &&
           (is_same(data, dst) || !rcx_span_meets(data, dst)) &&
           ((is_same(data, left) && !rcx_span_meets(data, right)) ||
            (is_same(data, right) && !rcx_span_meets(data, left)));
}

/* All steps that read the data are among the successors of i. */
uint32_t rcx_step_reader(const struct rcx_step *steps, uint32_t i,
                         const uint32_t *successors)
{
    const uint32_t *const mine = successors + steps[i].first_successor;
    uint32_t reader = 0;

    for (uint32_t k = 0; k < steps[i].successor_count; k++) {
        if (!does_read(&steps[mine[k]]))
            continue;
        if (reader > 0)
            return 0;
        reader = mine[k] + 1;
    }
    return reader;
}

/* Return the step, plus one, that may consume the data of receive i; 0:
 * none. */
static uint32_t find_sink(const struct rcx_step *steps, uint32_t i,
                          const uint32_t *successors)
{
    const uint32_t reader = rcx_step_reader(steps, i, successors);

    return reader > 0 &&
                   can_consume(&steps[reader - 1], rcx_step_dst(&steps[i]))
               ? reader
               : 0;
}

void rcx_sinks_find(struct rcx_step *steps, uint32_t count,
                    const uint32_t *successors)
{
    for (uint32_t i = 0; i < count; i++)
        steps[i].sink = steps[i].kind == RCX_STEP_RECV && steps[i].count > 0
                            ? find_sink(steps, i, successors)
                            : 0;
}
