/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All that an algorithm's author needs: the builder's verbs, spans, groups,
 * and the registry entry. Algorithms see nothing else of core.
 */
#ifndef RCX_CORE_SCHED_ALGO_H
#define RCX_CORE_SCHED_ALGO_H

#include "core/base/order.h"
#include "core/sched/coll.h"
#include "core/sched/nodes.h"
#include "core/sched/schedule.h"

/* ---- Steps --------------------------------------------------------------- */

void rcx_step_send(struct rcx_builder *b, int peer, struct rcx_span src);
void rcx_step_recv(struct rcx_builder *b, int peer, struct rcx_span dst);
/* dst = left op right; dst may equal left or right, or overlap neither. */
void rcx_step_reduce(struct rcx_builder *b, struct rcx_span dst,
                     struct rcx_span left, struct rcx_span right);
/* Nothing where dst and src are one place, as they may be in place. */
void rcx_step_copy(struct rcx_builder *b, struct rcx_span dst,
                   struct rcx_span src);

/*
 * The messages that follow, up to the next such call, are a pair: one to send,
 * one to receive, or several. They wait until the pair window pairs before is
 * complete, so that no more are posted at once; 0: they wait for none. No rank
 * waits for ever if all of them come to their pairs in one order: what a rank
 * sends in its pair t, its peer receives in its own pair t.
 */
void rcx_step_pair(struct rcx_builder *b, int window);

/* ---- Spans --------------------------------------------------------------- */

/* The whole operand; the whole result (empty where this rank has none). */
struct rcx_span rcx_span_in(const struct rcx_shape *s);
struct rcx_span rcx_span_out(const struct rcx_shape *s);
/* The vector of a bcast: the operand at the root, elsewhere the result. */
struct rcx_span rcx_span_vector(const struct rcx_shape *s);
/* Fresh scratch of count elements. */
struct rcx_span rcx_span_scratch(struct rcx_builder *b, size_t count);
/* count elements of span from its element offset on. */
static inline struct rcx_span rcx_span_sub(struct rcx_span span, size_t offset,
                                           size_t count)
{
    return (struct rcx_span){
        .buffer = span.buffer, .offset = span.offset + offset, .count = count};
}
/* Whether they have an element in common, as they are named. */
static inline bool rcx_span_meets(struct rcx_span a, struct rcx_span b)
{
    return a.buffer == b.buffer && a.offset < b.offset + b.count &&
           b.offset < a.offset + a.count;
}
/* Whether the two overlap without being equal, so that a combine or copy from
 * src to dst would garble src. */
bool rcx_span_clash(const struct rcx_shape *s, struct rcx_span dst,
                    struct rcx_span src);
/* Part i of n nearly equal parts: the first count % n have one more. */
struct rcx_span rcx_span_part(struct rcx_span span, int n, int i);

/* ---- Blocks: a vector cut into one block per rank ------------------------ */

struct rcx_blocks {
    const size_t *displs; /* starts, n + 1 of them; NULL: nearly equal parts */
    size_t count;
    int n;
};
/* Those that the call was given; nearly equal ones otherwise. */
struct rcx_blocks rcx_blocks_of(const struct rcx_shape *s);
/* Those of IN or OUT: OUT's differ where each rank gets others than it gives.
 */
struct rcx_blocks rcx_blocks_in(const struct rcx_shape *s,
                                enum rcx_buffer buffer);
/* Block i of a vector that lies at span. */
struct rcx_span rcx_block(const struct rcx_blocks *blocks, struct rcx_span span,
                          int i);
/* Blocks lo to hi - 1 of it, one at least. */
struct rcx_span rcx_block_range(const struct rcx_blocks *blocks,
                                struct rcx_span span, int lo, int hi);
size_t rcx_blocks_largest(const struct rcx_blocks *blocks);
/* The first block that ends behind an element, which is the one that it is in;
 * the last one if there is none. */
int rcx_block_at(const struct rcx_blocks *blocks, size_t element);

/* ---- Groups: an ordered subset of ranks, on which a phase works ---------- */

