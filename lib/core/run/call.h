/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective call, and what makes two of them the same. */
#ifndef RCX_CORE_RUN_CALL_H
#define RCX_CORE_RUN_CALL_H

#include "core/sched/coll.h"

/* Everything about a call that ranks agree on, and alias. */
struct rcx_call {
    union {
        struct {
            uint8_t coll;   /* enum rcx_coll */
            uint8_t alias;  /* enum rcx_alias */
            bool irregular; /* recvcounts counts */
            bool internal;  /* RCX's own: what users force is not for it */
        };
        uint32_t kind; /* all four */
    };
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    size_t count;             /* of the whole vector */
    const size_t *recvcounts; /* irregular; else NULL */
};
_Static_assert(sizeof(uint32_t) == 2 * sizeof(uint8_t) + 2 * sizeof(bool),
               "kind is the four, and nothing else");

/* The same but for recvcounts. */
static inline bool rcx_call_is_alike(const struct rcx_call *a,
                                     const struct rcx_call *b)
{
    return a->count == b->count && a->type == b->type && a->op == b->op &&
           a->kind == b->kind && a->root == b->root;
}

/* Whether b is a, whose blocks begin at displs where it is irregular. */
bool rcx_call_is_same(const struct rcx_call *a, const size_t displs[],
                      const struct rcx_call *b, int size);

/* Equal for calls that are the same. */
uint64_t rcx_call_hash(const struct rcx_call *call, int size);

#endif
