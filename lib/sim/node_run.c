/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and closes the state of a prediction: segments, the state of their
 * steps, and where the data of each rank are.
 */
#include "sim/node_run.h"

static uint64_t simulated_of(const struct node_piece *piece)
{
    return piece->segments < NODE_SEGMENTS ? piece->segments : NODE_SEGMENTS;
}

/* ---- Where data are ------------------------------------------------------ */

/* Where a rank finds data of which it has so many bytes: as much as fits in the
 * cache of its core, and as much of the rest as fits in its share of the next
 * one. */
static struct node_home home_of(const struct node_machine *m, double bytes,
                                int sharing)
{
    const double own = (double)m->level[0].cache;
    const double shared = (double)m->level[m->cache_level].cache / sharing;

    if (bytes <= own)
        return (struct node_home){0};
    if (bytes <= own + shared)
        return (struct node_home){.cache = 1 - own / bytes};
    return (struct node_home){.cache = shared / bytes,
                              .memory = 1 - (own + shared) / bytes};
}

/* The part of a call that one segment of a piece is. */
static double share_of(const struct simulation *s)
{
    const struct rcx_shape *shape = &s->ranks[0].shape;
    const size_t blocks =
        rcx_coll_has_blocks(shape->coll) ? (size_t)shape->size : 1;
    const double share = (double)s->row.width * (double)blocks;

    return s->row.width >= shape->count || share >= (double)shape->count
               ? 1
               : share / (double)shape->count;
}

static int sharing_of(const struct node_run *r, int rank)
{
    const int level = r->m->cache_level;
    const int group = node_group(r->m, level, r->call->core[rank]);
    int sharing = 0;

    for (int i = 0; i < r->ranks; i++)
        sharing += node_group(r->m, level, r->call->core[i]) == group;
    return sharing;
}

/* Set where a rank finds its operand and result, which the previous call used
 * last, and its scratch and the part that a segment works on. */
static struct node_place place_of(const struct node_run *r, int piece, int rank)
{
    struct simulation *s = r->call->pieces[piece].s;
    const struct rcx_shape *shape = &s->ranks[rank].shape;
    const double bytes = (double)shape->elem_bytes;
    const double operands = bytes * (double)(rcx_shape_in_count(shape) +
                                             (shape->alias == RCX_ALIAS_NONE
                                                  ? rcx_shape_out_count(shape)
                                                  : 0));
    const double scratch =
        bytes * (double)node_steps_scratch(s, rank) * (double)r->call->window;
    const double part = operands * share_of(s) * (double)r->call->window;
    const int sharing = sharing_of(r, rank);

    return (struct node_place){
        .fresh = home_of(r->m, operands + scratch, sharing),
        .warm = home_of(r->m, (part < operands ? part : operands) + scratch,
                        sharing)};
}

/* ---- Opening ------------------------------------------------------------- */

/* Analyse the pieces, and count the steps of the segments that are simulated.
 * False: no memory, or too many steps. */
static bool open_pieces(struct node_run *r, uint64_t *steps_p)
{
    const int pieces = r->call->piece_count;

    *steps_p = 0;
    r->steps = rcx_heap_zalloc(r->heap, (size_t)pieces * sizeof *r->steps);
    r->places = rcx_heap_alloc(r->heap, (size_t)pieces * (size_t)r->ranks *
                                            sizeof *r->places);
    if (!r->steps || !r->places)
        return false;
    for (int i = 0; i < pieces; i++) {
        const struct node_piece *piece = &r->call->pieces[i];

        r->segment_count += (uint32_t)simulated_of(piece);
        *steps_p += simulated_of(piece) * piece->s->step_count;
        r->steps[i] = node_steps_find(piece->s, &r->call->lane);
        if (!r->steps[i])
            return false;
        for (int rank = 0; rank < r->ranks; rank++)
            r->places[i * r->ranks + rank] = place_of(r, i, rank);
    }
    return *steps_p < SIMULATION_STEPS_MAX;
}

static void fill_states(struct node_run *r, uint32_t number)
{
    struct node_segment *segment = &r->segments[number];
    const struct simulation *s = segment->piece->s;

    for (int rank = 0; rank < r->ranks; rank++) {
        const struct rcx_plan *plan = s->ranks[rank].plan;
        struct node_state *states =
            r->states + segment->first + s->ranks[rank].first_step;

        segment->left[rank] = plan->step_count;
        for (uint32_t i = 0; i < plan->step_count; i++) {
            states[i].waits = plan->steps[i].waits;
            states[i].segment = number;
        }
    }
}

/* False: no memory. */
static bool open_segments(struct node_run *r)
{
    uint32_t number = 0, first = 0;

    for (int i = 0; i < r->call->piece_count; i++) {
        const struct node_piece *piece = &r->call->pieces[i];

        for (uint64_t k = 0; k < simulated_of(piece); k++) {
            struct node_segment *segment = &r->segments[number];

            segment->piece = piece;
            segment->steps = r->steps[i];
            segment->number = i;
            segment->first = first;
            segment->left = rcx_heap_alloc(r->heap, (size_t)r->ranks *
                                                        sizeof *segment->left);
            if (!segment->left)
                return false;
            fill_states(r, number++);
            first += (uint32_t)piece->s->step_count;
        }
    }
    return true;
}

static void open_workers(struct node_run *r)
{
    for (int rank = 0; rank < r->ranks; rank++) {
        struct node_worker *w = &r->workers[rank];

        w->core = r->call->core[rank];
        w->at_work = NODE_NONE;
        for (int q = 0; q < QUEUES; q++)
            w->first[q] = NODE_NONE;
        r->rank_of[w->core] = rank;
    }
}

bool node_run_open(struct node_run *r, const struct node_call *call)
{
    struct simulation *s = call->pieces[0].s;
    uint64_t steps;

    *r = (struct node_run){
        .call = call, .m = call->machine, .heap = s->heap, .ranks = s->size};
    if (!node_flows_open(&r->flows, s->heap, call->machine) ||
        !open_pieces(r, &steps))
        return false;
    r->segments =
        rcx_heap_zalloc(r->heap, r->segment_count * sizeof *r->segments);
    r->states = rcx_heap_zalloc(r->heap, (steps + 1) * sizeof *r->states);
    r->workers =
        rcx_heap_zalloc(r->heap, (size_t)r->ranks * sizeof *r->workers);
    r->rank_of = rcx_heap_zalloc(r->heap, (size_t)node_machine_cores(r->m) *
                                              sizeof *r->rank_of);
    if (!r->segments || !r->states || !r->workers || !r->rank_of ||
        !open_segments(r))
        return false;
    open_workers(r);
    return true;
}

void node_run_close(struct node_run *r)
{
    for (uint32_t k = 0; r->segments && k < r->segment_count; k++)
        rcx_heap_free(r->heap, r->segments[k].left);
    for (int i = 0; r->steps && i < r->call->piece_count; i++)
        rcx_heap_free(r->heap, r->steps[i]);
    rcx_heap_free(r->heap, r->steps);
    rcx_heap_free(r->heap, r->places);
    rcx_heap_free(r->heap, r->segments);
    rcx_heap_free(r->heap, r->states);
    rcx_heap_free(r->heap, r->workers);
    rcx_heap_free(r->heap, r->rank_of);
    rcx_heap_free(r->heap, r->events);
    node_flows_close(&r->flows);
}
