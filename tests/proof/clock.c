/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topological walk over all ranks' steps. What a step waits for are its own
 * rank's dependencies, the step before it on the same port (sends, receives,
 * combines), and, for a message, its other side.
 */
#include "clock.h"

#include <stdlib.h>

enum { ROUNDS, VOLUME, COMBINES, PRICES };

/* ---- The two sides of a message ------------------------------------------ */

struct entry {
    uint64_t key; /* plus one; 0: empty */
    uint32_t step;
};

struct map {
    struct entry *entries;
    size_t mask;
};

static struct entry *find(const struct map *map, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 24);

    while (map->entries[at & map->mask].key != 0 &&
           map->entries[at & map->mask].key != key + 1)
        at++;
    return &map->entries[at & map->mask];
}

static uint64_t key_of(int from, int to, uint32_t message)
{
    return (uint64_t)from << 42 | (uint64_t)to << 20 | message;
}

static void join(struct map *map, uint32_t *partner, uint64_t key,
                 uint32_t step, bool is_send)
{
    struct entry *entry = find(map, key);

    if (is_send) {
        *entry = (struct entry){key + 1, step};
    } else if (entry->key) {
        partner[entry->step] = step;
        partner[step] = entry->step;
    }
}

static void join_kind(const struct simulation *s, struct map *map,
                      uint32_t *partner, enum rcx_step_kind kind)
{
    const bool is_send = kind == RCX_STEP_SEND;

    for (int r = 0; r < s->size; r++) {
        const struct simulated_rank *rank = &s->ranks[r];

        for (uint32_t i = 0; i < rank->plan->step_count; i++) {
            const struct rcx_step *step = &rank->plan->steps[i];

            if (step->kind == kind)
                join(map, partner,
                     key_of(is_send ? r : step->peer, is_send ? step->peer : r,
                            step->message),
                     (uint32_t)rank->first_step + i, is_send);
        }
    }
}

uint32_t *simulation_partners(const struct simulation *s)
{
    uint32_t *partner = malloc((s->step_count + 1) * sizeof *partner);
    size_t slots = 16;
    struct map map;

    while (slots < 2 * s->messages)
        slots *= 2;
    map.mask = slots - 1;
    map.entries = calloc(slots, sizeof *map.entries);
    for (size_t i = 0; i < s->step_count; i++)
        partner[i] = SIMULATION_NO_STEP;
    join_kind(s, &map, partner, RCX_STEP_SEND);
    join_kind(s, &map, partner, RCX_STEP_RECV);
    free(map.entries);
    return partner;
}

/* ---- The walk ------------------------------------------------------------ */

struct node {
    double time[PRICES]; /* when it can start; once through, when it ends */
    uint32_t rank;
    uint32_t waits;
    uint32_t behind; /* the next on its port */
    bool here;       /* a message's side that waits for the other */
};

struct clock {
    const struct simulation *s;
    uint32_t *partner;
    struct node *nodes;
    uint32_t *ready;
    size_t ready_count;
    size_t through;
};

static void fill_rank(struct clock *c, int r)
{
    const struct simulated_rank *rank = &c->s->ranks[r];
    struct node *nodes = c->nodes + rank->first_step;
    uint32_t last[RCX_STEP_KINDS] = {SIMULATION_NO_STEP, SIMULATION_NO_STEP,
                                     SIMULATION_NO_STEP, SIMULATION_NO_STEP};

    for (uint32_t i = 0; i < rank->plan->step_count; i++) {
        const struct rcx_step *step = &rank->plan->steps[i];
        const uint32_t before = last[step->kind];

        nodes[i] = (struct node){.rank = (uint32_t)r, .waits = step->waits,
                                 .behind = SIMULATION_NO_STEP};
        if (step->kind == RCX_STEP_COPY)
            continue; /* free, and thus never busy */
        last[step->kind] = i;
        if (before != SIMULATION_NO_STEP) {
            nodes[before].behind = (uint32_t)rank->first_step + i;
            nodes[i].waits++;
        }
    }
}

static void release(struct clock *c, uint32_t to, const double time[])
{
    struct node *node = &c->nodes[to];

    for (int k = 0; k < PRICES; k++)
        if (node->time[k] < time[k])
            node->time[k] = time[k];
    if (--node->waits == 0)
        c->ready[c->ready_count++] = to;
}

static void finish(struct clock *c, uint32_t at, const double time[])
{
    struct node *node = &c->nodes[at];
    const struct simulated_rank *rank = &c->s->ranks[node->rank];
    const struct rcx_plan *plan = rank->plan;
    const struct rcx_step *step = &plan->steps[at - rank->first_step];

    c->through++;
    for (int k = 0; k < PRICES; k++)
        node->time[k] = time[k];
    for (uint32_t i = 0; i < step->successor_count; i++)
        release(c, (uint32_t)rank->first_step +
                       plan->successors[step->first_successor + i], time);
    if (node->behind != SIMULATION_NO_STEP)
        release(c, node->behind, time);
}

static void visit(struct clock *c, uint32_t at)
{
    struct node *node = &c->nodes[at];
    const struct simulated_rank *rank = &c->s->ranks[node->rank];
    const struct rcx_step *step = &rank->plan->steps[at - rank->first_step];
    const uint32_t other = c->partner[at];
    double time[PRICES];

    for (int k = 0; k < PRICES; k++)
        time[k] = node->time[k];
    if (!rcx_step_is_message(step->kind)) {
        time[COMBINES] +=
            step->kind == RCX_STEP_REDUCE ? (double)step->count : 0;
        finish(c, at, time);
        return;
    }
    node->here = true;
    if (other == SIMULATION_NO_STEP || !c->nodes[other].here)
        return;
    for (int k = 0; k < PRICES; k++)
        if (time[k] < c->nodes[other].time[k])
            time[k] = c->nodes[other].time[k];
    time[ROUNDS] += 1;
    time[VOLUME] += (double)step->count;
    finish(c, at, time);
    finish(c, other, time);
}

bool simulation_clock(const struct simulation *s, struct rcx_cost *cost_p)
{
    struct clock c = {.s = s, .partner = simulation_partners(s)};
    double latest[PRICES] = {0};

    c.nodes = malloc((s->step_count + 1) * sizeof *c.nodes);
    c.ready = malloc((s->step_count + 1) * sizeof *c.ready);
    for (int r = 0; r < s->size; r++)
        fill_rank(&c, r);
    for (uint32_t i = 0; i < s->step_count; i++)
        if (c.nodes[i].waits == 0)
            c.ready[c.ready_count++] = i;
    while (c.ready_count > 0)
        visit(&c, c.ready[--c.ready_count]);
    for (uint32_t i = 0; i < s->step_count; i++)
        for (int k = 0; k < PRICES; k++)
            if (latest[k] < c.nodes[i].time[k])
                latest[k] = c.nodes[i].time[k];
    free(c.partner);
    free(c.nodes);
    free(c.ready);
    if (c.through < s->step_count)
        return false;
    *cost_p = (struct rcx_cost){latest[ROUNDS], latest[VOLUME],
                                latest[COMBINES]};
    return true;
}
