/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the messages and elements that a simulated call sends between nodes,
 * by rounds. timing.c computes the rounds.
 */
#include "sim/links.h"

#include "sim/timing.h"

/* Elements that leave a node, and enter it, in each round. */
struct links {
    int nodes, rounds;
    double *out, *in;
    bool *is_far; /* per round: whether there are messages between nodes */
};

static double *at(const struct links *l, double *moved, int round, int node)
{
    return &moved[(size_t)round * (size_t)l->nodes + (size_t)node];
}

/* Count the messages between nodes. A message belongs to the round with which
 * it ends. */
static void add_messages(const struct simulation *s, const double *ends,
                         const struct rcx_nodes *nodes, struct links *l)
{
    for (int r = 0; r < s->size; r++) {
        const struct simulated_rank *rank = &s->ranks[r];

        for (uint32_t i = 0; i < rank->plan->step_count; i++) {
            const struct rcx_step *step = &rank->plan->steps[i];
            const int round = (int)ends[rank->first_step + i] - 1;
            const int from = nodes->node[r];
            int to;

            if (step->kind != RCX_STEP_SEND)
                continue;
            to = nodes->node[step->peer];
            if (from == to)
                continue;
            l->is_far[round] = true;
            *at(l, l->out, round, from) += (double)step->count;
            *at(l, l->in, round, to) += (double)step->count;
        }
    }
}

static void sum_rounds(const struct links *l, struct rcx_crossing *across)
{
    *across = (struct rcx_crossing){0};
    for (int k = 0; k < l->rounds; k++) {
        double most = 0;

        for (int n = 0; n < l->nodes; n++) {
            const double out = *at(l, l->out, k, n), in = *at(l, l->in, k, n);

            most = most > out ? most : out;
            most = most > in ? most : in;
        }
        across->rounds += l->is_far[k];
        across->volume += most;
    }
}

static int rounds_of(const struct simulation *s, const double *ends)
{
    double last = 0;

    for (size_t i = 0; i < s->step_count; i++)
        last = ends[i] > last ? ends[i] : last;
    return (int)last;
}

bool simulation_links(struct simulation *s, const struct rcx_nodes *nodes,
                      struct rcx_cost *cost_p)
{
    double *ends = simulation_ends(s, nodes);
    struct links l = {.nodes = nodes->count};
    size_t cells;

    if (!ends)
        return false;
    l.rounds = rounds_of(s, ends);
    cells = (size_t)l.rounds * (size_t)l.nodes + 1;
    l.out = rcx_heap_zalloc(s->heap, cells * sizeof *l.out);
    l.in = rcx_heap_zalloc(s->heap, cells * sizeof *l.in);
    l.is_far = rcx_heap_zalloc(s->heap, (size_t)l.rounds + 1);
    if (l.out && l.in && l.is_far) {
        add_messages(s, ends, nodes, &l);
        sum_rounds(&l, &cost_p->across[nodes->level]);
    } else {
        simulation_lacks_memory(s);
    }
    rcx_heap_free(s->heap, l.out);
    rcx_heap_free(s->heap, l.in);
    rcx_heap_free(s->heap, l.is_far);
    rcx_heap_free(s->heap, ends);
    return !s->lacks_memory;
}

double simulation_busiest_link(struct simulation *s,
                               const struct rcx_nodes *nodes)
{
    const size_t n = (size_t)nodes->count;
    double *moved = rcx_heap_zalloc(s->heap, 2 * n * sizeof *moved), most = 0;

    for (int r = 0; moved && r < s->size; r++) {
        const struct rcx_plan *plan = s->ranks[r].plan;

        for (uint32_t i = 0; i < plan->step_count; i++) {
            const struct rcx_step *step = &plan->steps[i];

            if (step->kind != RCX_STEP_SEND ||
                nodes->node[r] == nodes->node[step->peer])
                continue;
            moved[nodes->node[r]] += (double)step->count;
            moved[n + (size_t)nodes->node[step->peer]] += (double)step->count;
        }
    }
    if (!moved)
        return simulation_lacks_memory(s) ? 0 : -1;
    for (size_t i = 0; i < 2 * n; i++)
        most = most > moved[i] ? most : moved[i];
    rcx_heap_free(s->heap, moved);
    return most;
}
