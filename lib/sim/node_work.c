/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time and the path of each piece of work in the node model: a chunk of a
 * message written or read, a copy, a reduction, or a part of a pass over
 * several operands.
 */
#include "sim/node_run.h"

static int core_of(const struct node_run *r, uint32_t rank)
{
    return r->workers[rank].core;
}

double node_latency(const struct node_run *r, uint32_t from, uint32_t to)
{
    return r->m->level[node_apart(r->m, core_of(r, from), core_of(r, to))]
        .latency;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum rcx_step_kind kind_of(const struct node_run *r, uint32_t id)
{
    return (enum rcx_step_kind)node_plan_step(r, id)->kind;
}

/* A short message travels with its flag. */
static bool is_short(const struct node_run *r, uint32_t id)
{
    return node_bytes(r, id) <= r->m->slot;
}

static uint32_t peer_of(const struct node_run *r, uint32_t id)
{
    return (uint32_t)node_plan_step(r, id)->peer;
}

static const struct node_place *place_of(const struct node_run *r, uint32_t id)
{
    return &r->places[node_segment_of(r, id)->number * r->ranks +
                      (int)node_rank_of(r, id)];
}

/* ---- A rank's own data --------------------------------------------------- */

enum span { DST, LEFT, RIGHT };

/* Add reads and writes of a span of step id. */
static void add_own(const struct node_run *r, uint32_t id, enum span span,
                    double reads, double writes, struct node_path *path)
{
    const struct node_place *place = place_of(r, id);
    const double fresh = (double)node_step_of(r, id)->fresh[span];
    const int core = core_of(r, node_rank_of(r, id));

    if (fresh > 0)
        node_path_own(path, r->m, core, place->fresh, reads * fresh,
                      writes * fresh);
    if (fresh < 1)
        node_path_own(path, r->m, core, place->warm, reads * (1 - fresh),
                      writes * (1 - fresh));
}

/* The part of a span of step id that is in memory. */
static double memory_of(const struct node_run *r, uint32_t id, enum span span)
{
    const struct node_place *place = place_of(r, id);
    const double fresh = (double)node_step_of(r, id)->fresh[span];

    return fresh * place->fresh.memory + (1 - fresh) * place->warm.memory;
}

/* ---- Sends --------------------------------------------------------------- */

/* The rank of those that read the send's data that is farthest from it. */
static uint32_t farthest_reader(const struct node_run *r, uint32_t id)
{
    uint32_t far = peer_of(r, id);
    const uint32_t own = node_rank_of(r, id);

    for (uint32_t i = node_step_of(r, id)->next; i != NODE_NONE;
         i = node_segment_of(r, id)->steps[i].next) {
        const uint32_t peer = peer_of(r, node_beside(r, id, i));

        if (node_latency(r, own, peer) > node_latency(r, own, far))
            far = peer;
    }
    return far;
}

static double begin_send(struct node_run *r, uint32_t id)
{
    const struct node_machine *m = r->m;
    const struct node_state *state = &r->states[id];
    const size_t total = node_bytes(r, id);
    const size_t readers = node_step_of(r, id)->reader + 1;
    const size_t lines = (readers + m->readers - 1) / m->readers;

    r->workers[node_rank_of(r, id)].bytes =
        r->call->lane.staging == NODE_DIRECT
            ? total
            : least(m->chunk, total - state->done);
    return (state->done == 0 ? m->send : 0) + (double)lines * m->flag;
}

static void send_path(const struct node_run *r, uint32_t id,
                      struct node_path *path)
{
    const uint32_t own = node_rank_of(r, id);
    const bool copies = r->call->lane.staging == NODE_COPIES;

    if (is_short(r, id) || r->call->lane.staging == NODE_DIRECT)
        return;
    add_own(r, id, LEFT, 1, 0, path);
    node_path_take(path, r->m, core_of(r, farthest_reader(r, id)),
                   core_of(r, own), copies);
    path->seconds += r->m->line / NODE_LINE;
    node_path_complete(path, r->m->copy);
}

/* ---- Receives ------------------------------------------------------------ */

/* Add a byte that step id, of a rank, reads from the sender of receive. */
static void add_read(const struct node_run *r, uint32_t receive,
                     struct node_path *path)
{
    const uint32_t send =
        node_beside(r, receive, node_step_of(r, receive)->partner);
    double memory = 0;

    if (is_short(r, receive))
        return;
    if (r->call->lane.staging == NODE_DIRECT)
        memory = memory_of(r, send, LEFT);
    node_path_read(path, r->m, core_of(r, node_rank_of(r, send)),
                   core_of(r, node_rank_of(r, receive)), memory);
    path->seconds += r->m->line / NODE_LINE;
}

/* The reduction that consumes the data of a receive as they arrive; NODE_NONE:
 * they are stored. */
static uint32_t consumer_of(const struct node_run *r, uint32_t id)
{
    const uint32_t sink = node_plan_step(r, id)->sink;
    const struct simulated_rank *rank =
        &node_segment_of(r, id)->piece->s->ranks[node_rank_of(r, id)];

    return sink == 0
               ? NODE_NONE
               : node_beside(r, id, (uint32_t)rank->first_step + sink - 1);
}

static double begin_recv(struct node_run *r, uint32_t id)
{
    struct node_state *state = &r->states[id];
    const bool is_operand = node_step_of(r, id)->is_operand;
    const uint32_t consumer = is_operand ? NODE_NONE : consumer_of(r, id);
    const size_t there = state->known - state->done;
    const bool begins = state->done == 0;

    if (begins && consumer != NODE_NONE)
        state->is_consumed = r->states[consumer].waits == 1;
    r->workers[node_rank_of(r, id)].bytes =
        is_operand ? there : least(r->m->chunk, there);
    return (begins ? r->m->recv : 0) +
           (is_operand || is_short(r, id)
                ? 0
                : node_latency(r, node_rank_of(r, id), peer_of(r, id)));
}

static void recv_path(const struct node_run *r, uint32_t id,
                      struct node_path *path)
{
    const struct rcx_step *step = node_plan_step(r, id);
    uint32_t consumer;
    bool is_left;

    if (node_step_of(r, id)->is_operand || is_short(r, id))
        return;
    add_read(r, id, path);
    if (!r->states[id].is_consumed) {
        add_own(r, id, DST, 0, 1, path);
        node_path_complete(path, r->m->copy);
        return;
    }
    consumer = consumer_of(r, id);
    is_left = node_plan_step(r, consumer)->left == step->dst &&
              node_plan_step(r, consumer)->left_at == step->dst_at;
    add_own(r, consumer, is_left ? RIGHT : LEFT, 1, 0, path);
    add_own(r, consumer, DST, 0, 1, path);
    node_path_complete(path, r->m->combine);
}

/* ---- Local work ---------------------------------------------------------- */

static bool is_pass(const struct node_run *r, uint32_t id)
{
    return kind_of(r, id) == RCX_STEP_REDUCE &&
           node_step_of(r, id)->before != NODE_NONE;
}

uint32_t node_work_source(const struct node_run *r, uint32_t id)
{
    const struct node_worker *w = &r->workers[node_rank_of(r, id)];
    uint32_t source;

    if (!is_pass(r, id))
        return NODE_NONE;
    source = node_segment_of(r, id)->steps[w->part].source[w->right];
    return source == NODE_NONE ? NODE_NONE : node_beside(r, id, source);
}

/* Skip operands that are results of the pass itself. False: there is no further
 * operand. */
static bool skip_inner(const struct node_run *r, uint32_t id)
{
    struct node_worker *w = &r->workers[node_rank_of(r, id)];
    const struct node_step *steps = node_segment_of(r, id)->steps;

    while (w->part != NODE_NONE && steps[w->part].inner[w->right]) {
        if (w->right)
            w->part = steps[w->part].before;
        w->right = !w->right;
    }
    return w->part != NODE_NONE;
}

bool node_work_next(struct node_run *r, uint32_t id)
{
    struct node_worker *w = &r->workers[node_rank_of(r, id)];

    if (!is_pass(r, id))
        return false;
    if (w->right)
        w->part = node_segment_of(r, id)->steps[w->part].before;
    w->right = !w->right;
    return skip_inner(r, id);
}

double node_work_delay(const struct node_run *r, uint32_t id)
{
    const uint32_t source = node_work_source(r, id);

    return source == NODE_NONE || is_short(r, source)
               ? 0
               : node_latency(r, node_rank_of(r, id), peer_of(r, source));
}

static double begin_local(struct node_run *r, uint32_t id)
{
    struct node_worker *w = &r->workers[node_rank_of(r, id)];

    w->bytes = node_bytes(r, id);
    w->part = id - node_segment_of(r, id)->first;
    w->right = false;
    if (is_pass(r, id))
        skip_inner(r, id);
    return node_work_delay(r, id);
}

/* One operand of a pass; the first one has the writing of the result. */
static void pass_path(const struct node_run *r, uint32_t id,
                      struct node_path *path)
{
    const struct node_worker *w = &r->workers[node_rank_of(r, id)];
    const uint32_t part = node_beside(r, id, w->part);
    const uint32_t source = node_work_source(r, id);

    if (source != NODE_NONE)
        add_read(r, source, path);
    else
        add_own(r, part, w->right ? RIGHT : LEFT, 1, 0, path);
    if (r->states[id].done == 0)
        add_own(r, id, DST, 0, 1, path);
    node_path_complete(path, r->m->combine);
}

static void local_path(const struct node_run *r, uint32_t id,
                       struct node_path *path)
{
    if (is_pass(r, id)) {
        pass_path(r, id, path);
        return;
    }
    add_own(r, id, LEFT, 1, 0, path);
    if (kind_of(r, id) == RCX_STEP_REDUCE)
        add_own(r, id, RIGHT, 1, 0, path);
    add_own(r, id, DST, 0, 1, path);
    node_path_complete(path, kind_of(r, id) == RCX_STEP_REDUCE ? r->m->combine
                                                               : r->m->copy);
}

/* ---- All kinds ----------------------------------------------------------- */

double node_work_begin(struct node_run *r, uint32_t id)
{
    switch (kind_of(r, id)) {
    case RCX_STEP_SEND: return begin_send(r, id);
    case RCX_STEP_RECV: return begin_recv(r, id);
    default: return begin_local(r, id);
    }
}

void node_work_path(struct node_run *r, uint32_t id, struct node_path *path)
{
    path->uses = 0;
    path->seconds = path->own = 0;
    switch (kind_of(r, id)) {
    case RCX_STEP_SEND: send_path(r, id, path); break;
    case RCX_STEP_RECV: recv_path(r, id, path); break;
    default: local_path(r, id, path); break;
    }
}
