/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predicts one method on a node: builds the schedules of its segments, and
 * gives them to the node model.
 */
#include "rcx_sim/node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sched/method.h"
#include "transport/node/decide.h"

size_t node_query_count(const struct node_query *q)
{
    const size_t count = (q->bytes + q->o->elem_bytes - 1) / q->o->elem_bytes;

    return rcx_coll_has_blocks(q->o->coll) ? count * (size_t)q->size : count;
}

/* Whether the ranks are in several groups of a level, and some share one. */
static bool has_level(const struct node_query *q, int level)
{
    const struct node_machine *m = q->machine;
    int groups = 0, first = -1;

    for (int i = 0; i < q->size; i++) { /* a group's first rank counts it */
        first = 0;
        while (node_group(m, level, q->core[first]) !=
               node_group(m, level, q->core[i]))
            first++;
        groups += first == i;
    }
    return groups > 1 && groups < q->size;
}

int node_query_level(const struct node_query *q, int level)
{
    if (level < 0 || level >= q->machine->levels || !has_level(q, level))
        return RCX_LEVELS;
    if (level == q->machine->cache_level)
        return RCX_LEVEL_CACHE;
    return level == q->machine->memory_level ? RCX_LEVEL_NUMA
                                             : RCX_LEVEL_SOCKET;
}

/* The finest of the maps of ranks to the groups of a level, or of all. */
static struct rcx_nodes *maps_of(const struct node_query *q, int level)
{
    const size_t size = (size_t)q->size;
    uint64_t *ids = sim_alloc(q->o, RCX_LEVELS * size, sizeof *ids);
    const uint64_t *known[RCX_LEVELS] = {NULL};
    struct rcx_nodes *nodes = NULL;

    for (int i = 0; i < q->machine->levels; i++) {
        const int own = node_query_level(q, i);

        if (own == RCX_LEVELS || (level < q->machine->levels && level != i))
            continue;
        known[own] = ids + (size_t)own * size;
        for (size_t r = 0; r < size; r++)
            ids[(size_t)own * size + r] =
                (uint64_t)node_group(q->machine, i, q->core[r]);
    }
    if (!rcx_nodes_map(q->o->heap, known, q->size, &nodes))
        sim_exit_without_memory();
    rcx_heap_free(q->o->heap, ids);
    return nodes;
}

struct simulated_call node_query_call(const struct node_query *q,
                                      const struct sim_method *m, int level)
{
    struct simulated_call call =
        sim_call_of(q->o, m, q->size, node_query_count(q));

    call.shape.cores = node_machine_cores(q->machine);
    if (level < 0)
        return call;
    call.shape.nodes = maps_of(q, level);
    memcpy(call.shape.params, m->params, sizeof call.shape.params);
    if (call.shape.nodes)
        rcx_params_settle(m->algo, &call.shape);
    return call;
}

/* ---- Segments ------------------------------------------------------------ */

struct pieces {
    struct node_piece *list;
    struct rcx_row *rows;
    int count;
};

static void open_piece(struct pieces *p, int i,
                       const struct simulated_call *call,
                       const struct sim_options *o)
{
    struct simulated_call part = *call;
    struct simulation *s = sim_alloc(o, 1, sizeof *s);

    part.row = &p->rows[i];
    p->list[i] = (struct node_piece){.s = s, .segments = p->rows[i].segments};
    if (simulation_open(s, &part))
        return;
    if (s->lacks_memory)
        sim_exit_without_memory();
    fprintf(stderr, "rcx_sim: %s %s: %s\n", rcx_coll_name(o->coll),
            call->algo->name, s->text);
    exit(EXIT_FAILURE);
}

/* Cut the call as the library does. */
static struct pieces cut(const struct simulated_call *call,
                         const struct sim_method *m,
                         const struct sim_options *o)
{
    const size_t limit = m->segment_bytes / o->elem_bytes;
    struct pieces p = {0};
    struct rcx_cutter cutter;
    struct rcx_row row;

    if (rcx_cutter_open(&cutter, o->heap, &call->shape, limit) != RCX_OK)
        sim_exit_without_memory();
    while (rcx_cutter_next(&cutter, &row)) {
        p.rows = sim_grow(o, p.rows, (size_t)p.count, 1, sizeof *p.rows);
        p.rows[p.count++] = row;
    }
    rcx_cutter_close(&cutter);
    p.list = sim_alloc(o, (size_t)p.count, sizeof *p.list);
    for (int i = 0; i < p.count; i++)
        open_piece(&p, i, call, o);
    return p;
}

