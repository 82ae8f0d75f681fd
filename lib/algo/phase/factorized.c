/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reduction and routing phases of factorized algorithms, with their costs
 * and parameters, for allreduce, reduce and reduce-scatter. rounds.c tells
 * which ranks meet; factorized.h describes the steps.
 */
#include "algo/phase/factorized.h"

#include "algo/phase/bruck.h"
#include "algo/phase/pairwise.h"
#include "algo/phase/tree.h"

/* ---- Parts of the vector ------------------------------------------------- */

/* Return into how many parts a meeting may split the vector. */
static int ways(const struct rcx_meeting *m)
{
    return m->kind == RCX_MEETING_SWAP        ? m->size
           : m->kind == RCX_MEETING_THREE_TWO ? 2
                                              : 1;
}

/* Return how many members of a meeting go on, with a part each or the whole
 * vector: places 0, 1, ... */
static int keepers(const struct rcx_meeting *m)
{
    return m->kind == RCX_MEETING_TWO_ONE ? 1 : ways(m);
}

/* Whether the rule of Fig. 1 splits a part that is 1/parts of the vector.
 * The answer is the same on all ranks, though their parts may differ by an
 * element. */
static bool splits(const struct rcx_factorized *f, const struct rcx_shape *s,
                   const struct rcx_meeting *m, size_t parts)
{
    return ways(m) > 1 &&
           (f->b == RCX_FACTORIZED_ALWAYS ||
            rcx_shape_longest(s) / parts * s->elem_bytes > (uint64_t)f->b);
}

int rcx_factorized_ways(const struct rcx_factorized *f,
                        const struct rcx_shape *s, const struct rcx_meeting *m,
                        int parts)
{
    return splits(f, s, m, (size_t)parts) ? ways(m) : 1;
}

static struct rcx_span part_of(const struct rcx_factorized_round *round, int i)
{
    return round->splits ? rcx_span_part(round->part, ways(&round->meeting), i)
                         : round->part;
}

static int peer_of(const struct rcx_factorized *f,
                   const struct rcx_factorized_round *round, int place)
{
    return rcx_group_member(&f->group,
                            rcx_meeting_rank(&round->meeting, place));
}

/* Return the members of a ring or butterfly step. If there are rings, the
 * members of f are evenly spaced. */
static struct rcx_group ring_of(const struct rcx_shape *s,
                                const struct rcx_factorized *f,
                                const struct rcx_factorized_round *round)
{
    const int zero = peer_of(f, round, 0);

    return rcx_group_strided(s, zero, peer_of(f, round, 1) - zero,
                             round->meeting.size);
}

/* ---- Reduction phase ----------------------------------------------------- */

struct walk {
    struct rcx_builder *b;
    const struct rcx_factorized *f;
    struct rcx_factorized_round *round;
    struct rcx_span result;
    struct rcx_span held; /* where partial results are: operand, then result */
    struct rcx_span scratch[2]; /* used in turns, so that receives are early */
    int turn;
};

/* Return where the partial result for part of result lies. */
static struct rcx_span held(const struct walk *w, struct rcx_span part)
{
    return rcx_span_sub(w->held, part.offset - w->result.offset, part.count);
}

static struct rcx_span scratch(struct walk *w, size_t count)
{
    struct rcx_span *span = &w->scratch[w->turn];

    w->turn = 1 - w->turn;
    if (span->count < count)
        *span = rcx_span_scratch(w->b, count);
    return rcx_span_sub(*span, 0, count);
}

/* Whether place i continues with its part after the round. */
static bool goes_on(const struct rcx_factorized_round *round, int i)
{
    return (round->only == RCX_FACTORIZED_ALL || round->only == i) &&
           !rcx_meeting_eliminates(&round->meeting, i);
}

/* Send part i, which place i continues with, to place to. */
static void give(struct walk *w, int to, int i)
{
    if (!goes_on(w->round, i))
        return;
    rcx_step_send(w->b, peer_of(w->f, w->round, to),
                  held(w, part_of(w->round, i)));
}

