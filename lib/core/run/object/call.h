/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective call, and what makes two of them the same. */
#ifndef RCX_CORE_RUN_OBJECT_CALL_H
#define RCX_CORE_RUN_OBJECT_CALL_H

#include "core/sched/coll.h"

/* Lists of a call, with an entry for each rank, but for the last. */
enum rcx_call_list {
    RCX_CALL_COUNTS, /* of blocks of the vector */
    RCX_CALL_GOTTEN, /* of blocks that this rank gets, where those are others */
    RCX_CALL_IN_PLACES,  /* where blocks begin in IN, and in OUT; NULL: one */
    RCX_CALL_OUT_PLACES, /* behind the other */
    RCX_CALL_PASSING,    /* of blocks that come on their way, as a shape has
                            them; NULL: none do, or a first step is to tell */
    RCX_CALL_LISTS
};

/* Everything about a call that ranks agree on, alias, and places. */
struct rcx_call {
    union {
        struct {
            uint8_t coll;   /* enum rcx_coll */
            uint8_t alias;  /* enum rcx_alias */
            bool irregular; /* it has lists */
            bool internal;  /* RCX's own: what users force is not for it */
        };
        uint32_t kind; /* all four */
    };
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    size_t count;                        /* of the whole vector */
    size_t passing;                      /* entries of the list of these */
    const size_t *lists[RCX_CALL_LISTS]; /* irregular; else NULL */
};
_Static_assert(sizeof(uint32_t) == 2 * sizeof(uint8_t) + 2 * sizeof(bool),
               "kind is the four, and nothing else");

static inline const char *rcx_call_function(const struct rcx_call *call)
{
    return rcx_coll_function((enum rcx_coll)call->coll, call->irregular);
}

/* The same but for lists. */
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

/* The count of the call that all ranks agree on. */
static inline size_t rcx_call_told(const struct rcx_call *call)
{
    return rcx_colls[call->coll].is_local ? 0 : call->count;
}

/* Entries of all its lists. */
size_t rcx_call_entries(const struct rcx_call *call, int size);

/* Of one of them. */
static inline size_t rcx_call_length(const struct rcx_call *call, int list,
                                     int size)
{
    return list == RCX_CALL_PASSING ? call->passing : (size_t)size;
}

/* Whether it is a first step of RCX's own, that tells a call of the same
 * collective how long what passes is. */
static inline bool rcx_call_is_first_step(const struct rcx_call *call)
{
    return call->internal && rcx_colls[call->coll].is_local;
}

#endif
