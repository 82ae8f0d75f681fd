/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The butterfly of Swing and Bine, as numbers, for phase halving and for
 * allreduce swing: peers, parts and members. swing.h describes it.
 */
#include "algo/phase/swing.h"

const int64_t rcx_swing_columns_proved[] = {0, 2, 8, RCX_PARAM_END};

static bool is_pow2(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

bool rcx_swing_fits(const struct rcx_shape *s, int64_t columns)
{
    return columns == 0 ||
           (is_pow2(s->size) && is_pow2(columns) && columns <= s->size);
}

struct rcx_swing rcx_swing_of(const struct rcx_shape *s, int64_t columns)
{
    const int size = rcx_pow2_floor(s->size);

    return (struct rcx_swing){.size = size,
                              .columns = columns ? (int)columns : size};
}

/* A step: the dimension that it is in, and its number there. */
struct turn {
    int size, stride; /* members along the dimension, and between them */
    int step;
};

/* Dimensions take turns until the shorter one has no more steps. */
static struct turn turn_of(const struct rcx_swing *w, int step)
{
    const int rows = w->size / w->columns;
    const int shorter = rows < w->columns ? rows : w->columns;
    const int both = 2 * rcx_log2_floor(shorter);
    const bool in_row = step < both ? step % 2 == 0 : w->columns > rows;

    return (struct turn){.size = in_row ? w->columns : rows,
                         .stride = in_row ? 1 : w->columns,
                         .step = step < both ? step / 2 : step - both / 2};
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
