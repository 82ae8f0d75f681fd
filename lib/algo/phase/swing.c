/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The butterfly of Swing and Bine, as numbers, for phase halving and for
 * allreduce swing: peers, parts and members. swing.h describes it.
 */
#include "algo/phase/swing.h"

const int64_t rcx_swing_columns_proved[] = {0, 2, 8, RCX_PARAM_END};
const int64_t rcx_swing_rows_proved[] = {0, 1, 4, RCX_PARAM_END};

enum { COLUMNS, ROWS };

static bool is_pow2(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

bool rcx_swing_fits(const struct rcx_shape *s, const int64_t torus[2])
{
    const int64_t columns = torus[COLUMNS], rows = torus[ROWS];

    if (columns == 0)
        return rows == 0;
    return is_pow2(s->size) && is_pow2(columns) && columns <= s->size &&
           (rows == 0 || (is_pow2(rows) && rows <= s->size / columns));
}

struct rcx_swing rcx_swing_of(const struct rcx_shape *s, const int64_t torus[2])
{
    const int size = rcx_pow2_floor(s->size);

    return (struct rcx_swing){.size = size,
                              .columns =
                                  torus[COLUMNS] ? (int)torus[COLUMNS] : size,
                              .rows = (int)torus[ROWS]};
}

/* A step: the dimension that it is in, and its number there. */
struct turn {
    int size, stride; /* members along the dimension, and between them */
    int step;
};

/* Dimensions take turns; those that have no more steps are left out. */
static struct turn turn_of(const struct rcx_swing *w, int step)
{
    const int rest = w->size / w->columns, rows = w->rows ? w->rows : rest;
    const int sizes[] = {w->columns, rows, rest / rows};

    for (int i = 0;; i++)
        for (int d = 0, stride = 1; d < 3; stride *= sizes[d++])
            if (1 << i < sizes[d] && step-- == 0)
                return (struct turn){sizes[d], stride, i};
}

/* Return 1 - 2 + 4 - ... (-2)^step. */
static int64_t distance(int step)
{
    const int64_t power = INT64_C(2) << step;

    return (step % 2 ? 1 - power : 1 + power) / 3;
}

static int coordinate(const struct turn *t, int member)
{
    return member / t->stride % t->size;
}

/* Return the member at another coordinate of the same row or column. */
static int moved(const struct turn *t, int member, int64_t to)
{
    const int64_t wrapped = (to % t->size + t->size) % t->size;

    return (int)(member + (wrapped - coordinate(t, member)) * t->stride);
}

int rcx_swing_peer(const struct rcx_swing *w, int member, int step)
{
    const struct turn t = turn_of(w, step);
    const int at = coordinate(&t, member);
    const int64_t far = distance(t.step);

    return moved(&t, member, at % 2 ? at - far : at + far);
}

/* Whether coordinate 0 is reached from another one by earlier steps alone, in
 * descending order. They reach 2^step coordinates side by side: of an even one
 * from `lowest` on, upwards, and of an odd one downwards. */
static bool reaches_zero(const struct turn *t, int from)
{
    const int64_t lowest = 2 * (1 - (INT64_C(1) << (t->step & -2))) / 3;
    const int64_t to_zero = from % 2 ? from : -(int64_t)from;
    const int64_t above = (to_zero - lowest) % t->size;

    return (above + t->size) % t->size < INT64_C(1) << t->step;
}

/* The way back to member 0 takes the same steps in descending order. */
int rcx_swing_part_of(const struct rcx_swing *w, int member)
{
    int part = 0;

    for (int step = rcx_log2_floor(w->size) - 1, bit = 1; step >= 0;
         step--, bit *= 2) {
        const struct turn t = turn_of(w, step);

        if (reaches_zero(&t, coordinate(&t, member)))
            continue;
        part += bit;
        member = rcx_swing_peer(w, member, step);
    }
    return part;
}

int rcx_swing_member_of(const struct rcx_swing *w, int part)
{
    int member = 0;

    for (int step = 0, bit = w->size / 2; bit > 0; step++, bit /= 2)
        if (part & bit)
            member = rcx_swing_peer(w, member, step);
    return member;
}