/* Receive part i, which place i continues with, from place from, and combine it
 * with mine. */
static void take(struct walk *w, int from, int i)
{
    const struct rcx_span sum = part_of(w->round, i);
    const struct rcx_span mine = held(w, sum);
    struct rcx_span theirs;

    if (!goes_on(w->round, i))
        return;
    theirs = scratch(w, sum.count);
    rcx_step_recv(w->b, peer_of(w->f, w->round, from), theirs);
    if (from < w->round->meeting.place)
        rcx_step_reduce(w->b, sum, theirs, mine);
    else
        rcx_step_reduce(w->b, sum, mine, theirs);
    w->held = w->result;
}

static void butterfly(struct walk *w)
{
    const int me = w->round->meeting.place, other = 1 - me;

    give(w, other, other);
    take(w, other, me);
}

/* Combine all vectors of a ring on its member root. */
static void ring_to(struct walk *w, const struct rcx_group *g, int root)
{
    const struct rcx_span sum = w->round->part, mine = held(w, sum);
    struct rcx_combiner combiner;

    if (g->rank != root) {
        rcx_step_send(w->b, rcx_group_member(g, root), mine);
        return;
    }
    rcx_combiner_init(&combiner, w->b, g->size, sum);
    rcx_combiner_add(&combiner, root, mine);
    for (int t = 1; t < g->size; t++) {
        const int from = (root + g->size - t) % g->size;
        const struct rcx_span theirs = rcx_combiner_slot(&combiner);

        rcx_step_recv(w->b, rcx_group_member(g, from), theirs);
        rcx_combiner_add(&combiner, from, theirs);
    }
}

/* Whether each member of a step sends to each other one. */
static bool is_direct(const struct rcx_factorized *f,
                      const struct rcx_meeting *m)
{
    return m->kind == RCX_MEETING_SWAP && m->size <= f->how.radix;
}

static void ring(struct walk *w)
{
    const struct rcx_factorized_round *round = w->round;
    const struct rcx_group g = ring_of(w->b->shape, w->f, round);
    const struct rcx_blocks blocks = {.count = round->part.count, .n = g.size};

    if (round->splits)
        rcx_pairwise_reduce_scatter(w->b, &g, &blocks, held(w, round->part),
                                    part_of(round, g.rank));
    else if (round->only != RCX_FACTORIZED_ALL)
        ring_to(w, &g, round->only);
    else if (is_direct(w->f, &round->meeting))
        rcx_pairwise_allreduce(w->b, &g, held(w, round->part), round->part);
    else
        rcx_bruck_allreduce(w->b, &g, held(w, round->part), round->part);
    w->held = w->result;
}

static void three_two(struct walk *w)
{
    switch (w->round->meeting.place) {
    case 0:
        give(w, 1, 1);
        take(w, 2, 0);
        break;
    case 1:
        give(w, 2, 0);
        take(w, 2, 1);
        take(w, 0, 1);
        break;
    default:
        give(w, 1, 1);
        take(w, 1, 0);
        give(w, 0, 0);
    }
}

static void two_one(struct walk *w)
{
    if (w->round->meeting.place == 0)
        take(w, 1, 0);
    else
        give(w, 0, 0);
}

static void reduce(struct walk *w)
{
    const struct rcx_meeting *m = &w->round->meeting;

    if (m->kind == RCX_MEETING_THREE_TWO)
        three_two(w);
    else if (m->kind == RCX_MEETING_TWO_ONE)
        two_one(w);
    else if (m->kind == RCX_MEETING_SWAP && m->size == 2)
        butterfly(w);
    else if (m->kind == RCX_MEETING_SWAP)
        ring(w);
}

/* Return the only place that continues, in all meetings of a round: the
 * root's place, or that from which an eliminated root gets the result.
 * RCX_FACTORIZED_ALL if the round splits the vector, or its meeting never
 * does. */
