/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the collectives are: a row each, from which argument checks, shapes,
 * segments, configuration, tests and tools take what they need to know.
 */
#ifndef RCX_CORE_SCHED_COLL_H
#define RCX_CORE_SCHED_COLL_H

#include "core/sched/schedule.h"

/* What a rank gives or gets, of a vector of count elements. */
enum rcx_extent {
    RCX_EXTENT_NONE,
    RCX_EXTENT_VECTOR, /* all of it */
    RCX_EXTENT_BLOCK,  /* the rank's own block of it */
    RCX_EXTENT_BLOCKS  /* all of it, as a block for each rank */
};

/* Which ranks give or get. */
enum rcx_who {
    RCX_WHO_ALL,
    RCX_WHO_ROOT,
    RCX_WHO_OTHERS, /* all but the root */
    RCX_WHO_BEHIND  /* all but rank 0 */
};

/* What an element of a result is: what the operands of ranks lo to hi - 1 at
 * index combine to, in rank order; the operand itself where that is one
 * rank. */
struct rcx_expected {
    int lo, hi;
    size_t index; /* in their IN; where counts are local, in its block for this
                     rank */
};

struct rcx_coll_row {
    const char *name;
    const char *even;     /* its function without counts for each rank; NULL: */
    const char *uneven;   /* and with them; name */
    const char *variable; /* by which users choose; NULL: internal */
    const char *chooses;  /* what it does, for people */
    enum rcx_extent gives, gets;
    enum rcx_who giver, getter;
    bool reduces;
    bool has_places;  /* callers say where blocks lie */
    bool is_local;    /* counts are each rank's own: no choice may depend on
                        them */
    bool is_one_way;  /* a rank may only send in it */
    bool is_prefix;   /* it combines operands of lower ranks alone */
    unsigned aliases; /* in-place forms: 1 << enum rcx_alias of each */
    /* Element i of the shape's rank's OUT, which it gets. */
    struct rcx_expected (*expect)(const struct rcx_shape *s, size_t i);
};

/* By enum rcx_coll; in coll.c. */
extern const struct rcx_coll_row rcx_colls[RCX_COLL_COUNT];

static inline const char *rcx_coll_name(enum rcx_coll coll)
{
    return rcx_colls[coll].name;
}

/* The function, without rcx_, that users call. */
static inline const char *rcx_coll_function(enum rcx_coll coll, bool irregular)
{
    const struct rcx_coll_row *row = &rcx_colls[coll];
    const char *name = irregular ? row->uneven : row->even;

    return name ? name : row->name;
}

static inline bool rcx_coll_is_rooted(enum rcx_coll coll)
{
    return rcx_colls[coll].giver == RCX_WHO_ROOT ||
           rcx_colls[coll].getter == RCX_WHO_ROOT;
}

/* Its vector is cut into a block per rank, which may be irregular. */
static inline bool rcx_coll_has_blocks(enum rcx_coll coll)
{
    return rcx_colls[coll].gives >= RCX_EXTENT_BLOCK ||
           rcx_colls[coll].gets >= RCX_EXTENT_BLOCK;
}

/* IN, OUT consists of a block for each rank. */
static inline bool rcx_coll_in_is_blocks(enum rcx_coll coll)
{
    return rcx_colls[coll].gives == RCX_EXTENT_BLOCKS;
}
static inline bool rcx_coll_out_is_blocks(enum rcx_coll coll)
{
    return rcx_colls[coll].gets == RCX_EXTENT_BLOCKS;
}

/* It carries data at all. */
static inline bool rcx_coll_has_data(enum rcx_coll coll)
{
    return rcx_colls[coll].gives != RCX_EXTENT_NONE;
}

/* OUT may lie over IN in this way. */
static inline bool rcx_coll_allows(enum rcx_coll coll, enum rcx_alias alias)
{
    return rcx_colls[coll].aliases >> alias & 1;
}

static inline bool rcx_who_has(enum rcx_who who, int rank, int root)
{
    switch (who) {
    case RCX_WHO_ROOT: return rank == root;
    case RCX_WHO_OTHERS: return rank != root;
    case RCX_WHO_BEHIND: return rank != 0;
    default: return true;
    }
}
/* Whether rank gives, gets anything. */
static inline bool rcx_coll_gives(enum rcx_coll coll, int rank, int root)
{
    return rcx_colls[coll].gives != RCX_EXTENT_NONE &&
           rcx_who_has(rcx_colls[coll].giver, rank, root);
}
static inline bool rcx_coll_gets(enum rcx_coll coll, int rank, int root)
{
    return rcx_colls[coll].gets != RCX_EXTENT_NONE &&
           rcx_who_has(rcx_colls[coll].getter, rank, root);
}

/* The one of that name; RCX_COLL_COUNT: there is none. */
enum rcx_coll rcx_coll_by_name(const char *name);

#endif
