/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_CORE_OP_REDUCER_H
#define RCX_CORE_OP_REDUCER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/op/exact_rows.h"

/*
 * How an op sends elements that are long and say little in short messages.
 * put() stores count elements of elem_bytes each in at most room bytes, and
 * returns how many, or 0 if there is no room. take() restores them; false: the
 * bytes are no such message. combine() is the op, which is commutative, of
 * others and the elements of such a message, which does not lie in dst; dst
 * may be others. All are aligned to 8 bytes.
 */
struct rcx_wire {
    size_t most; /* elements; more are sent as they are */
    size_t (*put)(void *to, size_t room, const void *from, size_t count,
                  size_t elem_bytes);
    bool (*take)(void *to, size_t count, size_t elem_bytes, const void *message,
                 size_t bytes);
    bool (*combine)(void *dst, const void *others, size_t count,
                    size_t elem_bytes, const void *message,
                    size_t bytes); /* NULL: it needs the elements */
};

/* How two vectors are combined: a predefined kernel, or the user's function. */
struct rcx_reducer {
    void (*kernel)(void *dst, const void *left, const void *right,
                   size_t count); /* NULL: fn */
    rcx_op_fn_t fn;
    void *arg;
    rcx_datatype_t type;
    size_t elem_bytes;
    /* All operands at once, in the order of ranks, for ops that combine no
     * part of them: two by kernel, more by this. NULL: two by two. */
    rcx_exact_rows_fn_t rows;
    /* The last reduction of each element of a result, of operands of so many
     * ranks, where something follows it that its plan does there: see
     * rcx_finish_fn_t. NULL: it is one as the others. */
    void (*finish)(void *dst, const void *left, const void *right, size_t count,
                   int ranks);
    int ranks;
    const struct rcx_wire *wire; /* NULL: elements are sent as they are */
};

/* dst = left op right; RCX_ERR_OP if the user's function says so. */
static inline rcx_status_t rcx_reducer_apply(const struct rcx_reducer *r,
                                             void *dst, const void *left,
                                             const void *right, size_t count)
{
    if (r->kernel) {
        r->kernel(dst, left, right, count);
        return RCX_OK;
    }
    return r->fn(dst, left, right, count, r->type, r->arg) == 0 ? RCX_OK
                                                                : RCX_ERR_OP;
}

/* One of the reductions of rcx_reducer_apply_many(): dst = left op right. A
 * vector that stays is an intermediate result: later reductions of the list
 * read it, and nothing else does. */
struct rcx_reduction {
    char *dst;
    const char *left, *right;
    bool dst_stays, left_stays, right_stays;
};

/*
 * Make n reductions of count elements, in this order. Predefined kernels work
 * on blocks: all reductions of a block come before those of the next one, so
 * the inner caches hold all intermediate results. A vector that stays needs the
 * room of the whole vector, and only its first block may be written. Other
 * vectors are equal or do not overlap, nor do they overlap one that stays,
 * unless they are read before it is written. The result has the bits of n calls
 * of rcx_reducer_apply(), or if it is final, of a last one by finish().
 *
 * With rows, the list is one tree, and its result the last one: only this one
 * is computed, from all operands that are no intermediate results.
 */
rcx_status_t rcx_reducer_apply_many(const struct rcx_reducer *r,
                                    const struct rcx_reduction list[],
                                    unsigned n, size_t count, bool is_final);

#endif