static int only_place(const struct rcx_factorized_round *round,
                      const struct rcx_meeting *roots)
{
    const int last = keepers(roots) - 1;

    if (round->splits || ways(&round->meeting) == 1)
        return RCX_FACTORIZED_ALL;
    return roots->place < last ? roots->place : last;
}

void rcx_factorized_reduce(struct rcx_builder *b,
                           const struct rcx_factorized *f, int root,
                           struct rcx_span operand, struct rcx_span result,
                           struct rcx_factorized_stack *stack)
{
    const struct rcx_span none = {.buffer = RCX_BUFFER_TMP};
    const bool all = root == RCX_FACTORIZED_ALL;
    struct walk w = {.b = b,
                     .f = f,
                     .result = result,
                     .held = operand,
                     .scratch = {none, none}};
    struct rcx_span part = result;
    struct rcx_meeting m, roots;
    struct rcx_rounds mine, other;
    size_t parts = 1;

    stack->depth = 0;
    if (f->group.size == 1)
        rcx_step_copy(b, result, operand);
    rcx_rounds_begin(&mine, f->group.size, f->group.rank, &f->how);
    rcx_rounds_begin(&other, f->group.size, all ? 0 : root, &f->how);
    while (rcx_rounds_next(&mine, &m)) {
        const int root_group = other.group;

        rcx_rounds_next(&other, &roots);
        w.round = &stack->rounds[stack->depth++];
        *w.round = (struct rcx_factorized_round){
            .meeting = m,
            .part = part,
            .root = root_group - m.group,
            .splits = splits(f, b->shape, &m, parts)};
        w.round->only = all ? RCX_FACTORIZED_ALL : only_place(w.round, &roots);
        reduce(&w);
        if (!goes_on(w.round, m.place))
            return;
        if (w.round->splits)
            parts *= (size_t)ways(&m);
        part = part_of(w.round, m.place);
    }
}

/* ---- Routing phase ------------------------------------------------------- */

struct route {
    struct rcx_builder *b;
    const struct rcx_factorized *f;
    const struct rcx_factorized_round *round;
};

static void put(const struct route *r, int to, int i)
{
    rcx_step_send(r->b, peer_of(r->f, r->round, to), part_of(r->round, i));
}

static void get(const struct route *r, int from, int i)
{
    rcx_step_recv(r->b, peer_of(r->f, r->round, from), part_of(r->round, i));
}

static void swap_back(const struct route *r)
{
    const struct rcx_group g = ring_of(r->b->shape, r->f, r->round);
    const struct rcx_blocks blocks = {.count = r->round->part.count,
                                      .n = g.size};
    const bool direct = is_direct(r->f, &r->round->meeting);

    if (r->round->splits)
        rcx_bruck_allgather(r->b, &g, &blocks, direct ? g.size : 2,
                            r->round->part);
}

/* Without a split, p1 sends the result to p2. With a split this is the 3-2 step
 * in reverse: p0 sends its half to p2 and p1 the other half to p0, then p1 and
 * p2 exchange halves. */
static void three_two_back(const struct route *r)
{
    const int place = r->round->meeting.place;

    if (!r->round->splits) {
        if (place == 1)
            put(r, 2, 1);
        else if (place == 2)
            get(r, 1, 1);
    } else if (place == 0) {
        put(r, 2, 0);
        get(r, 1, 1);
    } else if (place == 1) {
        put(r, 0, 1);
        put(r, 2, 1);
        get(r, 2, 0);
    } else {
        get(r, 0, 0);
        put(r, 1, 0);
        get(r, 1, 1);
    }
}

