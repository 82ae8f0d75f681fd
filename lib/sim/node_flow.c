/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of data in the node model: paths over resources, and their rates. A
 * flow wants the rate that it has alone. A resource whose flows want k times
 * its capacity slows each of them down to 1/k; the slowest one counts.
 */
#include "sim/node_flow.h"

#include <math.h>
#include <string.h>

/* ---- Resources ----------------------------------------------------------- */

enum way { OUT, IN, INSIDE, MEMORY, WAYS };

static int resource_of(const struct node_machine *m, int level, int core,
                       enum way way)
{
    int first = 0;

    for (int i = 0; i < level; i++)
        first += node_groups(m, i);
    return (first + node_group(m, level, core)) * WAYS + (int)way;
}

static double capacity_of(const struct node_level *level, enum way way)
{
    switch (way) {
    case INSIDE: return level->inside;
    case MEMORY: return level->memory > 0 ? level->memory : INFINITY;
    case IN: return level->in;
    default: return level->out;
    }
}

/* ---- Paths --------------------------------------------------------------- */

static void use(struct node_path *path, const struct node_machine *m, int level,
                int core, enum way way, double weight)
{
    if (isinf(capacity_of(&m->level[level], way)))
        return;
    path->use[path->uses].resource = resource_of(m, level, core, way);
    path->use[path->uses++].weight = weight;
}

/* A byte goes from the caches of one core to another one. */
static void cross(struct node_path *path, const struct node_machine *m,
                  int from, int to)
{
    const int apart = node_apart(m, from, to);

    for (int i = 0; i < apart; i++) {
        use(path, m, i, from, OUT, 1);
        if (i > 0)
            use(path, m, i, to, IN, 1);
    }
    use(path, m, apart, to, INSIDE, 1);
}

/* A byte goes between a core and the memory of group near. */
static void use_memory(struct node_path *path, const struct node_machine *m,
                       int near, double reads, double writes)
{
    for (int i = 1; i < m->memory_level; i++) {
        use(path, m, i, near, IN, reads + writes);
        use(path, m, i, near, OUT, writes);
    }
    use(path, m, m->memory_level, near, MEMORY, reads + 2 * writes);
}

void node_path_read(struct node_path *path, const struct node_machine *m,
                    int from, int to, double memory)
{
    const double cached = m->level[node_apart(m, from, to)].read;
    const double slower = fmin(cached, m->level[m->memory_level].memory_read);

    if (from == to)
        return;
    path->seconds += (1 - memory) / cached + memory / slower;
    cross(path, m, from, to);
    if (memory > 0)
        use(path, m, m->memory_level, from, MEMORY, memory);
}

void node_path_take(struct node_path *path, const struct node_machine *m,
                    int owner, int core, bool moves)
{
    if (owner == core)
        return;
    path->seconds += 1 / m->level[node_apart(m, owner, core)].read;
    if (moves)
        cross(path, m, owner, core);
}

void node_path_own(struct node_path *path, const struct node_machine *m,
                   int core, struct node_home home, double reads, double writes)
{
    const double bytes = reads + 2 * writes; /* a line is read before it is
                                                written, and written back */

    if (home.cache > 0) {
        path->own += home.cache * bytes / m->level[m->cache_level].cache_read;
        use(path, m, m->cache_level, core, INSIDE, home.cache * bytes);
    }
    if (home.memory > 0) {
        path->own +=
            home.memory * bytes / m->level[m->memory_level].memory_read;
        use_memory(path, m, core, home.memory * reads, home.memory * writes);
    }
}

void node_path_complete(struct node_path *path, double rate)
{
    path->seconds = fmax(fmax(path->seconds, path->own), 1 / rate);
}

/* ---- Flows --------------------------------------------------------------- */

