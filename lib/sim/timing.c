/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes times by a topological walk over the steps of all ranks. A step
 * waits for the dependencies of its own rank, and for the previous step on the
 * same port (sends, receives, combines). A message also waits for its other
 * side. Copies take no time. In paper mode combines wait for earlier messages,
 * and messages for earlier combines.
 */
#include "sim/timing.h"

enum { MACHINES_MAX = 3 };

/* ---- Partners of messages ------------------------------------------------ */

struct entry {
    uint64_t key; /* the key plus one; 0: empty */
    uint32_t step;
};

struct map {
    struct entry *entries;
    size_t mask;
    int bits; /* of mask */
};

static struct entry *find(const struct map *map, uint64_t key)
{
    /* the highest bits, as only they depend on all of the key */
    size_t at =
        (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - map->bits));

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

/* Allocate an array with an element of so many bytes for each step. */
static void *per_step(const struct simulation *s, size_t bytes)
{
    return rcx_heap_alloc(s->heap, (s->step_count + 1) * bytes);
}

uint32_t *simulation_partners(struct simulation *s)
{
    uint32_t *partner = per_step(s, sizeof *partner);
    struct map map = {.bits = 4};

    while ((uint64_t)1 << map.bits < 2 * s->messages)
        map.bits++;
    map.mask = ((size_t)1 << map.bits) - 1;
    map.entries =
        rcx_heap_zalloc(s->heap, (map.mask + 1) * sizeof *map.entries);
    if (!partner || !map.entries) {
        rcx_heap_free(s->heap, partner);
        rcx_heap_free(s->heap, map.entries);
        simulation_lacks_memory(s);
        return NULL;
    }
    for (size_t i = 0; i < s->step_count; i++)
        partner[i] = SIMULATION_NO_STEP;
    join_kind(s, &map, partner, RCX_STEP_SEND);
    join_kind(s, &map, partner, RCX_STEP_RECV);
    rcx_heap_free(s->heap, map.entries);
    return partner;
}

/* ---- The walk ------------------------------------------------------------ */

struct node {
    double time[MACHINES_MAX]; /* when the step can start; after the visit, when
                                it ends */
    uint32_t rank;
    uint32_t waits;
    uint32_t behind[RCX_STEP_KINDS]; /* per kind: the next step that waits for
                                        this one */
    bool here; /* a side of a message that waits for the other side */
};

struct clock {
    struct simulation *s;
    const struct rcx_machine *machines;
    int count;    /* of machines */
    double bytes; /* of an element */
    enum simulation_mode mode;
    const struct rcx_nodes *far; /* messages within its nodes take no time;
                                    NULL: all take time */
    bool in_node;                /* see simulation_clock_in_node() */
    bool no_ports;               /* messages do not wait for a port */
    uint32_t *partner;
    struct node *nodes;
    uint32_t *ready;
    size_t ready_count;
    size_t through;
};

/* Whether a rank cannot do steps of both kinds at the same time. */
static bool exclude(const struct clock *c, unsigned kind, unsigned other)
{
    return kind == other ||
           (c->mode == SIMULATION_PAPER && kind != RCX_STEP_COPY &&
            rcx_step_is_message(kind) != rcx_step_is_message(other));
}

/* Whether step i sends what an earlier step sends at the same time. */
static bool is_shared(const struct rcx_plan *plan, uint32_t i)
{
    uint32_t k = plan->steps[i].next_shared;

    while (k > 0 && k - 1 > i)
        k = plan->steps[k - 1].next_shared;
    return k > 0 && k - 1 < i;
}

static void fill_rank(struct clock *c, int r)
{
    const struct simulated_rank *rank = &c->s->ranks[r];
    const uint32_t first = (uint32_t)rank->first_step;
    struct node *nodes = c->nodes;
    uint32_t next[RCX_STEP_KINDS] = {SIMULATION_NO_STEP, SIMULATION_NO_STEP,
                                     SIMULATION_NO_STEP, SIMULATION_NO_STEP};

    for (uint32_t i = rank->plan->step_count; i-- > 0;) {
        const struct rcx_step *step = &rank->plan->steps[i];
        struct node *node = &nodes[first + i];
        const bool is_portless = step->kind == RCX_STEP_COPY || c->no_ports;

        *node = (struct node){.rank = (uint32_t)r, .waits = step->waits};
        for (unsigned kind = 0; kind < RCX_STEP_KINDS; kind++) {
            node->behind[kind] = !is_portless && exclude(c, step->kind, kind)
                                     ? next[kind]
                                     : SIMULATION_NO_STEP;
            if (node->behind[kind] != SIMULATION_NO_STEP)
                nodes[node->behind[kind]].waits++;
        }
        if (!is_portless)
            next[step->kind] = first + i;
    }
}