void rcx_factorized_allgather(struct rcx_builder *b,
                              const struct rcx_factorized *f,
                              const struct rcx_factorized_stack *stack)
{
    for (int i = stack->depth - 1; i >= 0; i--) {
        const struct route r = {.b = b, .f = f, .round = &stack->rounds[i]};
        const struct rcx_meeting *m = &r.round->meeting;

        if (m->kind == RCX_MEETING_SWAP)
            swap_back(&r);
        else if (m->kind == RCX_MEETING_THREE_TWO)
            three_two_back(&r);
        else if (m->kind == RCX_MEETING_TWO_ONE && m->place == 0)
            put(&r, 1, 0);
        else if (m->kind == RCX_MEETING_TWO_ONE)
            get(&r, 0, 0);
    }
}

/* The root gets the parts of the others. If it was eliminated in a meeting
 * without a split, it gets the whole vector from the last place that went
 * on. */
static void gather_back(const struct route *r)
{
    const struct rcx_meeting *m = &r->round->meeting;
    const int root = r->round->root, n = keepers(m), last = n - 1;

    if (!r->round->splits) {
        if (root > last && m->place == last)
            put(r, root, last);
        else if (root > last && m->place == root)
            get(r, last, last);
        return;
    }
    for (int i = 0; i < n && m->place == root; i++)
        if (i != root)
            get(r, i, i);
    if (m->place != root && m->place < n)
        put(r, root, m->place);
}

void rcx_factorized_gather(struct rcx_builder *b,
                           const struct rcx_factorized *f,
                           const struct rcx_factorized_stack *stack)
{
    for (int i = stack->depth - 1; i >= 0; i--) {
        const struct route r = {.b = b, .f = f, .round = &stack->rounds[i]};

        if (r.round->root >= 0 && r.round->root < r.round->meeting.size)
            gather_back(&r);
    }
}

void rcx_factorized_allreduce(struct rcx_builder *b,
                              const struct rcx_factorized *f)
{
    struct rcx_factorized_stack stack;

    rcx_factorized_reduce(b, f, RCX_FACTORIZED_ALL, rcx_span_in(b->shape),
                          rcx_span_out(b->shape), &stack);
    rcx_factorized_allgather(b, f, &stack);
}

/* ---- Costs --------------------------------------------------------------- */

static void charge(struct rcx_cost *c, double rounds, double sent,
                   double combined)
{
    c->rounds += rounds;
    c->volume += sent;
    c->combines += combined;
}

/* Return the parts into which a meeting splits the vector, or as many vectors
 * as it combines. */
static struct rcx_blocks parts_of(const struct rcx_meeting *m, size_t part)
{
    return (struct rcx_blocks){.count = (size_t)ways(m) * part, .n = ways(m)};
}

/* A message beside others takes time of both of its ranks. In a step in which
 * all send and receive as much, a rank pays for both ends, which leaves half of
 * the saving, as the node model has it. */
static void halve_saved_rounds(struct rcx_cost *c)
{
    c->saved.rounds /= 2;
}

static struct rcx_cost whole_cost(const struct rcx_factorized *f,
                                  const struct rcx_meeting *m, double part)
{
    struct rcx_cost c;

    if (!is_direct(f, m))
        return rcx_bruck_allreduce_cost(ways(m), part);
    c = rcx_pairwise_allreduce_cost(m->size, part);
    halve_saved_rounds(&c);
    return c;
}

static struct rcx_cost back_cost(const struct rcx_factorized *f,
                                 const struct rcx_meeting *m,
                                 const struct rcx_blocks *parts)
{
    struct rcx_cost c;

    if (!is_direct(f, m))
        return rcx_bruck_allgather_cost(parts, 2);
    c = rcx_bruck_allgather_cost(parts, m->size);
    halve_saved_rounds(&c);
    return c;
}

static void charge_gather(struct rcx_cost *c, const struct rcx_meeting *m,
                          bool split, double part)
{
    const bool keeps = m->place < keepers(m);
    const double messages = split ? keepers(m) - keeps : !keeps;

    charge(c, messages, messages * part, 0);
}

/*
 * Return the cost of group 0. The second half of its first 3-2 step makes it
 * late in the reduction phase. In an allgather it is early by as much, but the
 * members that it eliminated take as long. So 3-2 steps cost no more than
 * butterfly steps, except that once. 2-1 steps happen at the same time. A
 * gather costs what the root receives.
 */