bool node_flows_open(struct node_flows *f, struct rcx_heap *heap,
                     const struct node_machine *m)
{
    size_t n, cells;

    *f = (struct node_flows){.heap = heap, .cores = node_machine_cores(m)};
    for (int i = 0; i < m->levels; i++)
        f->resources += node_groups(m, i) * WAYS;
    n = (size_t)f->resources;
    cells = n * (size_t)f->cores;
    f->capacity = rcx_heap_alloc(heap, n * sizeof *f->capacity);
    f->demand = rcx_heap_zalloc(heap, n * sizeof *f->demand);
    f->member_count = rcx_heap_zalloc(heap, n * sizeof *f->member_count);
    f->members = rcx_heap_alloc(heap, cells * sizeof *f->members);
    f->flow = rcx_heap_zalloc(heap, (size_t)f->cores * sizeof *f->flow);
    if (!f->capacity || !f->demand || !f->member_count || !f->members ||
        !f->flow)
        return false;
    for (int i = 0; i < m->levels; i++)
        for (int core = 0; core < f->cores; core += (int)m->level[i].cores)
            for (int way = 0; way < WAYS; way++)
                f->capacity[resource_of(m, i, core, (enum way)way)] =
                    capacity_of(&m->level[i], (enum way)way);
    return true;
}

void node_flows_close(struct node_flows *f)
{
    rcx_heap_free(f->heap, f->capacity);
    rcx_heap_free(f->heap, f->demand);
    rcx_heap_free(f->heap, f->member_count);
    rcx_heap_free(f->heap, f->members);
    rcx_heap_free(f->heap, f->flow);
}

static double slow_of(const struct node_flows *f, int resource)
{
    return fmax(1, f->demand[resource] / f->capacity[resource]);
}

/* Set the factor of a flow as its resources are now. */
static void update(struct node_flows *f, int core, double now)
{
    struct node_flow *flow = &f->flow[core];
    const double seconds = flow->path.seconds;
    double slow = 1;

    for (int i = 0; i < flow->path.uses; i++)
        slow = fmax(slow, slow_of(f, flow->path.use[i].resource));
    if (slow == flow->slow)
        return;
    if (flow->slow > 0)
        flow->left -= (now - flow->since) / (seconds * flow->slow);
    flow->left = fmax(flow->left, 0);
    flow->since = now;
    flow->slow = slow;
    f->changed(f->arg, core, now + flow->left * seconds * slow);
}

static void add_member(struct node_flows *f, int resource, int core)
{
    int *members = &f->members[(size_t)resource * (size_t)f->cores];

    for (int i = 0; i < f->member_count[resource]; i++)
        if (members[i] == core) /* a path may use a resource twice */
            return;
    members[f->member_count[resource]++] = core;
}

static void remove_member(struct node_flows *f, int resource, int core)
{
    int *members = &f->members[(size_t)resource * (size_t)f->cores];
    int i = 0;

    while (i < f->member_count[resource] && members[i] != core)
        i++;
    if (i < f->member_count[resource])
        members[i] = members[--f->member_count[resource]];
}

/* Add the demand of a flow to its resources, or remove it, and update the
 * others that share them. */
static void demand(struct node_flows *f, int core, bool starts, double now)
{
    const struct node_path *path = &f->flow[core].path;

    for (int i = 0; i < path->uses; i++) {
        const int r = path->use[i].resource;
        const double before = slow_of(f, r);
        const double rate = path->use[i].weight / path->seconds;

        if (starts)
            add_member(f, r, core);
        else
            remove_member(f, r, core);
        f->demand[r] += starts ? rate : -rate;
        if (f->member_count[r] == 0)
            f->demand[r] = 0; /* no error of rounding stays */
        if (slow_of(f, r) == before)
            continue;
        for (int k = 0; k < f->member_count[r]; k++) {
            const int other =
                f->members[(size_t)r * (size_t)f->cores + (size_t)k];

            if (other != core)
                update(f, other, now);
        }
    }
}

void node_flow_start(struct node_flows *f, int core, double bytes, double now)
{
    struct node_flow *flow = &f->flow[core];

    flow->left = bytes;
    flow->since = now;
    flow->slow = 0;
    if (bytes == 0 || flow->path.seconds == 0) {
        flow->path.uses = 0;
        flow->path.seconds = 0;
        flow->left = 0;
    }
    demand(f, core, true, now);
    update(f, core, now);
}

void node_flow_end(struct node_flows *f, int core, double now)
{
    demand(f, core, false, now);
    f->flow[core].slow = 0;
}
