/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective call, and when two calls are the same. */
#ifndef RCX_CORE_RUN_OBJECT_CALL_H
#define RCX_CORE_RUN_OBJECT_CALL_H

#include "core/sched/coll.h"

/* Lists of a call. Each has an entry for each rank, except the last. */
enum rcx_call_list {
    RCX_CALL_COUNTS, /* of the blocks of the vector */
    RCX_CALL_GOTTEN, /* of the blocks that this rank receives, if they differ */
    RCX_CALL_IN_PLACES,  /* starts of blocks in IN and OUT; NULL: contiguous */
    RCX_CALL_OUT_PLACES, /* behind the other */
    RCX_CALL_PASSING,    /* blocks in transit, as in a shape; NULL: none, or a
                         first step tells */
    RCX_CALL_TO, /* edges to neighbours, and from them, as in a shape: these
                    two alone */
    RCX_CALL_FROM,
    RCX_CALL_LISTS
};

/* What a call is for. Users' settings apply to theirs, and to the steps of
 * them; of RCX's own they force nothing. */
enum rcx_call_role {
    RCX_CALL_USERS,
    RCX_CALL_OWN,
    RCX_CALL_CREATION, /* of a communicator: the first of its stages */
    /* These have their vector at the end of their execution's scratch: */
    RCX_CALL_FIRST_STEP, /* tells the lengths of blocks in transit */
    RCX_CALL_RANGES,     /* of the blocks of numbers of an exact sum */
    RCX_CALL_NUMBERS,    /* of an exact sum, as integers */
    RCX_CALL_FLOATS      /* the numbers of RCX_SUM_FLOAT, as floats */
};

/* What ranks must agree on in a call; and alias and places, which may
 * differ. */
struct rcx_call {
    union {
        struct {
            uint8_t coll;   /* enum rcx_coll */
            uint8_t alias;  /* enum rcx_alias */
            bool irregular; /* it has lists */
            uint8_t role;   /* enum rcx_call_role */
        };
        uint32_t kind; /* all four */
    };
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    size_t count;                        /* of the whole vector */
    size_t passing;                      /* entries of that list */
    size_t to, from;                     /* entries of those lists */
    const size_t *lists[RCX_CALL_LISTS]; /* of irregular calls; else NULL */
};
_Static_assert(sizeof(uint32_t) == 3 * sizeof(uint8_t) + sizeof(bool),
               "kind is the four, and nothing else");

static inline bool rcx_call_has_neighbors(const struct rcx_call *call)
{
    return call->lists[RCX_CALL_TO];
}

static inline const char *rcx_call_function(const struct rcx_call *call)
{
    if (rcx_call_has_neighbors(call))
        return "neighbor_alltoallv";
    return rcx_coll_function((enum rcx_coll)call->coll, call->irregular);
}

/* Whether they are the same except lists. */
static inline bool rcx_call_is_alike(const struct rcx_call *a,
                                     const struct rcx_call *b)
{
    return a->count == b->count && a->type == b->type && a->op == b->op &&
           a->kind == b->kind && a->root == b->root;
}

bool rcx_call_is_same(const struct rcx_call *a, const struct rcx_call *b,
                      int size);

/* Equal for calls that are the same. */
uint64_t rcx_call_hash(const struct rcx_call *call, int size);

/* The count, as all ranks agree on it. */
static inline size_t rcx_call_told(const struct rcx_call *call)
{
    return rcx_colls[call->coll].is_local ? 0 : call->count;
}

/* Entries of all lists. */
size_t rcx_call_entries(const struct rcx_call *call, int size);

/* Entries of one list. */
static inline size_t rcx_call_length(const struct rcx_call *call, int list,
                                     int size)
{
    switch (list) {
    case RCX_CALL_PASSING: return call->passing;
    case RCX_CALL_TO: return call->to;
    case RCX_CALL_FROM: return call->from;
    default: return (size_t)size;
    }
}

static inline bool rcx_call_is_users(const struct rcx_call *call)
{
    return call->role == RCX_CALL_USERS;
}

/* Whether its vector is at the end of its execution's scratch. */
static inline bool rcx_call_has_own_vector(const struct rcx_call *call)
{
    return call->role >= RCX_CALL_FIRST_STEP;
}

#endif
