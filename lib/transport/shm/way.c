/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Searches for the faster way of long messages.
 *
 * A comparison lets TRIES messages take the other way, and TRIES this one. The
 * other way becomes the way if its median is shorter by an eighth at least: so
 * two ways that are equal do not alternate. A ring that has not been used is in
 * no cache, or not mapped yet, so the messages of a first lap are not counted.
 * Comparisons become rarer while nothing changes, down to one in RARELY
 * messages. If STRANGE messages in a row took much more or much less time
 * than in the last comparison, something has changed, as cores that have become
 * far from each other, and the next comparison comes at once; but not within an
 * eighth of the usual distance, for programs whose messages all differ.
 */
#include "transport/shm/way.h"

#include <stdlib.h>
#include <string.h>

enum { STRANGE = 8 };

void rcx_way_search_begin(struct rcx_way_search *s, enum rcx_way guess,
                          uint16_t lap)
{
    *s = (struct rcx_way_search){.way = guess,
                                 .left = lap + RCX_WAY_FIRST,
                                 .interval = RCX_WAY_SOON / 2,
                                 .lap = lap};
}

static int order_of(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static uint32_t median(uint32_t *took)
{
    qsort(took, RCX_WAY_TRIES, sizeof *took, order_of);
    return took[RCX_WAY_TRIES / 2];
}

static void begin_to_compare(struct rcx_way_search *s)
{
    s->compares = true;
    s->cold = s->way == RCX_WAY_RING ? 0 : s->lap;
    memset(s->tried, 0, sizeof s->tried);
}

static void decide(struct rcx_way_search *s)
{
    const unsigned other = !s->way;
    const uint64_t now = median(s->took[s->way]);
    const uint64_t then = median(s->took[other]);
    const bool changes = 8 * then <= 7 * now;
    const unsigned next = 2 * s->interval;

    s->way = changes ? other : s->way;
    s->usual = (uint32_t)(changes ? then : now);
    s->interval = changes                 ? RCX_WAY_SOON
                  : next < RCX_WAY_RARELY ? next
                                          : RCX_WAY_RARELY;
    s->left = s->interval;
    s->strange = 0;
    s->compares = false;
}

static void compare(struct rcx_way_search *s, enum rcx_way way, uint32_t ticks)
{
    if (way == RCX_WAY_RING && s->cold > 0)
        s->cold--;
    else if (s->tried[way] < RCX_WAY_TRIES)
        s->took[way][s->tried[way]++] = ticks;
    if (s->tried[RCX_WAY_RING] == RCX_WAY_TRIES &&
        s->tried[RCX_WAY_KERNEL] == RCX_WAY_TRIES)
        decide(s);
}

/* Times that differ by a factor of 1.5 are not the same. */
static bool is_strange(const struct rcx_way_search *s, uint32_t ticks)
{
    return s->usual > 0 && (2 * (uint64_t)ticks > 3 * (uint64_t)s->usual ||
                            3 * (uint64_t)ticks < 2 * (uint64_t)s->usual);
}

static void watch(struct rcx_way_search *s, uint32_t ticks)
{
    const bool may_be_early = s->left + s->interval / 8 <= s->interval;

    s->strange = is_strange(s, ticks) ? s->strange + 1 : 0;
    if (--s->left == 0 || (s->strange >= STRANGE && may_be_early))
        begin_to_compare(s);
}

enum rcx_way rcx_way_search_note(struct rcx_way_search *s, enum rcx_way way,
                                 uint64_t ticks)
{
    const enum rcx_way other = !s->way;
    const uint32_t took = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;

    if (s->compares)
        compare(s, way, took);
    else if (way == s->way)
        watch(s, took);
    return s->compares && s->tried[other] < RCX_WAY_TRIES
               ? other
               : (enum rcx_way)s->way;
}

/* The messages of a class that fill the ring of p. */
static uint16_t lap_of(const struct rcx_shm_channel *p, unsigned class)
{
    const size_t lap = p->ring_in.size / ((size_t)RCX_WAY_LEAST << class);

    return (uint16_t)(lap < RCX_WAY_RARELY ? lap : RCX_WAY_RARELY);
}

static enum rcx_way guess_of(const struct rcx_shm_channel *p, unsigned class)
{
    return (size_t)RCX_WAY_LEAST << class >= p->lane->settings.cma
               ? RCX_WAY_KERNEL
               : RCX_WAY_RING;
}

/* Without memory the first guess remains. */
static bool begin_searches(struct rcx_shm_channel *p)
{
    if (!p->ways)
        p->ways = rcx_heap_alloc(p->lane->heap, sizeof *p->ways);
    for (unsigned i = 0; p->ways && i < RCX_WAY_CLASSES; i++)
        rcx_way_search_begin(&p->ways->of[i], guess_of(p, i), lap_of(p, i));
    return p->ways;
}

void rcx_way_note(struct rcx_shm_channel *p, size_t bytes, enum rcx_way way,
                  uint64_t ticks)
{
    const unsigned class = rcx_way_class(bytes);
    uint32_t told, now;
    enum rcx_way next;

    if (!p->ways && !begin_searches(p))
        return;
    next = rcx_way_search_note(&p->ways->of[class], way, ticks);
    told = atomic_load_explicit(&p->in->wrong_guesses, memory_order_relaxed);
    now = (told & ~(1u << class)) | (uint32_t)(next != guess_of(p, class))
                                        << class;
    if (now != told)
        atomic_store_explicit(&p->in->wrong_guesses, now, memory_order_relaxed);
}