struct rcx_cost rcx_factorized_cost(const struct rcx_factorized *f,
                                    const struct rcx_shape *s, int root)
{
    const bool all = root < 0;
    const int back = root == RCX_FACTORIZED_ALL;
    struct rcx_cost c = {0};
    struct rcx_meeting m;
    struct rcx_rounds r;
    size_t parts = 1;
    bool is_late = false;

    rcx_rounds_begin(&r, f->group.size, all ? 0 : root, &f->how);
    while (rcx_rounds_next(&r, &m)) {
        const bool split = splits(f, s, &m, parts);
        struct rcx_blocks blocks;
        double part;

        if (split)
            parts *= (size_t)ways(&m);
        blocks = parts_of(&m, s->count / parts + (s->count % parts != 0));
        part = (double)rcx_blocks_largest(&blocks);
        /* all vectors to one place take as long as a pairwise exchange */
        c = rcx_cost_sum(c, split || !all
                                ? rcx_pairwise_reduce_scatter_cost(&blocks)
                                : whole_cost(f, &m, part));
        if (back && split)
            c = rcx_cost_sum(c, back_cost(f, &m, &blocks));
        else if (!all)
            charge_gather(&c, &m, split, part);
        if (r.units > 0 && !is_late) {
            charge(&c, 1 + back, (1 + back) * part, part);
            is_late = true;
        }
    }
    return c;
}

rcx_order_t rcx_factorized_order(const struct rcx_factorized *f)
{
    struct rcx_meeting m;
    struct rcx_rounds r;
    bool is_odd = false; /* a step before was no power of two */

    rcx_rounds_begin(&r, f->group.size, 0, &f->how);
    while (rcx_rounds_next(&r, &m)) {
        if (m.kind != RCX_MEETING_SWAP || is_odd)
            return RCX_ORDER_UNIFORM;
        is_odd = m.size != rcx_pow2_floor(m.size);
    }
    return RCX_ORDER_CANONICAL;
}

bool rcx_factorized_fits(const struct rcx_shape *s)
{
    return s->count <= SIZE_MAX / 2 / s->elem_bytes / (size_t)s->size;
}

/* ---- The parameters ------------------------------------------------------ */

const int64_t rcx_factorized_b_proved[] = {0, 256, INT64_MAX, RCX_PARAM_END};

int64_t rcx_factorized_b_candidate(const struct rcx_shape *s, int i)
{
    static const int64_t candidates[] = {
        0, 1 << 10, 1 << 12, 1 << 14, 1 << 16, INT64_MAX, RCX_PARAM_END};

    (void)s;
    return candidates[i];
}

const int64_t rcx_factorized_ring_max_proved[] = {5, RCX_PARAM_END};

int64_t rcx_factorized_ring_max_candidate(const struct rcx_shape *s, int i)
{
    static const int64_t candidates[] = {3, 5, 7, 11, 13, 23, 0, RCX_PARAM_END};

    (void)s;
    return candidates[i];
}

const int64_t rcx_factorized_radix_proved[] = {2, 4, 12, RCX_PARAM_END};

/* None is larger than the first that is not below p. */
int64_t rcx_factorized_radix_candidate(const struct rcx_shape *s, int i)
{
    static const int64_t candidates[] = {
        2, 3, 4, 6, 8, 9, 12, 16, 32, 64, RCX_PARAM_END};

    return i > 0 && candidates[i - 1] >= s->size ? RCX_PARAM_END
                                                 : candidates[i];
}

struct rcx_factoring rcx_factorized_how(int64_t ring_max, int64_t radix)
{
    return (struct rcx_factoring){
        .ring_max = ring_max == RCX_PARAM_AUTO ? 5 : (int)ring_max,
        .radix = radix == RCX_PARAM_AUTO ? 2 : (int)radix};
}
