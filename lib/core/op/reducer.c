/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several reductions in one pass over memory, for any type and op: blocks that
 * the inner caches hold go through all of them. A user's function gets
 * whole vectors, as a call of it may be expensive.
 */
#include "core/op/reducer.h"

#include <stdint.h>

/* Long enough for the prefetcher, as operands are often in the caches of other
 * cores; intermediate results fit into the second cache. */
enum { BLOCK_BYTES = 8 << 10 };

static size_t block_of(const struct rcx_reducer *r, size_t count)
{
    const size_t block =
        r->elem_bytes < BLOCK_BYTES ? BLOCK_BYTES / r->elem_bytes : 1;

    return r->kernel && block < count ? block : count;
}

/* Integers are added, since an empty vector may be NULL. */
static char *at(const char *vector, bool stays, size_t offset)
{
    return (char *)((uintptr_t)vector + (stays ? 0 : offset));
}

/* is_final: the last one makes a result of the collective. */
static rcx_status_t apply_to_block(const struct rcx_reducer *r,
                                   const struct rcx_reduction list[],
                                   unsigned n, size_t offset, size_t count,
                                   bool is_final)
{
    const bool finishes = is_final && r->finish;
    rcx_status_t status = RCX_OK;

    for (unsigned i = 0; i < n && status == RCX_OK; i++) {
        char *dst = at(list[i].dst, list[i].dst_stays, offset);
        const char *left = at(list[i].left, list[i].left_stays, offset);
        const char *right = at(list[i].right, list[i].right_stays, offset);

        if (finishes && i == n - 1)
            r->finish(dst, left, right, count, r->ranks);
        else
            status = rcx_reducer_apply(r, dst, left, right, count);
    }
    return status;
}

static unsigned add_rows(const struct rcx_reduction list[], unsigned i,
                         const void *row[], unsigned rows);

/* Add the operands of which a vector is the result, by one of the first n
 * reductions, or else the vector itself. */
static unsigned add_operands(const struct rcx_reduction list[], unsigned n,
                             const char *vector, const void *row[],
                             unsigned rows)
{
    while (n > 0)
        if (list[--n].dst == vector)
            return add_rows(list, n, row, rows);
    row[rows] = vector;
    return rows + 1;
}

/* Add the operands of reduction i from left to right, which is the order of
 * ranks. Returns how many there are now. */
static unsigned add_rows(const struct rcx_reduction list[], unsigned i,
                         const void *row[], unsigned rows)
{
    rows = add_operands(list, i, list[i].left, row, rows);
    return add_operands(list, i, list[i].right, row, rows);
}

static void apply_to_rows(const struct rcx_reducer *r,
                          const struct rcx_reduction list[], unsigned n,
                          size_t count)
{
    const void *row[RCX_EXACT_ROWS];
    const unsigned rows = add_rows(list, n - 1, row, 0);

    r->rows(list[n - 1].dst, row, rows, count);
}

rcx_status_t rcx_reducer_apply_many(const struct rcx_reducer *r,
                                    const struct rcx_reduction list[],
                                    unsigned n, size_t count, bool is_final)
{
    const size_t block = block_of(r, count);
    rcx_status_t status = RCX_OK;

    if (r->rows) {
        apply_to_rows(r, list, n, count);
        return RCX_OK;
    }
    for (size_t i = 0; i < count && status == RCX_OK; i += block)
        status =
            apply_to_block(r, list, n, i * r->elem_bytes,
                           count - i < block ? count - i : block, is_final);
    return status;
}
