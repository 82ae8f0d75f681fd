/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface for authors of algorithms: functions that append steps, spans,
 * blocks, groups, phases, and the entry of the table of algorithms. Algorithms
 * use nothing else of core.
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
/* dst = left op right. dst equals left or right, or overlaps neither. */
void rcx_step_reduce(struct rcx_builder *b, struct rcx_span dst,
                     struct rcx_span left, struct rcx_span right);
/* dst = src. Appends no step if both are the same memory, as with in-place
 * calls. */
void rcx_step_copy(struct rcx_builder *b, struct rcx_span dst,
                   struct rcx_span src);

/*
 * Begin a pair of messages, usually one send and one receive: it contains all
 * messages up to the next call. A pair waits for the pair that lies window
 * pairs before it, which limits how many messages are posted at once. window 0:
 * no pair waits. There is no deadlock if all ranks order their pairs alike: a
 * message of pair t of the sender belongs to pair t of the receiver.
 */
void rcx_step_pair(struct rcx_builder *b, int window);

/* ---- Spans --------------------------------------------------------------- */

/* The whole operand; the whole result. Empty if this rank has none. */
struct rcx_span rcx_span_in(const struct rcx_shape *s);
struct rcx_span rcx_span_out(const struct rcx_shape *s);
/* The vector of a bcast: the operand at the root, the result elsewhere. */
struct rcx_span rcx_span_vector(const struct rcx_shape *s);
/* Allocate scratch for count elements. */
struct rcx_span rcx_span_scratch(struct rcx_builder *b, size_t count);
/* Return count elements of span, from element offset of span on. */
static inline struct rcx_span rcx_span_sub(struct rcx_span span, size_t offset,
                                           size_t count)
{
    return (struct rcx_span){
        .buffer = span.buffer, .offset = span.offset + offset, .count = count};
}
/* Whether a and b have a common element. IN and OUT count as different buffers
 * even where they alias. */
static inline bool rcx_span_meets(struct rcx_span a, struct rcx_span b)
{
    return a.buffer == b.buffer && a.offset < b.offset + b.count &&
           b.offset < a.offset + a.count;
}
/* Whether dst and src overlap without being equal, so that a reduction or copy
 * from src to dst would corrupt src. */
bool rcx_span_clash(const struct rcx_shape *s, struct rcx_span dst,
                    struct rcx_span src);
/* Part i of n nearly equal parts: the first count % n parts have one element
 * more. */
struct rcx_span rcx_span_part(struct rcx_span span, int n, int i);

/* ---- Blocks: a vector cut into one block per rank ------------------------ */

struct rcx_blocks {
    const size_t *displs; /* n + 1 starts; NULL: nearly equal blocks */
    size_t count;
    int n;
};
/* The blocks of the call's vector: as the call gives them, or nearly equal. */
struct rcx_blocks rcx_blocks_of(const struct rcx_shape *s);
/* The blocks of IN or OUT. They differ if a rank gives and gets blocks of
 * different lengths. */
struct rcx_blocks rcx_blocks_in(const struct rcx_shape *s,
                                enum rcx_buffer buffer);
/* Block i of a vector that is stored at span. */
struct rcx_span rcx_block(const struct rcx_blocks *blocks, struct rcx_span span,
                          int i);
/* Blocks lo to hi - 1 of a vector that is stored at span; hi > lo. */
struct rcx_span rcx_block_range(const struct rcx_blocks *blocks,
                                struct rcx_span span, int lo, int hi);
size_t rcx_blocks_largest(const struct rcx_blocks *blocks);
/* Index of the block that contains element, or of the last block if none does.
 * Empty blocks contain no element. */
int rcx_block_at(const struct rcx_blocks *blocks, size_t element);

/* ---- Groups: an ordered subset of ranks, on which a phase works ---------- */

struct rcx_group {
    int size;
    int rank; /* this rank's number in the group; -1: not a member */
    /* Return the communicator's rank of member i. Uses the fields below. */
    int (*member)(const struct rcx_group *g, int i);
    int a, b;
    const int *list;
    const struct rcx_nodes *nodes;
};
struct rcx_group rcx_group_all(const struct rcx_shape *s);
/* The group of ranks first, first + stride, first + 2 * stride, ... */
struct rcx_group rcx_group_strided(const struct rcx_shape *s, int first,
                                   int stride, int size);
/* The group of ranks in list. list must stay valid until the schedule is
 * written. */
struct rcx_group rcx_group_listed(const struct rcx_shape *s, const int *list,
                                  int size);
/* The group of all ranks of a node; of the ranks at one place of each node,
 * which every node must have; of one leader per node: the root, and the lowest
 * rank of each other node. */
struct rcx_group rcx_group_node(const struct rcx_shape *s, int node);
struct rcx_group rcx_group_across(const struct rcx_shape *s, int place);
struct rcx_group rcx_group_leaders(const struct rcx_shape *s);
/* The p - r ranks that remain after folding ranks 0 to 2r - 1 in pairs, each
 * even rank into the odd rank above it. */
