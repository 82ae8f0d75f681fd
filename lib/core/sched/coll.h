/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives: one row each in a table. Argument checks, shapes, segments,
 * configuration, tests and tools read their properties from it.
 */
#ifndef RCX_CORE_SCHED_COLL_H
#define RCX_CORE_SCHED_COLL_H

#include "core/sched/schedule.h"

/* Part of a vector of count elements that a rank gives or gets. */
enum rcx_extent {
    RCX_EXTENT_NONE,
    RCX_EXTENT_VECTOR, /* the whole vector */
    RCX_EXTENT_BLOCK,  /* the rank's own block */
    RCX_EXTENT_BLOCKS  /* the whole vector, as one block per rank */
};

/* The ranks that give or get data. */
enum rcx_rank_set {
    RCX_RANKS_ALL,
    RCX_RANKS_ROOT,
    RCX_RANKS_NOT_ROOT, /* all except the root */
    RCX_RANKS_NOT_0     /* all except rank 0 */
};

/* How an element of a result is computed: combine the operands of ranks lo to
 * hi - 1 at index, in rank order. If that is one rank, the element is its
 * operand. */
struct rcx_expected {
    int lo, hi;
    size_t index; /* in IN of these ranks; if counts are local, in the block for
                     this rank */
};

struct rcx_coll_row {
    const char *name;
    const char *even;     /* its function with equal counts; NULL: name */
    const char *uneven;   /* its function with a count per rank; NULL: name */
    const char *variable; /* environment variable that selects its method; NULL:
                             internal */
    const char *chooses;  /* description of that variable, for people */
    enum rcx_extent gives, gets;
    enum rcx_rank_set giver, getter;
    bool reduces;
    bool has_places;  /* callers give the positions of blocks */
    bool is_local;    /* each rank knows only its own counts, so no choice may
                         depend on them */
    bool is_one_way;  /* some rank of a call may only send */
    bool is_prefix;   /* a result combines operands of a prefix of the ranks
                         only */
    unsigned aliases; /* allowed in-place forms: bits 1 << enum rcx_alias */
    /* Return how element i of OUT is computed on rank s->rank, which must get
     * a result. */
    struct rcx_expected (*expect)(const struct rcx_shape *s, size_t i);
};

/* Indexed by enum rcx_coll; defined in coll.c. */
extern const struct rcx_coll_row rcx_colls[RCX_COLL_COUNT];

static inline const char *rcx_coll_name(enum rcx_coll coll)
{
    return rcx_colls[coll].name;
}

/* Name of the public function, without rcx_. */
static inline const char *rcx_coll_function(enum rcx_coll coll, bool irregular)
{
    const struct rcx_coll_row *row = &rcx_colls[coll];
    const char *name = irregular ? row->uneven : row->even;

    return name ? name : row->name;
}

static inline bool rcx_coll_is_rooted(enum rcx_coll coll)
{
    return rcx_colls[coll].giver == RCX_RANKS_ROOT ||
           rcx_colls[coll].getter == RCX_RANKS_ROOT;
}

/* Whether the vector is cut into one block per rank; blocks may be
 * irregular. */
static inline bool rcx_coll_has_blocks(enum rcx_coll coll)
{
    return rcx_colls[coll].gives >= RCX_EXTENT_BLOCK ||
           rcx_colls[coll].gets >= RCX_EXTENT_BLOCK;
}

/* Whether IN, or OUT, consists of one block per rank. */
static inline bool rcx_coll_in_is_blocks(enum rcx_coll coll)
{
    return rcx_colls[coll].gives == RCX_EXTENT_BLOCKS;
}
static inline bool rcx_coll_out_is_blocks(enum rcx_coll coll)
{
    return rcx_colls[coll].gets == RCX_EXTENT_BLOCKS;
}

/* Whether the collective carries data. */
static inline bool rcx_coll_has_data(enum rcx_coll coll)
{
    return rcx_colls[coll].gives != RCX_EXTENT_NONE;
}

/* Whether OUT may overlap IN in this way. */
static inline bool rcx_coll_allows(enum rcx_coll coll, enum rcx_alias alias)
{
    return rcx_colls[coll].aliases >> alias & 1;
}

static inline bool rcx_rank_set_has(enum rcx_rank_set set, int rank, int root)
{
    switch (set) {
    case RCX_RANKS_ROOT: return rank == root;
    case RCX_RANKS_NOT_ROOT: return rank != root;
    case RCX_RANKS_NOT_0: return rank != 0;
    default: return true;
    }
}
/* Whether rank gives data; whether it gets data. */
static inline bool rcx_coll_gives(enum rcx_coll coll, int rank, int root)
{
    return rcx_colls[coll].gives != RCX_EXTENT_NONE &&
           rcx_rank_set_has(rcx_colls[coll].giver, rank, root);
}
static inline bool rcx_coll_gets(enum rcx_coll coll, int rank, int root)
{
    return rcx_colls[coll].gets != RCX_EXTENT_NONE &&
           rcx_rank_set_has(rcx_colls[coll].getter, rank, root);
}

/* Return the collective of that name; RCX_COLL_COUNT: there is none. */
enum rcx_coll rcx_coll_by_name(const char *name);

#endif
