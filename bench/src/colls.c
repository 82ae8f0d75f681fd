/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of collectives, and what each element of a result is made of.
 */
#include "colls.h"

/* The sum of all operands at index i. */
static struct loop_expected all_at(const struct loop_shape *s, size_t i)
{
    return (struct loop_expected){.lo = 0, .hi = s->size, .index = i};
}

/* The sum of all operands at element i of this rank's block. */
static struct loop_expected all_at_block(const struct loop_shape *s, size_t i)
{
    return all_at(s, s->displs[s->rank] + i);
}

/* The root's operand at index i. */
static struct loop_expected the_roots(const struct loop_shape *s, size_t i)
{
    (void)s;
    return (struct loop_expected){.lo = 0, .hi = 1, .index = i};
}

static struct loop_expected the_roots_block(const struct loop_shape *s,
                                            size_t i)
{
    return the_roots(s, s->displs[s->rank] + i);
}

/* Element i of the result is in the block of some rank: return that rank, and
 * the index in its block. */
static struct loop_expected a_ranks(const struct loop_shape *s, size_t i)
{
    int rank = 0;

    while (s->displs[rank + 1] <= i)
        rank++;
    return (struct loop_expected){
        .lo = rank, .hi = rank + 1, .index = i - s->displs[rank]};
}

/* The same, in the block that this rank gets from that rank; blocks are
 * equal. */
static struct loop_expected a_ranks_block(const struct loop_shape *s, size_t i)
{
    struct loop_expected e = a_ranks(s, i);

    e.index += s->displs[s->rank];
    return e;
}

static struct loop_expected all_up_to(const struct loop_shape *s, size_t i)
{
    return (struct loop_expected){.lo = 0, .hi = s->rank + 1, .index = i};
}

static struct loop_expected all_before(const struct loop_shape *s, size_t i)
{
    return (struct loop_expected){.lo = 0, .hi = s->rank, .index = i};
}

/* clang-format off */
const struct loop_coll_row loop_colls[LOOP_COLLS] = {
    [LOOP_ALLREDUCE] = {
        .name = "allreduce",
        .gives = LOOP_VECTOR, .gets = LOOP_VECTOR, .expect = all_at},
    [LOOP_REDUCE] = {
        .name = "reduce",
        .gives = LOOP_VECTOR, .gets = LOOP_VECTOR, .getters = LOOP_ROOT, .expect = all_at},
    [LOOP_REDUCE_SCATTER] = {
        .name = "reduce_scatter", .has_counts = 1,
        .gives = LOOP_BLOCKS, .gets = LOOP_BLOCK, .expect = all_at_block},
    [LOOP_REDUCE_SCATTER_BLOCK] = {
        .name = "reduce_scatter_block",
        .gives = LOOP_BLOCKS, .gets = LOOP_BLOCK, .expect = all_at_block},
    [LOOP_BARRIER] = {
        .name = "barrier"},
    [LOOP_BCAST] = {
        .name = "bcast",
        .gives = LOOP_VECTOR, .gets = LOOP_VECTOR, .getters = LOOP_NOT_ROOT, .expect = the_roots},
    [LOOP_GATHER] = {
        .name = "gather",
        .gives = LOOP_BLOCK, .gets = LOOP_BLOCKS, .getters = LOOP_ROOT, .expect = a_ranks},
    [LOOP_GATHERV] = {
        .name = "gatherv", .has_counts = 1,
        .gives = LOOP_BLOCK, .gets = LOOP_BLOCKS, .getters = LOOP_ROOT, .expect = a_ranks},
    [LOOP_SCATTER] = {
        .name = "scatter",
        .gives = LOOP_BLOCKS, .gets = LOOP_BLOCK, .expect = the_roots_block},
    [LOOP_SCATTERV] = {
        .name = "scatterv", .has_counts = 1,
        .gives = LOOP_BLOCKS, .gets = LOOP_BLOCK, .expect = the_roots_block},
    [LOOP_ALLGATHER] = {
        .name = "allgather",
        .gives = LOOP_BLOCK, .gets = LOOP_BLOCKS, .expect = a_ranks},
    [LOOP_ALLGATHERV] = {
        .name = "allgatherv", .has_counts = 1,
        .gives = LOOP_BLOCK, .gets = LOOP_BLOCKS, .expect = a_ranks},
    [LOOP_ALLTOALL] = {
        .name = "alltoall",
        .gives = LOOP_BLOCKS, .gets = LOOP_BLOCKS, .expect = a_ranks_block},
    [LOOP_ALLTOALLV] = {
        .name = "alltoallv", .has_counts = 1, .is_local = 1,
        .gives = LOOP_BLOCKS, .gets = LOOP_BLOCKS, .expect = a_ranks},
    [LOOP_SCAN] = {
        .name = "scan",
        .gives = LOOP_VECTOR, .gets = LOOP_VECTOR, .expect = all_up_to},
    [LOOP_EXSCAN] = {
        .name = "exscan",
        .gives = LOOP_VECTOR, .gets = LOOP_VECTOR, .getters = LOOP_NOT_ROOT, .expect = all_before},
    [LOOP_ALLREDUCE_MANY] = {
        .name = "allreduce_many",
        .gives = LOOP_VECTOR, .gets = LOOP_VECTOR, .expect = all_at},
    /* all blocks are empty except the partner's */
    [LOOP_SENDRECV] = {
        .name = "sendrecv", .is_local = 1,
        .gives = LOOP_BLOCKS, .gets = LOOP_BLOCKS, .expect = a_ranks},
};

/* clang-format on */
int loop_coll_has_blocks(enum loop_coll coll)
{
    return loop_colls[coll].gives >= LOOP_BLOCK;
}

int loop_coll_gets(enum loop_coll coll, int rank)
{
    switch (loop_colls[coll].getters) {
    case LOOP_ROOT: return rank == 0;
    case LOOP_NOT_ROOT: return rank != 0;
    default: return 1;
    }
}