struct rcx_group rcx_group_folded(const struct rcx_shape *s, int r);
static inline int rcx_group_member(const struct rcx_group *g, int i)
{
    return g->member(g, i);
}

/* ---- Numbers ------------------------------------------------------------- */

/* Largest power of two <= n, for n >= 1. */
static inline int rcx_pow2_floor(int n)
{
    return 1 << (31 - __builtin_clz((unsigned)n));
}
/* ceil(log2 n), for n >= 1. */
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
 * Cost of a schedule in the one-ported model, on the slowest rank: time =
 * rounds * alpha + volume * bytes * beta + combines * bytes * gamma, with bytes
 * of an element.
 */
struct rcx_cost {
    double rounds;
    double volume;   /* elements sent, one after another */
    double combines; /* elements combined, one after another */
    /* Of these, what takes less: rounds of messages that wait for no earlier
     * round, and within a node elements that share a copy with earlier ones, as
     * they go to another peer (see shared.c). */
    struct rcx_saving {
        double rounds, volume;
    } saved;
    /* Of these, what the busiest rank waits for and takes no part in. */
    struct rcx_saving slack;
    double idle; /* of the rounds, those in which a rank sends no message: the
                    mean over all ranks */
    /* Of levels that divide the ranks: */
    struct rcx_crossing {
        double rounds; /* number of rounds with messages between groups */
        double volume; /* elements over a group's link, one after another */
        double saved;  /* of the rounds, those that wait for no earlier one */
        double idle;   /* of the rounds, as above */
    } across[RCX_LEVELS];
};

/* Cost of two schedules, one after the other. */
struct rcx_cost rcx_cost_sum(struct rcx_cost first, struct rcx_cost second);

/* Add to the cost of s messages that all ranks send between the groups of n,
 * and of all coarser maps. each: rounds, and elements of each rank. */
void rcx_cost_cross(struct rcx_cost *cost, const struct rcx_nodes *n,
                    const struct rcx_shape *s, struct rcx_crossing each);

/*
 * A parameter of an algorithm, which users set by NAME:parameter=value. Its
 * value is a number, or one of several names, which are numbered from 0.
 */
struct rcx_param {
    const char *name; /* NULL ends the list */
    const char *doc;
    const char *const *names; /* valid names, ended by NULL; NULL: the value is
                                 a number */
    int64_t least, most;      /* range of a number */
    int64_t usual;            /* default value */
    const int64_t *proved; /* numbers that tests try, ended by RCX_PARAM_END */
    /* Return the i-th value that "auto" may become, or RCX_PARAM_END. The
     * cheapest of them is chosen, also in place of usual if nothing names the
     * algorithm. NULL: "auto" is not valid. */
    int64_t (*candidate)(const struct rcx_shape *s, int i);
};
#define RCX_PARAM_AUTO (-1)
#define RCX_PARAM_END INT64_MIN

struct rcx_algo {
    const char *name;
    enum rcx_coll coll;
    /* The cost, for people: "conditions: expression, name = value, ...; words".
     * Tests prove that the part before the semicolon equals cost() for blocks
     * of equal length. tests/proof/formula.h describes the syntax. */
    const char *formula;
    const char *needs;    /* condition that fits() checks, for people; NULL:
                             none */
    const char *known_as; /* names of this algorithm in other libraries; NULL:
                             none */
    const char *source;
    const struct rcx_param *params; /* NULL: none */
    bool is_by_nodes; /* its steps depend on the nodes of the shape */
    bool at_once;     /* works for shapes with at_once: messages contain
                         operands and results, no partial results */
    bool neighbors;   /* works for shapes with neighbors */
    bool (*fits)(const struct rcx_shape *s); /* whether it works for a shape;
                                                NULL: for every shape */
    rcx_order_t level; /* order level for all shapes, unless order is set */
    /* order level for a shape; NULL: level */
    rcx_order_t (*order)(const struct rcx_shape *s);
    struct rcx_cost (*cost)(const struct rcx_shape *s);
    /* Return the number of blocks that a rank receives, those that it forwards
     * included. NULL: it forwards none. If counts are local, the rank must know
     * the lengths of these blocks, shape->passing. A first step tells them: the
     * same algorithm with equal blocks of one element, each a length. After
     * that step scratch begins with the received elements. */
    size_t (*passing)(const struct rcx_shape *s);
    void (*build)(struct rcx_builder *b, const struct rcx_shape *s);
};

/* ---- Phases: an algorithm within the schedule of another ----------------- */

struct rcx_phase {
    const struct rcx_algo *algo;
    int64_t params[RCX_PARAMS];
    int root;             /* member number in the group */
    const size_t *displs; /* starts of the vector's blocks, one per member, and
                             the end; NULL: nearly equal blocks */
    struct rcx_scope scope;
};
/* Return a phase of algo with default parameters, root 0 and nearly equal
 * blocks. */
