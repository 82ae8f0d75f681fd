/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks for the fastest method on a node: all algorithms of a collective, with
 * the values of their parameters that may differ in use, over the groups of
 * each level; then segments of those that are the fastest without.
 */
#include "rcx_sim/node.h"

#include <math.h>
#include <string.h>

/* LIMIT: a method that takes so many times as long as the fastest is of no
 * interest, even without segments. */
enum { VALUES = 12, KEPT = 5, SEGMENTS = 64, LIMIT = 4, WINDOW = 4 };

struct best {
    struct node_query q;
    struct node_answer kept[KEPT]; /* the fastest first, each of another
                                      algorithm or level */
    int count;
};

/* ---- The fastest --------------------------------------------------------- */

static bool is_alike(const struct node_answer *a, const struct node_answer *b)
{
    return a->method.algo == b->method.algo && a->level == b->level;
}

static void keep(struct best *best, const struct node_answer *a)
{
    int at = 0, end;

    if (isinf(a->seconds))
        return;
    while (at < best->count && best->kept[at].seconds <= a->seconds)
        if (is_alike(&best->kept[at++], a))
            return;
    for (end = at; end < best->count && !is_alike(&best->kept[end], a);)
        end++;
    if (end == best->count && best->count < KEPT)
        best->count++;
    else if (end == best->count)
        end--;
    if (at > end)
        return;
    memmove(&best->kept[at + 1], &best->kept[at],
            (size_t)(end - at) * sizeof *best->kept);
    best->kept[at] = *a;
}

/* Returns whether the method is of interest. */
static bool try(struct best *best, const struct sim_method *m, int level)
{
    struct node_answer a = node_predict(&best->q, m, level);

    node_counts_free(&a.counts);
    a.counts = (struct node_counts){0};
    keep(best, &a);
    if (best->count > 0)
        best->q.limit = best->kept[0].seconds * LIMIT;
    return !isinf(a.seconds);
}

/* ---- Parameters ---------------------------------------------------------- */

/* Store values of a parameter. Returns how many. */
static int values_of(const struct rcx_param *p, int64_t values[VALUES])
{
    static const int64_t numbers[] = {1, 2, 4, 8};
    int n = 0;

    values[n++] = p->usual;
    if (p->names) {
        for (int i = 0; p->names[i] && n < VALUES; i++)
            if (i != p->usual)
                values[n++] = i;
        return n;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] >= p->least && numbers[i] <= p->most &&
            numbers[i] != p->usual)
            values[n++] = numbers[i];
    return n;
}

/* Try all values of parameters from number i on. */
static void try_params(struct best *best, struct sim_method *m, int level,
                       int i)
{
    const struct rcx_param *p = m->algo->params;
    int64_t values[VALUES];
    int n;

    if (!p || i == RCX_PARAMS || !p[i].name) {
        try(best, m, level);
        return;
    }
    n = values_of(&p[i], values);
    for (int k = 0; k < n; k++) {
        m->params[i] = values[k];
        try_params(best, m, level, i + 1);
    }
}

/* Whether the values of a parameter are very different algorithms. */
static bool has_names(const struct rcx_algo *algo)
{
    const struct rcx_param *p = algo->params;

    for (int i = 0; p && i < RCX_PARAMS && p[i].name; i++)
        if (p[i].names)
            return true;
    return false;
}

static void try_algo(struct best *best, const struct rcx_algo *algo)
{
    const int all = best->q.machine->levels;

    for (int i = -1; i <= all; i++) {
        struct sim_method m = {.algo = algo, .window = 2};

        if (i < 0
                ? algo->is_by_nodes
                : !algo->is_by_nodes ||
                      (i < all && node_query_level(&best->q, i) == RCX_LEVELS))
            continue;
        rcx_params_reset(algo, m.params);
        if (try(best, &m, i) || has_names(algo))
            try_params(best, &m, i, 0);
    }
}

/* ---- Segments ------------------------------------------------------------ */

static void try_segments(struct best *best)
{
    const struct best whole = *best;
    const size_t all = node_query_count(&best->q) * best->q.o->elem_bytes;
    size_t least = 8 << 10;

    while (least * SEGMENTS < all)
        least *= 4;
    for (int i = 0; i < whole.count; i++)
        for (size_t segment = least; segment < all; segment *= 4) {
            struct sim_method m = whole.kept[i].method;

            m.segment_bytes = segment;
            m.window = WINDOW;
            try(best, &m, whole.kept[i].level);
        }
}

struct node_answer node_best(const struct node_query *q)
{
    struct best best = {.q = *q};

    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == q->o->coll)
            try_algo(&best, *a);
    try_segments(&best);
    return q->o->counts
               ? node_predict(q, &best.kept[0].method, best.kept[0].level)
               : best.kept[0];
}
