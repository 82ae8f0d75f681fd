/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/sched/coll.h"

#include <string.h>

enum {
    APART = 1 << RCX_ALIAS_NONE,
    SAME = 1 << RCX_ALIAS_SAME,
    BLOCK = 1 << RCX_ALIAS_BLOCK
};

/* All operands at the same place. */
static struct rcx_expected all_at(const struct rcx_shape *s, size_t i)
{
    return (struct rcx_expected){.lo = 0, .hi = s->size, .index = i};
}

/* All operands at the same place of the own block. */
static struct rcx_expected all_at_block(const struct rcx_shape *s, size_t i)
{
    return all_at(s, rcx_shape_block(s, s->rank).offset + i);
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
        .root_gets = true, .aliases = APART | SAME, .expect = all_at},
    [RCX_COLL_REDUCE_SCATTER] = {
        .name = "reduce_scatter", .variable = "RCX_REDUCE_SCATTER",
        .chooses = "algorithm of reduce_scatter and reduce_scatter_block",
        .gives = RCX_EXTENT_BLOCKS, .gets = RCX_EXTENT_BLOCK, .reduces = true,
        .aliases = APART | SAME | BLOCK, .expect = all_at_block},
    [RCX_COLL_BARRIER] = {
        .name = "barrier", .aliases = APART},
};

/* clang-format on */
enum rcx_coll rcx_coll_by_name(const char *name)
{
    int coll = 0;

    while (coll < RCX_COLL_COUNT && strcmp(rcx_colls[coll].name, name) != 0)
        coll++;
    return (enum rcx_coll)coll;
}
