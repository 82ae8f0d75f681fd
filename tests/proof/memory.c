/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lays out and checks the buffers of all simulated ranks for a proof. Guards
 * around IN, OUT and TMP, and elements that must not change, are compared after
 * each run. prove.c checks the results themselves.
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { GARBAGE = 0xC3, GUARD = 2 /* elements */ };

/* The buffer that contains the other one, if they overlap. */
static enum rcx_buffer home_of(const struct rcx_shape *s)
{
    return s->alias == RCX_ALIAS_OWN ? RCX_BUFFER_OUT : RCX_BUFFER_IN;
}

static size_t home_count(const struct rcx_shape *s)
{
    return home_of(s) == RCX_BUFFER_OUT ? rcx_shape_out_reach(s)
                                        : rcx_shape_in_reach(s);
}

/* Elements of OUT outside of IN. */
static size_t out_count(const struct rcx_shape *s)
{
    return s->alias == RCX_ALIAS_NONE ? rcx_shape_out_reach(s) : 0;
}

static size_t size_of(const struct simulated_rank *rank)
{
    return home_count(&rank->shape) + out_count(&rank->shape) +
           rank->plan->scratch + 3 * GUARD;
}

/* A guard lies behind each buffer. The guard in front of a rank's first buffer
 * is that behind the last buffer of the rank before. */
static char *lay_out(struct simulated_rank *rank, char *at, size_t elem_bytes)
{
    const struct rcx_shape *s = &rank->shape;
    const enum rcx_buffer home = home_of(s);
    const enum rcx_buffer other =
        home == RCX_BUFFER_IN ? RCX_BUFFER_OUT : RCX_BUFFER_IN;
    const struct rcx_span place =
        rcx_shape_resolve(s, (struct rcx_span){other, 0, 0});

    rank->base[home] = at;
    at += (home_count(s) + GUARD) * elem_bytes;
    rank->base[other] = s->alias == RCX_ALIAS_NONE
                            ? at
                            : rank->base[home] + place.offset * elem_bytes;
    at += (out_count(s) + GUARD) * elem_bytes;
    rank->base[RCX_BUFFER_TMP] = at;
    return at + (rank->plan->scratch + GUARD) * elem_bytes;
}

/* Return the position in a buffer of element i of all its blocks. */
static size_t position(const struct rcx_shape *s, enum rcx_buffer buffer,
                       size_t i)
{
    const bool is_in = buffer == RCX_BUFFER_IN;
    const struct rcx_blocks blocks = rcx_blocks_in(s, buffer);
    const struct rcx_span vector = {.count = blocks.count};
    int k;

    if (!(is_in ? s->in_places : s->out_places).starts)
        return i;
    k = rcx_block_at(&blocks, i);
    return rcx_shape_place(s, buffer, k) + i -
           rcx_block(&blocks, vector, k).offset;
}

static char *element(const struct proof_memory *m, int rank,
                     enum rcx_buffer buffer, size_t i)
{
    const struct simulated_rank *r = &m->s->ranks[rank];

    return r->base[buffer] + position(&r->shape, buffer, i) * m->op->elem_bytes;
}

bool proof_memory_open(struct proof_memory *m, struct simulation *s,
                       const struct proof_operator *op)
{
    const size_t most = SIZE_MAX / 2 / op->elem_bytes;
    size_t count = GUARD;
    char *at;

    for (int i = 0; i < s->size; i++) {
        const size_t size = size_of(&s->ranks[i]);

        if (size > most - count)
            return simulation_lacks_memory(s);
        count += size;
    }
    *m = (struct proof_memory){
        .op = op, .s = s, .bytes = count * op->elem_bytes};
    m->arena = rcx_heap_alloc(s->heap, m->bytes);
    if (!m->arena)
        return simulation_lacks_memory(s);
    at = m->arena + GUARD * op->elem_bytes;
    for (int i = 0; i < s->size; i++)
        at = lay_out(&s->ranks[i], at, op->elem_bytes);
    return true;
}

void proof_memory_close(struct proof_memory *m)
{
    rcx_heap_free(m->s->heap, m->arena);
}