struct rcx_group {
    int size;
    int rank; /* mine among them; -1: not a member */
    /* the communicator's rank of member i, from the two numbers */
    int (*member)(const struct rcx_group *g, int i);
    int a, b;
    const int *list;
    const struct rcx_nodes *nodes;
};
struct rcx_group rcx_group_all(const struct rcx_shape *s);
/* Ranks first, first + stride, ... */
struct rcx_group rcx_group_strided(const struct rcx_shape *s, int first,
                                   int stride, int size);
/* The ranks of list, which outlives the schedule's writing. */
struct rcx_group rcx_group_listed(const struct rcx_shape *s, const int *list,
                                  int size);
/* The ranks of a node; those at one place of each node, which all nodes have;
 * the root and the first ones of the other nodes. */
struct rcx_group rcx_group_node(const struct rcx_shape *s, int node);
struct rcx_group rcx_group_across(const struct rcx_shape *s, int place);
struct rcx_group rcx_group_leaders(const struct rcx_shape *s);
/* The survivors of folding 0..2r-1 in pairs, even into odd: p - r ranks. */
struct rcx_group rcx_group_folded(const struct rcx_shape *s, int r);
static inline int rcx_group_member(const struct rcx_group *g, int i)
{
    return g->member(g, i);
}

/* ---- Numbers ------------------------------------------------------------- */

/* The largest power of two <= n, for n >= 1. */
static inline int rcx_pow2_floor(int n)
{
    return 1 << (31 - __builtin_clz((unsigned)n));
}
/* ceil(log2 n), for n >= 1 */
static inline int rcx_log2_ceil(int n)
{
    return n <= 1 ? 0 : 32 - __builtin_clz((unsigned)(n - 1));
}
static inline int rcx_log2_floor(int n)
{
    return 31 - __builtin_clz((unsigned)n);
}

/* ---- The registry -------------------------------------------------------- */

/*
 * The price of a schedule in the one-ported model: time = rounds * alpha +
 * volume * bytes * beta + combines * bytes * gamma, on the slowest rank.
 */
struct rcx_cost {
    double rounds;
    double volume;   /* elements sent one after another */
    double combines; /* elements combined one after another */
    /* Where there are nodes: */
    double far_rounds;  /* of the rounds, those with messages between nodes */
    double link_volume; /* elements over a node's link, one after another */
};

/* One after the other. */
static inline struct rcx_cost rcx_cost_sum(struct rcx_cost first,
                                           struct rcx_cost second)
{
    return (struct rcx_cost){.rounds = first.rounds + second.rounds,
                             .volume = first.volume + second.volume,
                             .combines = first.combines + second.combines,
                             .far_rounds = first.far_rounds + second.far_rounds,
                             .link_volume =
                                 first.link_volume + second.link_volume};
}

/*
 * What a user may set of an algorithm, as NAME:parameter=value: a number, or
 * one of some names, which count from 0.
 */
struct rcx_param {
    const char *name; /* NULL ends the list */
    const char *doc;
    const char *const *names; /* ended by NULL; NULL: a number */
    int64_t least, most;      /* of a number */
    int64_t usual;            /* unless somebody says otherwise */
    const int64_t *proved;    /* numbers to prove, ended by RCX_PARAM_END */
    /* What "auto" may become: the i-th value, or RCX_PARAM_END. The cheapest is
     * taken. NULL: auto is not among the values. */
    int64_t (*candidate)(const struct rcx_shape *s, int i);
};
#define RCX_PARAM_AUTO (-1)
#define RCX_PARAM_END INT64_MIN

struct rcx_algo {
    const char *name;
    enum rcx_coll coll;
    /* The cost, for people: "conditions: expression, name = value, ...; words".
     * What is before the semicolon is proved to be cost(), with blocks of equal
     * length; tests/proof/formula.h has what may be written. */
    const char *formula;
    const char *needs;    /* what fits() asks, for people; NULL: nothing */
    const char *known_as; /* what other libraries call it; NULL: nothing */
    const char *source;
    const struct rcx_param *params; /* NULL: none */
    bool is_by_nodes; /* what it does depends on the shape's nodes */
    bool (*fits)(const struct rcx_shape *s); /* NULL: every shape */
    rcx_order_t level; /* among ranks, whatever the shape */
    rcx_order_t (*order)(const struct rcx_shape *s); /* where that matters */
    struct rcx_cost (*cost)(const struct rcx_shape *s);
    /* How many blocks come to a rank on their way to others and to itself;
     * NULL: it passes none on. Where counts are local it then has to be told
     * their lengths, the shape's passing, by a first step: the same algorithm
     * with equal blocks, of one element each, after which its scratch begins
     * with what came. */
    size_t (*passing)(const struct rcx_shape *s);
    void (*build)(struct rcx_builder *b, const struct rcx_shape *s);
};