struct rcx_phase rcx_phase_of(const struct rcx_algo *algo);

/* The scope of a phase among members of one group of the map of s, and of one
 * among the groups, in which so many members of a group take part at once, each
 * with its like of the other groups. */
struct rcx_scope rcx_scope_within(const struct rcx_shape *s);
struct rcx_scope rcx_scope_between(const struct rcx_shape *s, int leaders);

/*
 * Return the cheapest phase of a collective that keeps order level needed, for
 * size ranks and a vector of count elements in nearly equal blocks. Its
 * parameters, and the phases within it, are chosen for this case, whatever
 * blocks it is used for later.
 */
struct rcx_phase rcx_phase_cheapest(enum rcx_coll coll, rcx_order_t needed,
                                    const struct rcx_shape *outer, int size,
                                    size_t count, struct rcx_scope scope);
/* Return the elements by which an algorithm makes choices of its own, as of
 * phases or of rounds that halve the vector: those of the longest of the phases
 * that run at once, so that all of these take as long. */
static inline size_t rcx_shape_longest(const struct rcx_shape *s)
{
    return s->longest > 0 ? s->longest : s->count;
}
/* Return the cost of phase for size ranks and a vector of count elements, with
 * what crosses levels. */
struct rcx_cost rcx_phase_cost(const struct rcx_phase *phase,
                               const struct rcx_shape *outer, int size,
                               size_t count);

/*
 * Return the shape that a phase has for its own algorithm, in a group of size
 * members with a vector of count elements. The cost(), order() and fits() of an
 * outer algorithm use it. The rank is member 0, IN and OUT do not alias, and
 * "auto" is resolved.
 */
struct rcx_shape rcx_phase_shape(const struct rcx_phase *phase,
                                 const struct rcx_shape *outer, int size,
                                 size_t count);

/*
 * Append the steps of a phase for this rank, as if the members of group g were
 * all ranks, in the order of the group. All members call it with the same phase
 * and the same vector length. Ranks that are not members append nothing. g, its
 * list and displs are needed during the call only. Phases nest.
 *
 * in and out hold the member's operand and result. Each is as long as the data
 * that the member gives or gets: the vector, or its own block. in is ignored if
 * the member gives nothing (in a bcast only the root gives). out is ignored if
 * it gets nothing (in a reduce only the root gets, in a bcast all except the
 * root). But for a bcast out.count is the length of the vector on all members.
 * out may alias in, as in calls. The phase writes only out and scratch.
 *
 * The cost is algo's cost() for rcx_phase_shape(), and the order level among
 * the members is that of its order(). Each step is checked and translated once
 * for each frame around it.
 *
 * The builder fails, and appends no more, with RCX_ERR_UNSUPPORTED if algo does
 * not fit. It fails with RCX_ERR_INTERNAL if member g->rank is not this rank,
 * the root is not a member, or a length is wrong. It does so as well if blocks
 * do not cover the vector, or if the overlap of in and out is not allowed.
 */
void rcx_sched_within(struct rcx_builder *b, const struct rcx_phase *phase,
                      const struct rcx_group *g, struct rcx_span in,
                      struct rcx_span out);

/* All algorithms of this build, ended by NULL; defined in
 * lib/algo/algorithms.c. */
extern const struct rcx_algo *const rcx_algo_table[];
/* The symbols of those that this build is without, ended by NULL. */
extern const char *const rcx_algo_left_out[];

const struct rcx_algo *rcx_algo_find(enum rcx_coll coll, const char *name);
/* Whether an algorithm of that name is left out of this build. */
bool rcx_algo_is_left_out(enum rcx_coll coll, const char *name);
const char *rcx_order_name(rcx_order_t order);
static inline bool rcx_algo_fits(const struct rcx_algo *a,
                                 const struct rcx_shape *s)
{
    return (a->at_once || !s->at_once) && (a->neighbors || !s->neighbors) &&
           (!a->fits || a->fits(s));
}
/* Whether some algorithm combines all operands of a result at once. */
bool rcx_algo_any_at_once(enum rcx_coll coll);
/*
 * Whether an op that needs it should combine all operands at once: all ranks
 * come to the same answer. Messages are operands as they are, so this is best
 * where a rank has few peers, or shares memory with them. forced: the algorithm
 * that users force, or NULL.
 */
bool rcx_algo_suits_at_once(const struct rcx_shape *s,
                            const struct rcx_algo *forced);
/* The order level that the algorithm keeps for s. A single rank keeps the
 * highest level, since it combines nothing. */
static inline rcx_order_t rcx_algo_order(const struct rcx_algo *a,
                                         const struct rcx_shape *s)
{
    if (s->size == 1)
        return RCX_ORDER_CANONICAL;
    return a->order ? a->order(s) : a->level;
}

#endif