static void close_pieces(struct pieces *p, const struct sim_options *o)
{
    for (int i = 0; i < p->count; i++) {
        simulation_close(p->list[i].s);
        rcx_heap_free(o->heap, p->list[i].s);
    }
    rcx_heap_free(o->heap, p->list);
    rcx_heap_free(o->heap, p->rows);
}

/* ---- Prediction ---------------------------------------------------------- */

/* The machine, with the rings that the lane has for so many ranks. */
static struct node_machine with_rings(const struct node_query *q)
{
    struct node_machine m = *q->machine;
    const size_t ranks = (size_t)q->size;
    struct rcx_decide_facts facts = {
        .ranks = ranks, .cores = ranks, .tasks = ranks};
    struct rcx_shm_settings set = {0}, decided;

    if (q->lane.staging != NODE_COPIES)
        return m;
    rcx_figures_usual(&facts.figures);
    facts.figures.own = m.level[0].cache;
    facts.figures.shared = m.level[m.cache_level].cache;
    rcx_decide(&facts, &set, &decided);
    m.room = decided.ring;
    m.chunk = decided.chunk;
    return m;
}

static void run(const struct node_query *q, const struct simulated_call *call,
                struct node_answer *a)
{
    const struct node_machine machine = with_rings(q);
    struct pieces pieces = cut(call, &a->method, q->o);
    const struct node_call node = {.pieces = pieces.list,
                                   .piece_count = pieces.count,
                                   .window = a->method.window,
                                   .core = q->core,
                                   .machine = &machine,
                                   .lane = q->lane,
                                   .limit = q->limit};

    if (!node_model_time(&node, &a->seconds) && pieces.list[0].s->lacks_memory)
        sim_exit_without_memory(); /* else ranks that read in place wait for
                                      each other, and a lane would copy */
    if (q->o->counts && !isinf(a->seconds) &&
        !node_counts_find(&node, &a->counts))
        sim_exit_without_memory();
    close_pieces(&pieces, q->o);
}

struct node_answer node_predict(const struct node_query *q,
                                const struct sim_method *m, int level)
{
    struct node_answer a = {.method = *m, .level = level, .seconds = INFINITY};
    struct simulated_call call = node_query_call(q, m, level);

    if (m->algo->is_by_nodes && !call.shape.nodes) { /* no level divides */
        proof_call_free(&call);
        return a;
    }
    memcpy(a.method.params, call.shape.params, sizeof a.method.params);
    if (a.method.window == 0)
        a.method.window = 2;
    if (a.method.segment_bytes > 0 && a.method.segment_bytes < q->o->elem_bytes)
        a.method.segment_bytes = q->o->elem_bytes;
    if (a.method.segment_bytes >= call.shape.count * q->o->elem_bytes)
        a.method.segment_bytes = 0; /* the whole call */
    if (rcx_algo_fits(m->algo, &call.shape) &&
        rcx_algo_order(m->algo, &call.shape) >= q->o->order)
        run(q, &call, &a);
    proof_call_free(&call);
    return a;
}

void node_answer_print(const struct node_query *q, const struct node_answer *a,
                       char *text, size_t bytes)
{
    struct rcx_method m = {.algo = a->method.algo,
                           .window = a->method.window,
                           .segment =
                               a->method.segment_bytes / q->o->elem_bytes};
    size_t used;

    memcpy(m.params, a->method.params, sizeof m.params);
    rcx_method_print(&m, q->o->elem_bytes, text, bytes);
    used = strlen(text);
    if (a->level >= 0)
        snprintf(text + used, bytes - used, " by %s",
                 a->level == q->machine->levels
                     ? "all levels"
                     : q->machine->level[a->level].name);
}
