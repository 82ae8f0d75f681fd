/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matches simulated sends and receives, which are hashed into buckets by tag
 * and receiver. It does not move data; see network.c.
 */
#include "sim/match.h"

enum { FIRST_BUCKETS = 64, FIRST_CAPACITY = 64, SLAB = 256 };

struct slab {
    struct slab *next;
    struct side sides[SLAB];
};

bool sides_open(struct sides *sides, struct rcx_heap *heap, int ranks)
{
    *sides = (struct sides){.heap = heap};
    sides->unexpected =
        rcx_heap_zalloc(heap, (size_t)ranks * sizeof *sides->unexpected);
    return sides->unexpected;
}

void sides_close(struct sides *sides)
{
    while (sides->slabs) {
        struct slab *next = sides->slabs->next;

        rcx_heap_free(sides->heap, sides->slabs);
        sides->slabs = next;
    }
    rcx_heap_free(sides->heap, sides->buckets);
    rcx_heap_free(sides->heap, sides->pairs);
    rcx_heap_free(sides->heap, sides->unexpected);
}

void sides_recycle(struct sides *sides, struct side *side)
{
    side->next = sides->free;
    sides->free = side;
}

static struct side **bucket_of(const struct sides *sides, int rank,
                               uint64_t tag)
{
    const uint64_t hash = /* with the communicator, in the upper half */
        (tag ^ tag >> 29 ^ (uint64_t)rank << 40) * UINT64_C(0x9E3779B97F4A7C15);

    return &sides->buckets[(hash >> 24) & (sides->bucket_count - 1)];
}

static bool has_pair_room(struct sides *sides)
{
    if (sides->pair_count < sides->pair_capacity)
        return true;

    const size_t capacity =
        sides->pair_capacity ? 2 * sides->pair_capacity : FIRST_CAPACITY;
    struct pair *grown = rcx_heap_grow(sides->heap, sides->pairs,
                                       sides->pair_count * sizeof *grown,
                                       capacity * sizeof *grown);

    if (!grown)
        return false;
    sides->pairs = grown;
    sides->pair_capacity = capacity;
    return true;
}

static struct side *new_side(struct sides *sides)
{
    struct side *side = sides->free;

    if (!side) {
        struct slab *slab = rcx_heap_alloc(sides->heap, sizeof *slab);

        if (!slab)
            return NULL;
        slab->next = sides->slabs;
        sides->slabs = slab;
        for (int i = 0; i < SLAB; i++) {
            slab->sides[i].next = side;
            side = &slab->sides[i];
        }
    }
    sides->free = side->next;
    return side;
}

/* Append side to its bucket, behind older sides with the same tag. */
static void keep(struct sides *sides, struct side *side)
{
    struct side **link = bucket_of(sides, side->rank, side->tag);

    while (*link)
        link = &(*link)->next;
    *link = side;
    side->next = NULL;
}

/* Keep buckets short. An allgather posts p receives on each of p ranks. */
static bool has_bucket_room(struct sides *sides)
{
    struct side **old = sides->buckets;
    const size_t count = sides->bucket_count;

    if (sides->unmatched < count)
        return true;
    sides->bucket_count = count ? 4 * count : FIRST_BUCKETS;
    sides->buckets = rcx_heap_zalloc(sides->heap, sides->bucket_count *
                                                      sizeof *sides->buckets);
    if (!sides->buckets) {
        sides->buckets = old;
        sides->bucket_count = count;
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        while (old[i]) {
            struct side *side = old[i];

            old[i] = side->next;
            keep(sides, side);
        }
    }
    rcx_heap_free(sides->heap, old);
    return true;
}

/* Remove side *link from its list, and return it. */
static struct side *unlink_side(struct sides *sides, struct side **link)
{
    struct side *side = *link;

    *link = side->next;
    sides->unmatched--;
    sides->unexpected[side->rank] -= side->is_send;
    return side;
}

static bool fits(const struct side *a, const struct side *b)
{
    const struct side *recv = a->is_send ? b : a;

    return a->is_send != b->is_send && a->rank == b->rank &&
           ((a->tag ^ b->tag) & recv->mask) == 0;
}