static void release(struct clock *c, uint32_t to, const double time[])
{
    struct node *node = &c->nodes[to];

    for (int k = 0; k < c->count; k++)
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
    for (int k = 0; k < c->count; k++)
        node->time[k] = time[k];
    for (uint32_t i = 0; i < step->successor_count; i++)
        release(c,
                (uint32_t)rank->first_step +
                    plan->successors[step->first_successor + i],
                time);
    for (unsigned kind = 0; kind < RCX_STEP_KINDS; kind++)
        if (node->behind[kind] != SIMULATION_NO_STEP)
            release(c, node->behind[kind], time);
}

/* Complete a receive whose send is complete: the message arrives, and is copied
 * out. */
static void arrive(struct clock *c, uint32_t recv, const double sent[])
{
    const struct node *node = &c->nodes[recv];
    const struct simulated_rank *rank = &c->s->ranks[node->rank];
    const double count =
        (double)rank->plan->steps[recv - rank->first_step].count;
    double time[MACHINES_MAX];

    for (int k = 0; k < c->count; k++) {
        time[k] = sent[k] + c->machines[k].alpha;
        if (time[k] < node->time[k])
            time[k] = node->time[k];
        time[k] += 0.5 * count * (c->bytes * c->machines[k].beta);
    }
    finish(c, recv, time);
}

/* A side of a message that needs no receive to be sent. */
static void visit_eager(struct clock *c, uint32_t at, uint32_t other)
{
    struct node *node = &c->nodes[at];
    const struct simulated_rank *rank = &c->s->ranks[node->rank];
    const uint32_t i = at - (uint32_t)rank->first_step;
    const struct rcx_step *step = &rank->plan->steps[i];
    double sent[MACHINES_MAX];

    if (step->kind == RCX_STEP_RECV) {
        if (other != SIMULATION_NO_STEP && c->nodes[other].here)
            arrive(c, at, c->nodes[other].time);
        return;
    }
    for (int k = 0; k < c->count; k++)
        sent[k] = node->time[k] + (is_shared(rank->plan, i)
                                       ? 0
                                       : 0.5 * (double)step->count *
                                             (c->bytes * c->machines[k].beta));
    finish(c, at, sent);
    if (other != SIMULATION_NO_STEP && c->nodes[other].here)
        arrive(c, other, sent);
}

static bool takes_time(const struct clock *c, uint32_t rank, int peer)
{
    return !c->far || c->far->node[rank] != c->far->node[peer];
}

static void visit(struct clock *c, uint32_t at)
{
    struct node *node = &c->nodes[at];
    const struct simulated_rank *rank = &c->s->ranks[node->rank];
    const struct rcx_step *step = &rank->plan->steps[at - rank->first_step];
    const uint32_t other = c->partner[at];
    const double count = (double)step->count;
    double time[MACHINES_MAX];

    if (!rcx_step_is_message(step->kind)) {
        for (int k = 0; k < c->count; k++)
            time[k] =
                node->time[k] + (step->kind == RCX_STEP_REDUCE
                                     ? count * (c->bytes * c->machines[k].gamma)
                                     : 0);
        finish(c, at, time);
        return;
    }
    node->here = true;
    if (c->in_node) {
        visit_eager(c, at, other);
        return;
    }
    if (other == SIMULATION_NO_STEP || !c->nodes[other].here)
        return;
    for (int k = 0; k < c->count; k++) {
        const double theirs = c->nodes[other].time[k];

        time[k] = node->time[k] < theirs ? theirs : node->time[k];
        if (takes_time(c, node->rank, step->peer))
            time[k] +=
                c->machines[k].alpha + count * (c->bytes * c->machines[k].beta);
    }
    finish(c, at, time);
    finish(c, other, time);
}

static bool open_clock(struct clock *c)
{
    c->partner = simulation_partners(c->s);
    c->nodes = per_step(c->s, sizeof *c->nodes);
    c->ready = per_step(c->s, sizeof *c->ready);
    return (c->partner && c->nodes && c->ready) ||
           simulation_lacks_memory(c->s);
}

