/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rounds of factorized reductions, as numbers: which ranks meet in each
 * round, for factorized.c and reduce_scatter/factorized.c. No steps are written
 * here. rounds.h describes the rounds.
 */
#include "algo/phase/rounds.h"

void rcx_rounds_begin(struct rcx_rounds *r, int size, int rank,
                      const struct rcx_factoring *how)
{
    *r = (struct rcx_rounds){
        .groups = size, .group = rank, .width = 1, .how = *how, .factor = 3};
    if (r->how.ring_max < r->how.radix)
        r->how.ring_max = r->how.radix;
}

/* ---- Butterfly and rings ------------------------------------------------- */

/* Return the next prime factor of a number of groups, for a butterfly step or a
 * ring; 0: none. */
static int next_prime(struct rcx_rounds *r, int groups)
{
    if (groups % 2 == 0)
        return 2;
    for (; groups > 1 && r->factor <= r->how.ring_max; r->factor += 2) {
        if (r->factor > groups / r->factor)
            return groups <= r->how.ring_max ? groups : 0; /* a prime */
        if (groups % r->factor == 0)
            return r->factor;
    }
    return 0;
}

/* Return the factor of the next step; 0: no prime factor is left. */
static int next_factor(struct rcx_rounds *r)
{
    int factor = next_prime(r, r->groups), prime = factor;

    while (prime > 0 && factor < r->how.radix) {
        prime = next_prime(r, r->groups / factor);
        if (prime > r->how.radix / factor)
            break;
        factor *= prime > 0 ? prime : 1;
    }
    return factor;
}

static void swap(struct rcx_rounds *r, int factor, struct rcx_meeting *m)
{
    const int place = r->group % factor, first = r->group - place;
    const int zero = first * r->width + r->lane;

    *m = (struct rcx_meeting){.kind = RCX_MEETING_SWAP,
                              .size = factor,
                              .place = place,
                              .group = first,
                              .zero = zero,
                              .one = zero + r->width,
                              .stride = r->width};
    r->lane += place * r->width;
    r->group /= factor;
    r->groups /= factor;
    r->width *= factor;
}

/* ---- Elimination --------------------------------------------------------- */

/* Return the unit of this rank's lane in a group. */
static int unit_of(const struct rcx_rounds *r, int group)
{
    const int lane = r->lane, q = r->units;

    if (r->how.protocol == RCX_PROTOCOL_NONOVERLAPPING && r->width > 1) {
        /* group 0 of the first step spans three units, groups that absorbed
         * another one span four, others two; the lowest two units of each are
         * active */
        const int one = group * (r->width / 2) + lane / 2;
        const int wide = one - 1 < r->absorbed ? one - 1 : r->absorbed;

        return one == 0 ? lane : 2 * (one + wide) + 1 + lane % 2;
    }
    if (group > 0)
        return q % r->width + group * r->width + lane;
    /* the lane was in group 1 of the round of its highest bit */
    return lane == 0 ? 0 : lane + q % rcx_pow2_floor(lane);
}

static int member_of(const struct rcx_rounds *r, int group)
{
    return unit_of(r, group) * r->unit_width + r->unit_lane;
}

static void meet(const struct rcx_rounds *r, enum rcx_meeting_kind kind,
                 int size, int place, struct rcx_meeting *m)
{
    const int group = r->group - place, one = member_of(r, group + 1);

    *m = (struct rcx_meeting){
        .kind = kind,
        .size = size,
        .place = place,
        .group = group,
        .zero = member_of(r, group),
        .one = one,
        .stride = size == 3 ? member_of(r, group + 2) - one : 0};
}

/* A round of pairs of groups, and a 3-2 step of the lowest three if the number
 * of groups is odd. */
static void halve(struct rcx_rounds *r, struct rcx_meeting *m)
{
    const int odd = r->groups % 2;

    if (odd && r->group < 3)
        meet(r, RCX_MEETING_THREE_TWO, 3, r->group, m);
    else
        meet(r, RCX_MEETING_SWAP, 2, (r->group - odd) % 2, m);
    if (!rcx_meeting_eliminates(m, m->place))
        r->lane += m->place * r->width;
    r->group = r->group == 0 ? 0 : (r->group - odd) / 2;
    r->groups /= 2;
    r->width *= 2;
}

/* A round in which groups 1 to 2 a do 2-1 steps in pairs, which leaves a of
 * them and a power of two of groups in all. */
static void absorb(struct rcx_rounds *r, struct rcx_meeting *m)
{
    const int a = r->groups - rcx_pow2_floor(r->groups);

    if (r->group >= 1 && r->group <= 2 * a) {
        meet(r, RCX_MEETING_TWO_ONE, 2, (r->group - 1) % 2, m);
        r->group = (r->group + 1) / 2;
    } else {
        *m = (struct rcx_meeting){.kind = RCX_MEETING_NONE, .group = r->group};
        r->group -= r->group == 0 ? 0 : a;
    }
    r->groups -= a;
    r->absorbed = a;
}

static void begin_elimination(struct rcx_rounds *r)
{
    r->units = r->groups;
    r->unit_width = r->width;
    r->unit_lane = r->lane;
    r->width = 1;
    r->lane = 0;
}

bool rcx_rounds_next(struct rcx_rounds *r, struct rcx_meeting *m)
{
    const int factor = r->units || r->groups == 1 ? 0 : next_factor(r);

    if (r->groups == 1)
        return false;
    if (factor > 0) {
        swap(r, factor, m);
        return true;
    }
    if (r->units == 0)
        begin_elimination(r);
    if (r->how.protocol == RCX_PROTOCOL_NONOVERLAPPING && r->width > 1 &&
        r->groups != rcx_pow2_floor(r->groups))
        absorb(r, m);
    else
        halve(r, m);
    return true;
}

int rcx_rounds_rank(const struct rcx_rounds *r, int group, int lane)
{
    struct rcx_rounds other = *r;

    if (r->units == 0)
        return group * r->width + lane;
    other.lane = lane / r->unit_width;
    other.unit_lane = lane % r->unit_width;
    return member_of(&other, group);
}