/* Return the link to the oldest side of a list that fits side, or the list's
 * end. */
static struct side **oldest_in(struct side **link, const struct side *side)
{
    while (*link && !fits(*link, side))
        link = &(*link)->next;
    return link;
}

static struct side **older(struct side **a, struct side **b)
{
    return *b && (!*a || (*b)->order < (*a)->order) ? b : a;
}

/* Return the link to the oldest partner of side, or the end of the list that
 * side belongs to. A receive by mask searches all buckets, since its mask may
 * omit bits that select the bucket. */
static struct side **find_partner(struct sides *sides, const struct side *side)
{
    struct side **found = oldest_in(&sides->masked, side);

    if (side->mask == UINT64_MAX)
        return older(oldest_in(bucket_of(sides, side->rank, side->tag), side),
                     found);
    for (size_t i = 0; i < sides->bucket_count; i++)
        found = older(found, oldest_in(&sides->buckets[i], side));
    return found;
}

rcx_status_t sides_match(struct sides *sides, struct side side,
                         struct side **partner_p)
{
    struct side **link, *mine;

    if (!has_bucket_room(sides) || !has_pair_room(sides))
        return RCX_ERR_NOMEM;
    mine = new_side(sides);
    if (!mine)
        return RCX_ERR_NOMEM;
    *mine = side;
    mine->order = sides->posted++;
    link = find_partner(sides, mine);
    *partner_p = *link;
    if (*partner_p) {
        struct side *other = unlink_side(sides, link);

        sides->pairs[sides->pair_count++] =
            (struct pair){.send = side.is_send ? mine : other,
                          .recv = side.is_send ? other : mine};
        return RCX_OK;
    }
    mine->next = NULL;
    *link = mine; /* append to its list */
    sides->unmatched++;
    sides->unexpected[side.rank] += side.is_send;
    return RCX_OK;
}

/* Return the link to the receive of m in a list, or the list's end. */
static struct side **receive_in(struct side **link, int rank,
                                const struct rcx_message *m)
{
    while (*link &&
           ((*link)->is_send || (*link)->from != rank || (*link)->message != m))
        link = &(*link)->next;
    return link;
}

struct side *sides_withdraw(struct sides *sides, int rank,
                            const struct rcx_message *m)
{
    struct side **link = receive_in(&sides->masked, rank, m);

    for (size_t i = 0; i < sides->bucket_count && !*link; i++)
        link = receive_in(&sides->buckets[i], rank, m);
    return *link ? unlink_side(sides, link) : NULL;
}

/* NULL: there is none. */
static struct side **send_to(const struct sides *sides, int rank, uint64_t tag,
                             uint64_t mask)
{
    for (size_t i = 0; i < sides->bucket_count && sides->unexpected[rank]; i++)
        for (struct side **link = &sides->buckets[i]; *link;
             link = &(*link)->next)
            if ((*link)->is_send && (*link)->rank == rank &&
                (((*link)->tag ^ tag) & mask) == 0)
                return link;
    return NULL;
}

const struct side *sides_look_for(const struct sides *sides, int rank,
                                  uint64_t tag, uint64_t mask)
{
    struct side **link = send_to(sides, rank, tag, mask);

    return link ? *link : NULL;
}

struct side *sides_take_send(struct sides *sides, int rank, uint64_t tag,
                             uint64_t mask)
{
    struct side **link = send_to(sides, rank, tag, mask);

    return link ? unlink_side(sides, link) : NULL;
}

static void remove_side(struct sides *sides, struct side **link, int rank)
{
    while (*link) {
        if ((*link)->from == rank)
            sides_recycle(sides, unlink_side(sides, link));
        else
            link = &(*link)->next;
    }
}

void sides_drop(struct sides *sides, int rank)
{
    remove_side(sides, &sides->masked, rank);
    for (size_t i = 0; i < sides->bucket_count; i++)
        remove_side(sides, &sides->buckets[i], rank);
}
