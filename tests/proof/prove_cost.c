/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the cost that an algorithm states with the simulated case: the
 * clock, links between nodes, and the messages of ranks. */
#include "prove_state.h"

#include "sim/links.h"
#include "sim/timing.h"

static size_t round_up(size_t count, size_t unit)
{
    return (count + unit - 1) / unit * unit;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static struct rcx_cost largest_cost(struct rcx_cost a, struct rcx_cost b)
{
    return (struct rcx_cost){.rounds = larger(a.rounds, b.rounds),
                             .volume = larger(a.volume, b.volume),
                             .combines = larger(a.combines, b.combines)};
}

/* Whether nodes, or the groups of a coarser level, differ in size. */
static bool are_uneven(const struct rcx_nodes *nodes)
{
    for (; nodes; nodes = nodes->outer)
        if (nodes->least < nodes->most)
            return true;
    return false;
}

/* Return the cost if every block is as long as the longest. Algorithms divide
 * the vector into a block per rank, or per rank of the largest power of two. */
static struct rcx_cost cost_bound(const struct proof *p)
{
    const struct rcx_algo *algo = p->c->algo;
    const struct rcx_shape *given = &p->call.shape;
    const struct rcx_blocks blocks = rcx_blocks_of(given);
    struct rcx_shape s = *given;
    struct rcx_cost bound = algo->cost(&s);

    /* Parts of a share may be an element longer than others, in each round and
     * for each rank, in both directions. */
    if (given->nodes) {
        /* in program order a message to a late node delays those behind it */
        bound.rounds += are_uneven(given->nodes);
        bound.volume += 2 * (bound.rounds + s.size);
        bound.combines += 2 * (bound.rounds + s.size);
        return bound;
    }
    s.displs = NULL;
    s.count = rcx_blocks_largest(&blocks) * (size_t)s.size;
    bound = largest_cost(bound, algo->cost(&s));
    if (given->displs)
        return bound;
    s.count = round_up(given->count, (size_t)rcx_pow2_floor(s.size));
    return largest_cost(bound, algo->cost(&s));
}

/* Return how many blocks the parameter "blocks" of the algorithm asks for; 1:
 * there is no such parameter. */
static size_t blocks_asked(const struct proof *p)
{
    const struct rcx_algo *algo = p->c->algo;
    const struct rcx_param *blocks = rcx_params_find(algo, "blocks");

    return blocks ? (size_t)p->call.shape.params[blocks - algo->params] : 1;
}

/* Return how many messages of a rank its cost does not cover, at most: blocks
 * longer than the parameter "limit" are sent one by one. */
static double rounds_beside(const struct proof *p)
{
    const struct rcx_algo *algo = p->c->algo;
    const struct rcx_param *limit = rcx_params_find(algo, "limit");

    for (int r = 0; limit && r < p->s.size; r++) {
        const struct rcx_shape *s = &p->s.ranks[r].shape;
        const struct rcx_blocks blocks = rcx_blocks_of(s);

        if (rcx_blocks_largest(&blocks) * s->elem_bytes >
            (uint64_t)s->params[limit - algo->params])
            return s->size - 1;
    }
    return 0;
}

/* Whether the cost must be met exactly: blocks are equal and not empty, and so
 * are nodes and the shares of up to three of their ranks. */
static bool is_even(const struct proof *p)
{
    const struct rcx_shape *s = &p->call.shape;
    const size_t cube = (size_t)rcx_pow2_floor(s->size);

    if (s->nodes &&
        (are_uneven(s->nodes) || s->count % (PROOF_SHARES * cube) != 0))
        return false;
    return s->count > 0 && s->count % blocks_asked(p) == 0 && !s->displs &&
           s->count % (size_t)s->size == 0 && s->count % cube == 0;
}

static bool check_price(struct proof *p, const char *name, double measured,
                        double stated, double bound, bool exact)
{
    /* chosen phases may divide a share into unequal parts */
    const double parts = p->call.shape.nodes ? 0.1 : 0;
    const double slack = 1e-6 * (1 + bound) + 0.2 * parts * bound;
    const double least = (1 - parts) * stated - slack;

    if (measured > bound + slack)
        return proof_fail(p, "%s are %g, the cost says at most %g", name,
                          measured, bound);
    if (exact && (measured < least || measured > stated + slack))
        return proof_fail(p, "%s are %g, the cost says %g", name, measured,
                          stated);
    return true;
}

/* Check what crosses the only level, of a cost that is exact: if nodes are out
 * of step, a round of one overlaps another round of the next. */
static bool check_one_level(struct proof *p, const struct rcx_crossing *said,
                            const struct rcx_nodes *nodes)
{
    struct rcx_cost c;

    if (!simulation_links(&p->s, nodes, &c))
        return proof_fail(p, "%s", p->s.text);
    return check_price(p, "rounds between nodes", c.across[nodes->level].rounds,
                       said->rounds, said->rounds, true) &&
           (proof_is_barrier(p) ||
            check_price(p, "elements over a link",
                        c.across[nodes->level].volume, said->volume,
                        said->volume, true));
}

/* Check that no link of the finest level carries more than is stated. What a
 * phase among nodes, if it is not by nodes itself, sends over coarser levels is
 * an estimate. */
static bool check_finest(struct proof *p, const struct rcx_crossing *said,
                         const struct rcx_nodes *nodes)
{
    const double most = simulation_busiest_link(&p->s, nodes);

    if (most < 0)
        return proof_fail(p, "%s", p->s.text);
    return proof_is_barrier(p) ||
           check_price(p, "elements over a link", most, said->volume,
                       said->volume, false);
}

/* For algorithms by nodes. */
static bool check_links(struct proof *p, const struct rcx_cost *stated)
{
    const struct rcx_nodes *nodes = p->call.shape.nodes;

    if (!p->c->algo->is_by_nodes || !nodes)
        return true;
    return nodes->coarser
               ? check_finest(p, &stated->across[nodes->level], nodes)
               : check_one_level(p, &stated->across[nodes->level], nodes);
}

/* Check that a cost which is exact does not state too much to be less within a
 * node. */
static bool check_saving(struct proof *p, const struct rcx_cost *stated)
{
    const double rounds = stated->rounds - stated->saved.rounds;
    const double volume = stated->volume - stated->saved.volume;
    double waited, copied;

    if (p->c->algo->is_by_nodes || stated->saved.rounds <= 0)
        return true;
    if (!simulation_clock_in_node(&p->s, &waited, &copied))
        return proof_fail(p, "%s", p->s.text);
    return check_price(p, "rounds that wait", waited, rounds, rounds, false) &&
           (proof_is_barrier(p) ||
            check_price(p, "elements copied within a node", copied, volume,
                        volume, false));
}

/* Check that a cost does not state too much to be idle time of all ranks, or of
 * the busiest one. Phases of nodes that differ make both an estimate. */
static bool check_loads(struct proof *p, const struct rcx_cost *stated)
{
    const struct simulation_loads l = simulation_loads(&p->s);
    const double size = p->call.shape.size;
    const double sent = size * (stated->rounds - stated->idle);
    const double rounds = stated->rounds - stated->slack.rounds;
    const double volume = stated->volume - stated->slack.volume;

    if (p->c->algo->is_by_nodes)
        return true;
    if (stated->idle > 0 &&
        !check_price(p, "messages of all ranks", l.messages, sent, sent, false))
        return false;
    return stated->slack.rounds <= 0 ||
           (check_price(p, "messages of the busiest rank", l.rounds, rounds,
                        rounds, false) &&
            (proof_is_barrier(p) ||
             check_price(p, "elements of the busiest rank", l.volume, volume,
                         volume, false)));
}

bool proof_check_cost(struct proof *p)
{
    const struct rcx_cost stated = p->c->algo->cost(&p->call.shape);
    struct rcx_cost bound = cost_bound(p);
    const bool is_local = proof_coll(p->c)->is_local;
    const bool exact =
        (proof_is_barrier(p) && !are_uneven(p->call.shape.nodes)) ||
        (is_even(p) && !is_local);
    struct rcx_cost *c = &p->report->cost;

    if (p->c->algo->passing) /* the cost covers two equal steps */
        bound.rounds /= 2;
    bound.rounds += rounds_beside(p);
    if (!simulation_clock(&p->s, c))
        return proof_fail(p, "%s", p->s.text);
    if (!check_price(p, "rounds", c->rounds, stated.rounds, bound.rounds,
                     exact) ||
        (exact && (!check_links(p, &stated) || !check_saving(p, &stated) ||
                   !check_loads(p, &stated))))
        return false;
    return proof_is_barrier(p) || is_local ||
           (check_price(p, "elements sent", c->volume, stated.volume,
                        bound.volume, exact) &&
            check_price(p, "elements combined", c->combines, stated.combines,
                        bound.combines, exact));
}
