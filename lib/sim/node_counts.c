/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts what a call moves over the links of each level of a node. The counts
 * follow from schedules, places and the lane; time has no part in them.
 */
#include <string.h>

#include "sim/node_model.h"

/* ---- Opening ------------------------------------------------------------- */

static bool open_level(struct node_counts *c, int level)
{
    const size_t groups = (size_t)c->groups[level];

    c->in[level] = rcx_heap_zalloc(c->heap, groups * sizeof *c->in[level]);
    c->out[level] = rcx_heap_zalloc(c->heap, groups * sizeof *c->out[level]);
    return c->in[level] && c->out[level];
}

void node_counts_free(struct node_counts *c)
{
    for (int i = 0; i < c->levels; i++) {
        rcx_heap_free(c->heap, c->in[i]);
        rcx_heap_free(c->heap, c->out[i]);
    }
}

/* ---- Counting ------------------------------------------------------------ */

/* A number of transfers from one core to another. */
static void add(struct node_counts *c, const struct node_machine *m, int from,
                int to, struct node_traffic traffic)
{
    const int apart = node_apart(m, from, to);

    for (int i = 0; i < apart; i++) {
        struct node_traffic *out = &c->out[i][node_group(m, i, from)];
        struct node_traffic *in = &c->in[i][node_group(m, i, to)];

        out->bytes += traffic.bytes;
        out->lines += traffic.lines;
        in->bytes += traffic.bytes;
        in->lines += traffic.lines;
    }
}

static double lines_of(size_t bytes)
{
    return (double)((bytes + NODE_LINE - 1) / NODE_LINE);
}

/* Bytes of a slot that are no part of the message. */
enum { HEAD = 16 };

/* Count the messages of a send in so many segments. */
static void add_send(struct node_counts *c, const struct node_call *call,
                     int from, int to, size_t bytes, double segments)
{
    const struct node_machine *m = call->machine;
    const bool is_short = bytes <= m->slot;
    const double data = is_short ? lines_of(HEAD + bytes) : lines_of(bytes);
    const bool whole = call->lane.staging == NODE_DIRECT;
    const double flags = is_short ? 0
                         : whole  ? 1
                                  : (double)((bytes + m->chunk - 1) / m->chunk);

    add(c, m, from, to,
        (struct node_traffic){segments * (double)bytes,
                              segments * (data + flags)});
    if (call->lane.staging == NODE_COPIES) /* the sender takes the ring back */
        add(c, m, to, from,
            (struct node_traffic){.lines = segments * (data + flags)});
}

static void add_piece(struct node_counts *c, const struct node_call *call,
                      const struct node_piece *piece)
{
    for (int r = 0; r < piece->s->size; r++) {
        const struct simulated_rank *rank = &piece->s->ranks[r];

        for (uint32_t i = 0; i < rank->plan->step_count; i++) {
            const struct rcx_step *step = &rank->plan->steps[i];

            if (step->kind == RCX_STEP_SEND)
                add_send(c, call, call->core[r], call->core[step->peer],
                         step->count * rank->shape.elem_bytes,
                         (double)piece->segments);
        }
    }
}

bool node_counts_find(const struct node_call *call, struct node_counts *c)
{
    *c = (struct node_counts){.levels = call->machine->levels,
                              .heap = call->pieces[0].s->heap};
    for (int i = 0; i < c->levels; i++)
        c->groups[i] = node_groups(call->machine, i);
    for (int i = 0; i < c->levels; i++)
        if (!open_level(c, i))
            return false;
    for (int i = 0; i < call->piece_count; i++)
        add_piece(c, call, &call->pieces[i]);
    return true;
}

/* ---- Reading ------------------------------------------------------------- */

struct node_traffic node_traffic_most(const struct node_traffic *traffic,
                                      int groups, int except)
{
    struct node_traffic most = {0};

    for (int i = 0; i < groups; i++) {
        if (i == except)
            continue;
        if (traffic[i].bytes > most.bytes)
            most.bytes = traffic[i].bytes;
        if (traffic[i].lines > most.lines)
            most.lines = traffic[i].lines;
    }
    return most;
}
