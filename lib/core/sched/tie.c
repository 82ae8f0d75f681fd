/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Breaks ties of prices by less scratch, then by fewer messages. No formula
 * contains the scratch, so the schedules of the members are built and counted.
 *
 * This is for the method of a call, which is chosen once (see method.c). Phases
 * keep the first algorithm of the table with the lowest price: cost functions
 * choose them many times, and each time would build schedules.
 */
#include "core/sched/tie.h"

#include <math.h>
#include <string.h>

/* A price is a sum of less than a thousand terms, each rounded. */
static const double rounding = 1e-12;

static bool is_dearer(const struct rcx_tie *t, double seconds)
{
    return seconds > t->least * (1 + rounding);
}

void rcx_tie_begin(struct rcx_tie *t, const struct rcx_shape *shape)
{
    t->shape = *shape;
    t->least = INFINITY;
    t->count = 0;
}

/* Remove the members that are dearer than the cheapest one. */
static void thin_out(struct rcx_tie *t)
{
    int kept = 0;

    for (int i = 0; i < t->count; i++)
        if (!is_dearer(t, t->members[i].seconds))
            t->members[kept++] = t->members[i];
    t->count = kept;
}

void rcx_tie_offer(struct rcx_tie *t, const struct rcx_algo *algo,
                   const struct rcx_shape *s, double seconds)
{
    struct rcx_tie_member *m;

    if (isinf(seconds) || is_dearer(t, seconds))
        return;
    if (seconds < t->least) {
        t->least = seconds;
        thin_out(t);
    }
    if (t->count == RCX_TIE_MEMBERS)
        return;
    m = &t->members[t->count++];
    *m = (struct rcx_tie_member){
        .algo = algo, .nodes = s->nodes, .seconds = seconds};
    memcpy(m->params, s->params, sizeof m->params);
}

/* ---- What a schedule takes ----------------------------------------------- */

/* The most of any rank that is looked at. */
struct takes {
    size_t scratch; /* elements */
    uint32_t messages;
};

/*
 * The shape of a rank, of what all ranks know alike. It has no positions of
 * blocks, and no overlap of operand and result, which one rank may have alone.
 * Where counts are local, each block has one element.
 */
static struct rcx_shape shape_on(const struct rcx_tie *t,
                                 const struct rcx_tie_member *m, int rank)
{
    struct rcx_shape s = t->shape;

    s.rank = rank;
    s.nodes = m->nodes;
    memcpy(s.params, m->params, sizeof s.params);
    s.passing = NULL;
    s.gotten = NULL;
    s.neighbors = NULL;
    s.in_places = s.out_places = (struct rcx_places){0};
    s.alias = RCX_ALIAS_NONE;
    if (rcx_colls[s.coll].is_local) {
        s.displs = NULL;
        s.count = (size_t)s.size;
    }
    return s;
}

static uint32_t messages_of(const struct rcx_builder *b)
{
    uint32_t messages = 0;

    for (uint32_t i = 0; i < b->step_count; i++)
        messages += rcx_step_is_message(b->steps[i].kind);
    return messages;
}

/* Build the schedule of a rank; raise *most to what it takes. */
static rcx_status_t try_rank(const struct rcx_tie *t,
                             const struct rcx_tie_member *m, int rank,
                             struct rcx_builder *b, struct takes *most)
{
    const struct rcx_shape s = shape_on(t, m, rank);
    uint32_t messages;

    rcx_builder_begin(b, &s);
    m->algo->build(b, &s);
    b->shape = NULL; /* s ends here */
    if (b->status == RCX_ERR_NOMEM)
        return rcx_fail(b->log, RCX_ERR_NOMEM,
                        "no memory to choose a method of %s",
                        rcx_coll_name(s.coll));
    if (b->status != RCX_OK)
        return b->status;
    messages = messages_of(b);
    if (b->scratch > most->scratch)
        most->scratch = b->scratch;
    if (messages > most->messages)
        most->messages = messages;
    return RCX_OK;
}

static bool takes_less(const struct takes *a, const struct takes *b)
{
    return a->scratch != b->scratch ? a->scratch < b->scratch
                                    : a->messages < b->messages;
}

/*
 * Set *most_p to the most that a rank takes, of the root and three behind it,
 * two half way around, and the last two: of all ranks, if there are eight at
 * most. In trees these are the root, its children, the largest subtrees and
 * leaves; where a power of two leaves ranks over, some of both kinds; of a
 * prefix, the ends. Stops at limit, if any: what is no less does not win.
 *
 * So the effort is a few times that of building this rank's own schedule, for
 * any number of ranks: schedules of one price are about equally long.
 */
static rcx_status_t try_ranks(const struct rcx_tie *t,
                              const struct rcx_tie_member *m,
                              const struct takes *limit, struct rcx_builder *b,
                              struct takes *most_p)
{
    const int size = t->shape.size, half = size / 2;
    const int behind[] = {0, 1, 2, 3, half, half + 1, size - 2, size - 1};
    int last = -1;

    *most_p = (struct takes){0, 0};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        rcx_status_t status;

        if (behind[i] <= last || behind[i] >= size)
            continue;
        last = behind[i];
        status = try_rank(t, m, (int)(((int64_t)t->shape.root + last) % size),
                          b, most_p);
        if (status != RCX_OK)
            return status;
        if (limit && !takes_less(most_p, limit))
            break;
    }
    return RCX_OK;
}

rcx_status_t rcx_tie_break(const struct rcx_tie *t, struct rcx_builder *b,
                           const struct rcx_tie_member **member_p)
{
    const struct rcx_tie_member *best = NULL;
    struct takes least = {0, 0};

    for (int i = 0; i < t->count; i++) {
        const struct rcx_tie_member *m = &t->members[i];
        struct takes takes;
        const rcx_status_t status =
            try_ranks(t, m, best ? &least : NULL, b, &takes);

        if (status != RCX_OK)
            return status;
        if (best && !takes_less(&takes, &least))
            continue;
        best = m;
        least = takes;
    }
    *member_p = best;
    return RCX_OK;
}
