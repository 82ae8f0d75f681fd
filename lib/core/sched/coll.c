/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of collectives, and the expected result of each: functions that
 * tests and tools compute results with.
 */
#include "core/sched/coll.h"

#include <string.h>

#include "core/sched/algo.h"

enum {
    APART = 1 << RCX_ALIAS_NONE,
    SAME = 1 << RCX_ALIAS_SAME,
    BLOCK = 1 << RCX_ALIAS_BLOCK,
    OWN = 1 << RCX_ALIAS_OWN
};

/* Combine all operands at index i. */
static struct rcx_expected all_at(const struct rcx_shape *s, size_t i)
{
    return (struct rcx_expected){.lo = 0, .hi = s->size, .index = i};
}

/* Combine all operands at element i of this rank's block. */
static struct rcx_expected all_at_block(const struct rcx_shape *s, size_t i)
{
    return all_at(s, rcx_shape_block(s, s->rank).offset + i);
}

/* The root's operand at index i. */
static struct rcx_expected the_roots(const struct rcx_shape *s, size_t i)
{
    return (struct rcx_expected){.lo = s->root, .hi = s->root + 1, .index = i};
}

static struct rcx_expected the_roots_block(const struct rcx_shape *s, size_t i)
{
    return the_roots(s, rcx_shape_block(s, s->rank).offset + i);
}

/* Element i of the result is in the block of some rank: return that rank, and
 * the index in its block. */
static struct rcx_expected a_ranks(const struct rcx_shape *s, size_t i)
{
    const struct rcx_blocks blocks = rcx_blocks_in(s, RCX_BUFFER_OUT);
    const struct rcx_span vector = {.count = blocks.count};
    const int rank = rcx_block_at(&blocks, i);

    return (struct rcx_expected){
        .lo = rank,
        .hi = rank + 1,
        .index = i - rcx_block(&blocks, vector, rank).offset};
}

/* The same, in the block that this rank gets from that rank; blocks are
 * equal. */
static struct rcx_expected a_ranks_block(const struct rcx_shape *s, size_t i)
{
    struct rcx_expected e = a_ranks(s, i);

    e.index += rcx_shape_block(s, s->rank).offset;
    return e;
}

static struct rcx_expected all_up_to(const struct rcx_shape *s, size_t i)
{
    return (struct rcx_expected){.lo = 0, .hi = s->rank + 1, .index = i};
}

static struct rcx_expected all_before(const struct rcx_shape *s, size_t i)
{
    return (struct rcx_expected){.lo = 0, .hi = s->rank, .index = i};
}

/* clang-format off */
const struct rcx_coll_row rcx_colls[RCX_COLL_COUNT] = {
    [RCX_COLL_ALLREDUCE] = {
        .name = "allreduce", .variable = "RCX_ALLREDUCE",
        .chooses = "algorithm of allreduce",
        .gives = RCX_EXTENT_VECTOR, .gets = RCX_EXTENT_VECTOR, .reduces = true,
        .aliases = APART | SAME, .expect = all_at},
    [RCX_COLL_REDUCE] = {
        .name = "reduce", .variable = "RCX_REDUCE",
        .chooses = "algorithm of reduce",
        .gives = RCX_EXTENT_VECTOR, .gets = RCX_EXTENT_VECTOR, .reduces = true,
        .getter = RCX_RANKS_ROOT, .is_one_way = true, .aliases = APART | SAME, .expect = all_at},
    [RCX_COLL_REDUCE_SCATTER] = {
        .name = "reduce_scatter", .even = "reduce_scatter_block", .variable = "RCX_REDUCE_SCATTER",
        .chooses = "algorithm of reduce_scatter and reduce_scatter_block",
        .gives = RCX_EXTENT_BLOCKS, .gets = RCX_EXTENT_BLOCK, .reduces = true,
        .aliases = APART | SAME | BLOCK, .expect = all_at_block},
    [RCX_COLL_BARRIER] = {
        .name = "barrier", .variable = "RCX_BARRIER",
        .chooses = "algorithm of barrier", .aliases = APART},
    [RCX_COLL_BCAST] = {
        .name = "bcast", .variable = "RCX_BCAST",
        .chooses = "algorithm of bcast",
        .gives = RCX_EXTENT_VECTOR, .gets = RCX_EXTENT_VECTOR,
        .giver = RCX_RANKS_ROOT, .getter = RCX_RANKS_NOT_ROOT, .is_one_way = true,
        .aliases = APART | SAME, .expect = the_roots},
    [RCX_COLL_GATHER] = {
        .name = "gather", .uneven = "gatherv", .variable = "RCX_GATHER",
        .chooses = "algorithm of gather and gatherv",
        .gives = RCX_EXTENT_BLOCK, .gets = RCX_EXTENT_BLOCKS,
        .getter = RCX_RANKS_ROOT, .has_places = true, .is_one_way = true,
        .aliases = APART | OWN, .expect = a_ranks},
    [RCX_COLL_SCATTER] = {
        .name = "scatter", .uneven = "scatterv", .variable = "RCX_SCATTER",
        .chooses = "algorithm of scatter and scatterv",
        .gives = RCX_EXTENT_BLOCKS, .gets = RCX_EXTENT_BLOCK,
        .giver = RCX_RANKS_ROOT, .has_places = true, .is_one_way = true,
        .aliases = APART | BLOCK, .expect = the_roots_block},
    [RCX_COLL_ALLGATHER] = {
        .name = "allgather", .uneven = "allgatherv", .variable = "RCX_ALLGATHER",
        .chooses = "algorithm of allgather and allgatherv",
        .gives = RCX_EXTENT_BLOCK, .gets = RCX_EXTENT_BLOCKS,
        .has_places = true, .aliases = APART | OWN, .expect = a_ranks},
    [RCX_COLL_ALLTOALL] = {
        .name = "alltoall", .variable = "RCX_ALLTOALL",
        .chooses = "algorithm of alltoall",
        .gives = RCX_EXTENT_BLOCKS, .gets = RCX_EXTENT_BLOCKS,
        .aliases = APART | SAME, .expect = a_ranks_block},
    [RCX_COLL_ALLTOALLV] = {
        .name = "alltoallv", .variable = "RCX_ALLTOALLV",
        .chooses = "algorithm of alltoallv",
        .gives = RCX_EXTENT_BLOCKS, .gets = RCX_EXTENT_BLOCKS,
        .has_places = true, .is_local = true, .aliases = APART | SAME,
        .expect = a_ranks},
    [RCX_COLL_SCAN] = {
        .name = "scan", .variable = "RCX_SCAN",
        .chooses = "algorithm of scan",
        .gives = RCX_EXTENT_VECTOR, .gets = RCX_EXTENT_VECTOR, .reduces = true,
        .is_prefix = true, .is_one_way = true, .aliases = APART | SAME,
        .expect = all_up_to},
    [RCX_COLL_EXSCAN] = {
        .name = "exscan", .variable = "RCX_EXSCAN",
        .chooses = "algorithm of exscan",
        .gives = RCX_EXTENT_VECTOR, .gets = RCX_EXTENT_VECTOR, .reduces = true,
        .getter = RCX_RANKS_NOT_0, .is_prefix = true, .is_one_way = true,
        .aliases = APART | SAME, .expect = all_before},
};

/* clang-format on */
enum rcx_coll rcx_coll_by_name(const char *name)
{
    int coll = 0;

    while (coll < RCX_COLL_COUNT && strcmp(rcx_colls[coll].name, name) != 0)
        coll++;
    return (enum rcx_coll)coll;
}
