/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trees of PAT algorithms, as numbers, and their cost; no steps are written
 * here. pat.h describes the trees.
 */
#include "algo/phase/pat.h"

#include <limits.h>

enum { AGGREGATION }; /* parameters */
enum { MESSAGE_BYTES = 64 << 10 };

static const int64_t aggregations_proved[] = {1, 3, INT_MAX, RCX_PARAM_END};

/* As many blocks as a message of MESSAGE_BYTES has: then scratch does not grow
 * with the vector. */
static int64_t aggregation_candidate(const struct rcx_shape *s, int i)
{
    struct rcx_blocks blocks;
    size_t bytes;

    if (!s || i > 0)
        return RCX_PARAM_END;
    blocks = rcx_blocks_of(s);
    bytes = rcx_blocks_largest(&blocks) * s->elem_bytes;
    if (bytes <= MESSAGE_BYTES / (size_t)s->size)
        return s->size;
    return bytes < MESSAGE_BYTES ? (int64_t)(MESSAGE_BYTES / bytes) : 1;
}

const struct rcx_param rcx_pat_params[] = {
    [AGGREGATION] = {.name = "aggregation",
                     .doc = "blocks of a message, at most; auto: as many as 64 "
                            "KB have",
                     .least = 1,
                     .most = INT_MAX,
                     .usual = RCX_PARAM_AUTO,
                     .proved = aggregations_proved,
                     .candidate = aggregation_candidate},
    {.name = NULL}};

struct rcx_pat rcx_pat_of(const struct rcx_shape *s)
{
    const int64_t most = s->params[AGGREGATION], p = s->size;
    const int width = (int)((p + most - 1) / most);

    return (struct rcx_pat){.s = s,
                            .blocks = rcx_blocks_of(s),
                            .trees = (s->size - 1) / width + 1,
                            .width = width};
}

int rcx_pat_trees(const struct rcx_pat *pat, int place)
{
    return (pat->s->size - 1 - place) / pat->width + 1;
}

int rcx_pat_odd(const struct rcx_pat *pat, int dist)
{
    return (pat->trees - 1 + dist) / (2 * dist);
}

int rcx_pat_rank(const struct rcx_pat *pat, int distance)
{
    const int p = pat->s->size;

    return (int)(((int64_t)pat->s->rank + distance + p) % p);
}

struct rcx_span rcx_pat_block(const struct rcx_pat *pat, struct rcx_span span,
                              int distance)
{
    return rcx_block(&pat->blocks, span, rcx_pat_rank(pat, -distance));
}

/* Return the elements of so many different blocks, at most. */
static size_t room(const struct rcx_pat *pat, int blocks)
{
    const size_t all = pat->blocks.count, n = (size_t)blocks;
    const size_t largest = rcx_blocks_largest(&pat->blocks);

    return n && largest > all / n ? all : largest * n;
}

size_t rcx_pat_longest(const struct rcx_pat *pat)
{
    return room(pat, pat->width > 1 ? pat->trees : pat->trees / 2);
}

size_t rcx_pat_row(const struct rcx_pat *pat)
{
    return room(pat, pat->trees);
}

struct rcx_cost rcx_pat_cost(const struct rcx_shape *s)
{
    const struct rcx_pat pat = rcx_pat_of(s);

    return (struct rcx_cost){.rounds = rcx_log2_ceil(pat.trees) + pat.width - 1,
                             .volume = (s->size - 1) *
                                       (double)rcx_blocks_largest(&pat.blocks)};
}