void proof_memory_fill(struct proof_memory *m)
{
    memset(m->arena, GARBAGE, m->bytes);
    for (int r = 0; r < m->s->size; r++) {
        const struct simulated_rank *rank = &m->s->ranks[r];
        const size_t count = rcx_shape_in_count(&rank->shape);

        for (size_t i = 0; i < count; i++)
            m->op->leaf(element(m, r, RCX_BUFFER_IN, i), r, i);
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t proof_out_element(const struct rcx_row *row,
                         const struct rcx_shape *whole, size_t i)
{
    const struct rcx_blocks blocks = rcx_blocks_in(whole, RCX_BUFFER_OUT);
    const struct rcx_span vector = {.count = blocks.count};
    const bool is_cut = row->first > 0 || row->width < SIZE_MAX;
    const bool is_spread = is_cut && rcx_coll_out_is_blocks(whole->coll);

    for (int k = 0; is_spread && k < blocks.n; k++) {
        const struct rcx_span block = rcx_block(&blocks, vector, k);
        const size_t count = block.count > row->first
                                 ? least(block.count - row->first, row->width)
                                 : 0;

        if (i < count)
            return block.offset + row->first + i;
        i -= count;
    }
    return row->first + i;
}

const void *proof_memory_result(const struct proof_memory *m, int rank,
                                size_t i)
{
    const struct rcx_shape *s = &m->s->ranks[rank].shape;

    return element(m, rank, RCX_BUFFER_OUT,
                   proof_out_element(&m->s->row, s, i));
}

static bool is_garbage(const char *at, size_t bytes)
{
    return (unsigned char)at[0] == GARBAGE &&
           memcmp(at, at + 1, bytes - 1) == 0;
}

static bool check_guards(const struct proof_memory *m, int r, char *text,
                         size_t bytes)
{
    const struct simulated_rank *rank = &m->s->ranks[r];
    const size_t elem = m->op->elem_bytes, guard = GUARD * elem;
    const char *in = rank->base[home_of(&rank->shape)];
    const char *behind_in = in + home_count(&rank->shape) * elem;
    const char *behind_out = behind_in + guard + out_count(&rank->shape) * elem;
    const char *behind_tmp =
        rank->base[RCX_BUFFER_TMP] + rank->plan->scratch * elem;
    const char *what = NULL;

    if (!is_garbage(in - guard, guard))
        what = "in front of IN";
    else if (!is_garbage(behind_in, guard))
        what = "behind IN";
    else if (!is_garbage(behind_out, guard))
        what = "behind OUT";
    else if (!is_garbage(behind_tmp, guard))
        what = "behind TMP";
    if (what)
        snprintf(text, bytes, "rank %d: memory %s is written", r, what);
    return !what;
}

/* Elements lo to hi - 1 of IN must be unchanged. */
static bool check_kept(const struct proof_memory *m, int r, size_t lo,
                       size_t hi, char *text, size_t bytes)
{
    const size_t elem = m->op->elem_bytes;
    _Alignas(16) char operand[sizeof(struct proof_word)];

    for (size_t i = lo; i < hi; i++) {
        m->op->leaf(operand, r, i);
        if (memcmp(operand, element(m, r, RCX_BUFFER_IN, i), elem) != 0) {
            snprintf(text, bytes, "rank %d: element %zu of IN is written", r,
                     i);
            return false;
        }
    }
    return true;
}

/* Elements of IN that belong to later segments of a block must be unchanged. */
static bool check_later(const struct proof_memory *m, int r, char *text,
                        size_t bytes)
{
    const struct rcx_row *row = &m->s->row;
    const struct rcx_shape *s = &m->s->ranks[r].shape;
    const bool has = rcx_coll_in_is_blocks(s->coll) && rcx_shape_in_count(s);
    const int blocks = has ? s->size : 0;

    for (int i = 0; i < blocks; i++) {
        const struct rcx_span block = rcx_shape_block(s, i);

        if (block.count > row->first && block.count - row->first > row->width &&
            !check_kept(m, r, block.offset + row->first + row->width,
                        block.offset + block.count, text, bytes))
            return false;
    }
    return true;
}

/* Elements of OUT must be unwritten, except for this segment's result and, if
 * IN lies in OUT, the operand. */
static bool check_out(const struct proof_memory *m, int r, char *text,
                      size_t bytes)
{
    const size_t elem = m->op->elem_bytes;
    const struct simulated_rank *rank = &m->s->ranks[r];
    const struct rcx_shape *s = &rank->shape;
    const bool apart = s->alias == RCX_ALIAS_NONE;
    const size_t reach = rcx_shape_out_reach(s);
    const size_t count = rcx_row_out_count(&m->s->row, s);
    const char *out = rank->base[RCX_BUFFER_OUT];
    bool good = true, *is_known;

    if (count == reach || (!apart && s->alias != RCX_ALIAS_OWN))
        return true;
    is_known = calloc(reach, sizeof *is_known);
    for (size_t i = 0; i < count; i++)
        is_known[((const char *)proof_memory_result(m, r, i) - out) /
                 (ptrdiff_t)elem] = true;
    if (!apart)
        memset(is_known + (rank->base[RCX_BUFFER_IN] - out) / (ptrdiff_t)elem,
               true, rcx_shape_in_count(s));
    for (size_t i = 0; i < reach && good; i++) {
        good = is_known[i] || is_garbage(out + i * elem, elem);
        if (!good)
            snprintf(text, bytes,
                     "rank %d: element %zu of OUT, which is not of this "
                     "segment's result, is written",
                     r, i);
    }
    free(is_known);
    return good;
}

static bool check_operand(const struct proof_memory *m, int r, char *text,
                          size_t bytes)
{
    const struct rcx_row *row = &m->s->row;
    const struct rcx_shape *s = &m->s->ranks[r].shape;
    const size_t count = rcx_shape_in_count(s);
    size_t lo, hi;

    switch (s->alias) {
    case RCX_ALIAS_NONE:
    case RCX_ALIAS_OWN: return check_kept(m, r, 0, count, text, bytes);
    case RCX_ALIAS_SAME: /* the result, or data that rcx.h calls undefined */
        return true;
    default:
        lo = rcx_shape_block(s, r).offset + row->first;
        hi = lo + rcx_row_out_count(row, s);
        if (lo == hi) /* lo may be behind the block */
            return check_kept(m, r, 0, count, text, bytes);
        return check_kept(m, r, 0, lo, text, bytes) &&
               check_kept(m, r, hi, count, text, bytes);
    }
}

bool proof_memory_check(const struct proof_memory *m, char *text, size_t bytes)
{
    for (int r = 0; r < m->s->size; r++)
        if (!check_guards(m, r, text, bytes) ||
            !check_operand(m, r, text, bytes) ||
            !check_later(m, r, text, bytes) || !check_out(m, r, text, bytes))
            return false;
    return true;
}
