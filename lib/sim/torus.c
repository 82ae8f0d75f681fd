/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the elements that the messages of a simulated call move over the links
 * of a torus, by rounds, and between groups of ranks. timing.c computes the
 * rounds.
 */
#include "sim/torus.h"

#include "sim/timing.h"

/* Links leave each rank to the next and the one before in its row, in its
 * column, and in other planes. */
enum { UP, DOWN, WAYS, DIMENSIONS = 3 };

struct loads {
    const struct simulated_torus *torus;
    size_t ranks;
    int rounds;
    double *moved; /* by round, way and dimension, and rank */
};

static double *load_of(const struct loads *l, int round, int dimension, int way,
                       int rank)
{
    const size_t link = (size_t)(dimension * WAYS + way);

    return &l->moved[((size_t)round * DIMENSIONS * WAYS + link) * l->ranks +
                     (size_t)rank];
}

/* The ranks along a dimension. */
struct line {
    int size, stride;
};

static struct line line_of(const struct simulated_torus *t, int dimension)
{
    const struct line lines[DIMENSIONS] = {
        {.size = t->columns, .stride = 1},
        {.size = t->rows, .stride = t->columns},
        {.size = t->planes, .stride = t->columns * t->rows}};

    return lines[dimension];
}

static int coordinate(const struct line *line, int rank)
{
    return rank / line->stride % line->size;
}

/* Count elements on the links from a rank that many hops along a line. */
static void pass(const struct loads *l, int round, int dimension, int way,
                 int rank, int hops, double elements)
{
    const struct line line = line_of(l->torus, dimension);
    const int step = way == UP ? 1 : line.size - 1;

    for (int i = 0; i < hops; i++) {
        const int at = coordinate(&line, rank);

        *load_of(l, round, dimension, way, rank) += elements;
        rank += ((at + step) % line.size - at) * line.stride;
    }
}

static void add_message(const struct loads *l, int round, int from, int to,
                        double elements)
{
    for (int dimension = 0; dimension < DIMENSIONS; dimension++) {
        const struct line line = line_of(l->torus, dimension);
        const int start = coordinate(&line, from);
        const int end = coordinate(&line, to);
        const int up = (end - start + line.size) % line.size;
        const int down = (start - end + line.size) % line.size;
        const double half = up == down ? elements / 2 : elements;

        if (up <= down)
            pass(l, round, dimension, UP, from, up, half);
        if (down <= up)
            pass(l, round, dimension, DOWN, from, down, half);
        from += (end - start) * line.stride;
    }
}

static void add_messages(const struct simulation *s, const double *ends,
                         const struct loads *l)
{
    for (int r = 0; r < s->size; r++) {
        const struct simulated_rank *rank = &s->ranks[r];

        for (uint32_t i = 0; i < rank->plan->step_count; i++) {
            const struct rcx_step *step = &rank->plan->steps[i];
            const int round = (int)ends[rank->first_step + i] - 1;

            if (step->kind == RCX_STEP_SEND)
                add_message(l, round, r, step->peer, (double)step->count);
        }
    }
}

static void sum(const struct loads *l, struct torus_load *load)
{
    const size_t links = l->ranks * DIMENSIONS * WAYS;

    *load = (struct torus_load){0};
    for (size_t i = 0; i < links; i++) {
        double all = 0;

        for (int round = 0; round < l->rounds; round++)
            all += l->moved[(size_t)round * links + i];
        load->moved += all;
        load->busiest = all > load->busiest ? all : load->busiest;
    }
    for (int round = 0; round < l->rounds; round++) {
        double most = 0;

        for (size_t i = 0; i < links; i++) {
            const double moved = l->moved[(size_t)round * links + i];

            most = moved > most ? moved : most;
        }
        load->in_rounds += most;
    }
}

bool simulation_torus(struct simulation *s, const struct simulated_torus *torus,
                      struct torus_load *load_p)
{
    double *ends = simulation_ends(s, NULL);
    struct loads l = {.torus = torus, .ranks = (size_t)s->size};

    if (!ends)
        return false;
    for (size_t i = 0; i < s->step_count; i++)
        l.rounds = ends[i] > l.rounds ? (int)ends[i] : l.rounds;
    l.moved = rcx_heap_zalloc(
        s->heap,
        ((size_t)l.rounds * DIMENSIONS * WAYS * l.ranks + 1) * sizeof *l.moved);
    if (l.moved) {
        add_messages(s, ends, &l);
        sum(&l, load_p);
    } else {
        simulation_lacks_memory(s);
    }
    rcx_heap_free(s->heap, l.moved);
    rcx_heap_free(s->heap, ends);
    return !s->lacks_memory;
}

/* ---- Groups -------------------------------------------------------------- */

double simulation_between_groups(const struct simulation *s, int group,
                                 int offset)
{
    double between = 0;

    for (int r = 0; r < s->size; r++) {
        const struct rcx_plan *plan = s->ranks[r].plan;

        for (uint32_t i = 0; i < plan->step_count; i++) {
            const struct rcx_step *step = &plan->steps[i];

            if (step->kind == RCX_STEP_SEND &&
                (r + offset) / group != (step->peer + offset) / group)
                between += (double)step->count;
        }
    }
    return between;
}

double simulation_between_groups_mean(const struct simulation *s, int group)
{
    double sum_of_all = 0;

    for (int offset = 0; offset < group; offset++)
        sum_of_all += simulation_between_groups(s, group, offset);
    return sum_of_all / group;
}

double simulation_between_groups_random(const struct simulation *s, int group)
{
    const double p = s->size, g = group, whole = s->size / group;
    const double rest = s->size % group;
    double sent = 0, together = whole * g * (g - 1) + rest * (rest - 1);

    for (int r = 0; r < s->size; r++)
        sent += (double)s->ranks[r].sent;
    return p > 1 ? sent * (1 - together / (p * (p - 1))) : 0;
}
