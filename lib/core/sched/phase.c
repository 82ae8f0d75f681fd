/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases: an algorithm as a part of another one. Derives the shape of a phase,
 * prices it, checks it, and builds it in a frame.
 */
#include "core/sched/phase.h"

#include <string.h>

#include "core/sched/price.h"

void rcx_phase_build(struct rcx_builder *b, const struct rcx_algo *algo,
                     struct rcx_shape *s, struct rcx_frame *f)
{
    if (b->status != RCX_OK)
        return;
    f->outer = b->frame;
    f->shape = b->shape;
    if (!rcx_frame_find_alias(f, s)) {
        rcx_builder_refuse(b, "a phase's result overlaps part of its operand");
        return;
    }
    b->frame = f;
    b->shape = s;
    algo->build(b, s);
    b->frame = f->outer;
    b->shape = f->shape;
}

struct rcx_phase rcx_phase_of(const struct rcx_algo *algo)
{
    struct rcx_phase phase = {.algo = algo};

    rcx_params_reset(algo, phase.params);
    return phase;
}

/* The shape of a phase of so many ranks and elements, without parameters. */
static struct rcx_shape shape_in(const struct rcx_shape *outer,
                                 struct rcx_scope scope, enum rcx_coll coll,
                                 int size, size_t count)
{
    return (struct rcx_shape){.coll = coll,
                              .size = size,
                              .count = count,
                              .elem_bytes = outer->elem_bytes,
                              .commutative = outer->commutative,
                              .nodes = scope.nodes,
                              .inner = scope.inner,
                              .crosses = scope.crosses,
                              .leaders = scope.leaders,
                              .beside = scope.beside,
                              .alike = scope.alike,
                              .longest = scope.longest,
                              .cores = outer->cores,
                              .segments = outer->segments,
                              .window = outer->window,
                              .machine = outer->machine};
}

struct rcx_shape rcx_phase_shape(const struct rcx_phase *phase,
                                 const struct rcx_shape *outer, int size,
                                 size_t count)
{
    struct rcx_shape s =
        shape_in(outer, phase->scope, phase->algo->coll, size, count);

    s.root = phase->root;
    s.displs = phase->displs;
    memcpy(s.params, phase->params, sizeof s.params);
    rcx_params_settle(phase->algo, &s);
    return s;
}

/* ---- Prices -------------------------------------------------------------- */

struct rcx_scope rcx_scope_within(const struct rcx_shape *s)
{
    return (struct rcx_scope){.inner = s->nodes->finer,
                              .beside = s->beside,
                              .alike = s->nodes->count * rcx_shape_alike(s)};
}

/* Phases that run beside the one around it run beside this one as well. */
struct rcx_scope rcx_scope_between(const struct rcx_shape *s, int leaders)
{
    return (struct rcx_scope){.nodes = s->nodes->outer,
                              .inner = s->nodes->finer,
                              .crosses = (int)s->nodes->level + 1,
                              .leaders = leaders,
                              .beside =
                                  leaders * (s->beside > 0 ? s->beside : 1),
                              .alike = leaders * rcx_shape_alike(s)};
}

/* Make idle, a mean over the ranks of a phase, one over all ranks: those that
 * have no part in it are idle in all its rounds. */
static double spread(double rounds, double idle, double part)
{
    return rounds - (rounds - idle) * part;
}

struct rcx_cost rcx_phase_cost(const struct rcx_phase *phase,
                               const struct rcx_shape *outer, int size,
                               size_t count)
{
    const struct rcx_shape s = rcx_phase_shape(phase, outer, size, count);
    const double part =
        rcx_shape_taking_part(&s) / rcx_shape_taking_part(outer);
    struct rcx_cost cost = rcx_cost_of(phase->algo, &s);

    if (part >= 1)
        return cost;
    cost.idle = spread(cost.rounds, cost.idle, part);
    for (int l = 0; l < RCX_LEVELS; l++)
        cost.across[l].idle =
            spread(cost.across[l].rounds, cost.across[l].idle, part);
    return cost;
}

struct rcx_phase rcx_phase_cheapest(enum rcx_coll coll, rcx_order_t needed,
                                    const struct rcx_shape *outer, int size,
                                    size_t count, struct rcx_scope scope)
{
    struct rcx_shape s = shape_in(outer, scope, coll, size, count);
    struct rcx_phase best = {.algo = rcx_price_cheapest(&s, needed, NULL),
                             .scope = scope};

    best.scope.nodes = s.nodes; /* those that the algorithm divides by */
    best.scope.longest = count;
    memcpy(best.params, s.params, sizeof best.params);
    return best;
}

/* ---- Writing ------------------------------------------------------------- */

/* Number of elements of the phase's vector. in or out is the whole vector,
 * except in gather and scatter, where the length follows from blocks. */
static size_t vector_of(const struct rcx_phase *phase, int size,
                        const struct rcx_frame *f)
{
    const struct rcx_coll_row *coll = &rcx_colls[phase->algo->coll];
    const bool gives_block = coll->gives == RCX_EXTENT_BLOCK;

    if (gives_block && coll->getter == RCX_RANKS_ALL)
        return f->out.count;
    if (!gives_block && coll->giver != RCX_RANKS_ROOT)
        return f->in.count;
    if (coll->gets == RCX_EXTENT_VECTOR)
        return f->out.count;
    return phase->displs
               ? phase->displs[size]
               : (gives_block ? f->in.count : f->out.count) * (size_t)size;
}

/* Return why the phase is not valid; NULL: it is valid. */
static const char *fault_of(const struct rcx_shape *s,
                            const struct rcx_shape *outer,
                            const struct rcx_frame *f)
{
    const size_t operand = rcx_shape_in_count(s);
    const size_t result = rcx_shape_out_count(s);

    if (rcx_group_member(f->group, s->rank) != outer->rank)
        return "a phase's group does not map its own index to this rank";
    if (s->root < 0 || s->root >= s->size)
        return "a phase's root is not a member of its group";
    if (s->displs && (s->displs[0] != 0 || s->displs[s->size] != s->count))
        return "a phase's blocks do not cover its vector";
    if (operand > 0 && f->in.count != operand)
        return "a phase's operand has the wrong length";
    if (result > 0 && f->out.count != result)
        return "a phase's result has the wrong length";
    return NULL;
}

void rcx_sched_within(struct rcx_builder *b, const struct rcx_phase *phase,
                      const struct rcx_group *g, struct rcx_span in,
                      struct rcx_span out)
{
    const struct rcx_algo *algo = phase->algo;
    struct rcx_shape s;
    struct rcx_frame f = {.group = g, .in = in, .out = out};
    const char *fault;

    if (b->status != RCX_OK || g->rank < 0)
        return;
    s = rcx_phase_shape(phase, b->shape, g->size,
                        vector_of(phase, g->size, &f));
    s.rank = g->rank;
    fault = fault_of(&s, b->shape, &f);
    if (fault) {
        rcx_builder_refuse(b, fault);
        return;
    }
    if (!rcx_algo_fits(algo, &s)) {
        b->status = rcx_fail(b->log, RCX_ERR_UNSUPPORTED,
                             "%s %s does not work as a phase on %d ranks: it "
                             "needs %s",
                             rcx_coll_name(algo->coll), algo->name, s.size,
                             algo->needs);
        return;
    }
    if (rcx_shape_in_count(&s) == 0)
        f.in.count = 0;
    if (rcx_shape_out_count(&s) == 0)
        f.out.count = 0;
    rcx_phase_build(b, algo, &s, &f);
}
