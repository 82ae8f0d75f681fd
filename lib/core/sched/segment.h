/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments: an operation cut into smaller ones, which form a pipeline. A
 * segment contains the same elements of every block, as far as the block has
 * them. A collective without blocks has one block, the vector. So every rank
 * has a share of every segment. Segments of the same width share a schedule;
 * only their base addresses differ.
 */
#ifndef RCX_CORE_SCHED_SEGMENT_H
#define RCX_CORE_SCHED_SEGMENT_H

#include "core/sched/algo.h"

/* A row of equal segments: segment i contains width elements of each block,
 * from first + i * width on. */
struct rcx_row {
    size_t first;
    size_t width;
    uint64_t segments;
};

struct rcx_cutter {
    struct rcx_heap *heap;
    size_t *ends; /* lengths of blocks, ascending */
    size_t n;
    size_t times;   /* number of blocks of each length */
    size_t limit;   /* most elements of a segment, all blocks together */
    size_t done;    /* elements of each block that are in a row already */
    size_t largest; /* the only entry of ends, if blocks are equal or there is
                       one segment */
    bool begun;
};

/* Prepare to cut an operation into segments of at most limit elements; 0: into
 * one segment. */
rcx_status_t rcx_cutter_open(struct rcx_cutter *c, struct rcx_heap *heap,
                             const struct rcx_shape *whole, size_t limit);
/* Store the next row in *row. There is at least one row, even of an empty
 * operation. False: there are no more rows. */
bool rcx_cutter_next(struct rcx_cutter *c, struct rcx_row *row);
void rcx_cutter_rewind(struct rcx_cutter *c);
void rcx_cutter_close(struct rcx_cutter *c);

/* Number of elements of this rank's result in a segment of row. */
size_t rcx_row_out_count(const struct rcx_row *row,
                         const struct rcx_shape *whole);

/*
 * Write the schedule of the segments of row into b. It applies to IN and OUT
 * from the element on where a segment begins. whole must stay valid until b is
 * finished.
 */
void rcx_row_build(struct rcx_builder *b, const struct rcx_algo *algo,
                   const struct rcx_shape *whole, const struct rcx_row *row);

#endif