/* ---- Phases: an algorithm within the schedule of another ----------------- */

struct rcx_phase {
    const struct rcx_algo *algo;
    int64_t params[RCX_PARAMS];
    int root;             /* a member of the group */
    const size_t *displs; /* starts of blocks in the vector, one per member,
                             and the end; NULL: nearly equal */
};
/* algo with its usual parameters, root 0, and nearly equal blocks. */
struct rcx_phase rcx_phase_of(const struct rcx_algo *algo);

/* Where a phase's messages go. */
enum rcx_way {
    RCX_WAY_NODE,   /* within a node */
    RCX_WAY_BETWEEN /* all of them between nodes */
};

/*
 * The phase of a collective that costs least of those that keep an order level,
 * among size ranks, with a vector of count elements in nearly equal blocks. Its
 * parameters are settled for these, whatever blocks it is used for. So
 * many ranks of a node use its link at once, which is 1 within a node.
 */
struct rcx_phase rcx_phase_cheapest(enum rcx_coll coll, rcx_order_t needed,
                                    const struct rcx_shape *outer, int size,
                                    size_t count, enum rcx_way way,
                                    int sharing);
/* What it costs there. */
struct rcx_cost rcx_phase_cost(const struct rcx_phase *phase,
                               const struct rcx_shape *outer, int size,
                               size_t count, enum rcx_way way, int sharing);

/*
 * What a phase looks like from within, of a group of size members whose vector
 * has count elements: for its cost(), order() and fits(), which the
 * outer algorithm's are made of. Of member 0, apart; auto is settled.
 */
struct rcx_shape rcx_phase_shape(const struct rcx_phase *phase,
                                 const struct rcx_shape *outer, int size,
                                 size_t count);

/*
 * Write the phase's steps for this rank, as if the group's members were all
 * ranks, in the group's order, in their operands and out their results, each as
 * long as what the member gives and gets: the vector, or its own block of it.
 * in is looked at only where it gives anything (bcast: at the root), out where
 * it gets anything (reduce: at the root; bcast: where it is not; but its length
 * tells the vector's of a bcast everywhere). out may lie over in as calls may;
 * the phase
 * writes out and scratch only. All members call with the same phase and count;
 * ranks that are no members (rank -1) write nothing. The group, its list and
 * displs are needed during the call only. Phases nest.
 *
 * Costs what algo's cost() says of rcx_phase_shape(), and keeps the order that
 * its order() says, among the members. A step in a phase is checked and
 * translated once more for each frame that it is in.
 *
 * The builder fails, and writes no more, if algo does not fit
 * (RCX_ERR_UNSUPPORTED); if a member's number is not this rank's, out has
 * another length or overlaps part of in otherwise than said above, the root is
 * no member, or blocks do not cover the vector (RCX_ERR_INTERNAL).
 */
void rcx_sched_within(struct rcx_builder *b, const struct rcx_phase *phase,
                      const struct rcx_group *g, struct rcx_span in,
                      struct rcx_span out);

/* Every algorithm, ended by NULL; in lib/algo/algorithms.c. */
extern const struct rcx_algo *const rcx_algo_table[];

const struct rcx_algo *rcx_algo_find(enum rcx_coll coll, const char *name);
const char *rcx_order_name(rcx_order_t order);
static inline bool rcx_algo_fits(const struct rcx_algo *a,
                                 const struct rcx_shape *s)
{
    return !a->fits || a->fits(s);
}
/* The order level that it keeps; a single rank has nothing to order. */
static inline rcx_order_t rcx_algo_order(const struct rcx_algo *a,
                                         const struct rcx_shape *s)
{
    if (s->size == 1)
        return RCX_ORDER_CANONICAL;
    return a->order ? a->order(s) : a->level;
}

#endif
