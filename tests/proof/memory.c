/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory.h"

#include <string.h>

enum { GARBAGE = 0xC3, GUARD = 2 /* elements */ };

/* Elements of OUT that are not part of IN. */
static size_t out_count(const struct rcx_shape *s)
{
    return s->alias == RCX_ALIAS_NONE ? rcx_shape_out_count(s) : 0;
}

static size_t size_of(const struct simulated_rank *rank)
{
    return rcx_shape_in_count(&rank->shape) + out_count(&rank->shape) +
           rank->plan->scratch + 3 * GUARD;
}

/* Guards lie behind each buffer; the first one's front is the last rank's. */
static char *lay_out(struct simulated_rank *rank, char *at, size_t elem_bytes)
{
    const struct rcx_shape *s = &rank->shape;
    const struct rcx_span out =
        rcx_shape_resolve(s, (struct rcx_span){RCX_BUFFER_OUT, 0, 0});

    rank->base[RCX_BUFFER_IN] = at;
    at += (rcx_shape_in_count(s) + GUARD) * elem_bytes;
    rank->base[RCX_BUFFER_OUT] =
        out.buffer == RCX_BUFFER_OUT
            ? at
            : rank->base[RCX_BUFFER_IN] + out.offset * elem_bytes;
    at += (out_count(s) + GUARD) * elem_bytes;
    rank->base[RCX_BUFFER_TMP] = at;
    return at + (rank->plan->scratch + GUARD) * elem_bytes;
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
            m->op->leaf(rank->base[RCX_BUFFER_IN] + i * m->op->elem_bytes, r,
                        i);
    }
}

const void *proof_memory_result(const struct proof_memory *m, int rank,
                                size_t i)
{
    return m->s->ranks[rank].base[RCX_BUFFER_OUT] +
           (m->s->row.first + i) * m->op->elem_bytes;
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
    const char *in = rank->base[RCX_BUFFER_IN];
    const char *behind_in = in + rcx_shape_in_count(&rank->shape) * elem;
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

/* Elements of IN, from lo on, that stay as they were. */
static bool check_kept(const struct proof_memory *m, int r, size_t lo,
                       size_t hi, char *text, size_t bytes)
{
    const size_t elem = m->op->elem_bytes;
    const char *in = m->s->ranks[r].base[RCX_BUFFER_IN];
    _Alignas(16) char operand[sizeof(struct proof_word)];

    for (size_t i = lo; i < hi; i++) {
        m->op->leaf(operand, r, i);
        if (memcmp(operand, in + i * elem, elem) != 0) {
            snprintf(text, bytes, "rank %d: element %zu of IN is written", r,
                     i);
            return false;
        }
    }
    return true;
}

/* What is not this segment's: later ones of every block, and where OUT is the
 * own block, all but the result. */
static bool check_later(const struct proof_memory *m, int r, char *text,
                        size_t bytes)
{
    const struct rcx_row *row = &m->s->row;
    const struct rcx_shape *s = &m->s->ranks[r].shape;
    const int blocks = rcx_coll_has_blocks(s->coll) ? s->size : 0;

    for (int i = 0; i < blocks; i++) {
        const struct rcx_span block = rcx_shape_block(s, i);

        if (block.count > row->first && block.count - row->first > row->width &&
            !check_kept(m, r, block.offset + row->first + row->width,
                        block.offset + block.count, text, bytes))
            return false;
    }
    return true;
}

static bool check_out(const struct proof_memory *m, int r, char *text,
                      size_t bytes)
{
    const size_t elem = m->op->elem_bytes;
    const struct simulated_rank *rank = &m->s->ranks[r];
    const size_t lo = m->s->row.first;
    const size_t hi = lo + rcx_row_out_count(&m->s->row, &rank->shape);

    for (size_t i = 0; i < out_count(&rank->shape); i++) {
        if ((i < lo || i >= hi) &&
            !is_garbage(rank->base[RCX_BUFFER_OUT] + i * elem, elem)) {
            snprintf(text, bytes,
                     "rank %d: element %zu of OUT, which is not "
                     "of this segment, is written",
                     r, i);
            return false;
        }
    }
    return true;
}

static bool check_operand(const struct proof_memory *m, int r, char *text,
                          size_t bytes)
{
    const struct rcx_row *row = &m->s->row;
    const struct rcx_shape *s = &m->s->ranks[r].shape;
    const size_t count = rcx_shape_in_count(s);
    size_t lo, hi;

    switch (s->alias) {
    case RCX_ALIAS_NONE: return check_kept(m, r, 0, count, text, bytes);
    case RCX_ALIAS_SAME: /* the result, and what rcx.h calls undefined */
        return true;
    default:
        lo = rcx_shape_block(s, r).offset + row->first;
        hi = lo + rcx_row_out_count(row, s);
        if (lo == hi) /* it may lie behind the block */
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