static void close_clock(struct clock *c)
{
    rcx_heap_free(c->s->heap, c->partner);
    rcx_heap_free(c->s->heap, c->nodes);
    rcx_heap_free(c->s->heap, c->ready);
}

/* Visit all steps. False: there is no memory, or steps wait in a cycle. */
static bool walk(struct clock *c)
{
    if (!open_clock(c))
        return false;
    for (int r = 0; r < c->s->size; r++)
        fill_rank(c, r);
    for (uint32_t i = 0; i < c->s->step_count; i++)
        if (c->nodes[i].waits == 0)
            c->ready[c->ready_count++] = i;
    while (c->ready_count > 0)
        visit(c, c->ready[--c->ready_count]);
    if (c->through == c->s->step_count)
        return true;
    snprintf(c->s->text, sizeof c->s->text,
             "if each rank runs its steps in order, ranks wait for each other "
             "in a cycle");
    return false;
}

static double latest(const struct clock *c, int k)
{
    double time = 0;

    for (size_t i = 0; i < c->s->step_count; i++)
        if (time < c->nodes[i].time[k])
            time = c->nodes[i].time[k];
    return time;
}

bool simulation_clock(struct simulation *s, struct rcx_cost *cost_p)
{
    static const struct rcx_machine machines[] = {
        {.alpha = 1}, {.beta = 1}, {.gamma = 1}};
    struct clock c = {.s = s, .machines = machines, .count = 3, .bytes = 1};
    const bool good = walk(&c);

    if (good)
        *cost_p = (struct rcx_cost){.rounds = latest(&c, 0),
                                    .volume = latest(&c, 1),
                                    .combines = latest(&c, 2)};
    close_clock(&c);
    return good;
}

bool simulation_clock_in_node(struct simulation *s, double *rounds_p,
                              double *volume_p)
{
    static const struct rcx_machine round = {.alpha = 1}, element = {.beta = 1};
    struct clock rounds = {.s = s,
                           .machines = &round,
                           .count = 1,
                           .in_node = true,
                           .no_ports = true};
    struct clock volume = {
        .s = s, .machines = &element, .count = 1, .bytes = 1, .in_node = true};
    const bool good = walk(&rounds) && walk(&volume);

    if (good) {
        *rounds_p = latest(&rounds, 0);
        *volume_p = latest(&volume, 0);
    }
    close_clock(&rounds);
    close_clock(&volume);
    return good;
}

bool simulation_time(struct simulation *s, const struct rcx_machine *machine,
                     enum simulation_mode mode, double *time_p)
{
    struct clock c = {.s = s,
                      .machines = machine,
                      .count = 1,
                      .bytes = (double)s->ranks[0].shape.elem_bytes,
                      .mode = mode};
    const bool good = walk(&c);

    if (good)
        *time_p = latest(&c, 0);
    close_clock(&c);
    return good;
}

double *simulation_ends(struct simulation *s, const struct rcx_nodes *nodes)
{
    static const struct rcx_machine round = {.alpha = 1};
    struct clock c = {.s = s, .machines = &round, .count = 1, .far = nodes};
    double *ends = NULL;

    if (walk(&c)) {
        ends = per_step(s, sizeof *ends);
        if (!ends)
            simulation_lacks_memory(s);
        for (size_t i = 0; ends && i < s->step_count; i++)
            ends[i] = c.nodes[i].time[0];
    }
    close_clock(&c);
    return ends;
}

/* ---- Loads --------------------------------------------------------------- */

static void raise_to(double *most, double x)
{
    *most = x > *most ? x : *most;
}

struct simulation_loads simulation_loads(const struct simulation *s)
{
    struct simulation_loads loads = {0, 0, 0};

    for (int r = 0; r < s->size; r++) {
        const struct rcx_plan *plan = s->ranks[r].plan;
        double messages[2] = {0, 0}, elements[2] = {0, 0};

        for (uint32_t i = 0; i < plan->step_count; i++) {
            const struct rcx_step *step = &plan->steps[i];
            const int side = step->kind == RCX_STEP_RECV;

            if (!rcx_step_is_message(step->kind))
                continue;
            messages[side]++;
            elements[side] += (double)step->count;
        }
        loads.messages += messages[0];
        for (int side = 0; side < 2; side++) {
            raise_to(&loads.rounds, messages[side]);
            raise_to(&loads.volume, elements[side]);
        }
    }
    return loads;
}
