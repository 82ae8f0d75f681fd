/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments: an operation cut into smaller ones that follow each other in a
 * pipeline. A segment takes the same elements of every block, as far as a
 * block has them; all collectives but reduce_scatter have one block, the
 * vector. So every rank has its share of every segment, and segments that take
 * equally much share a schedule, only their base addresses differ.
 */
#ifndef RCX_CORE_SCHED_SEGMENT_H
#define RCX_CORE_SCHED_SEGMENT_H

#include "core/sched/algo.h"

/* Equal segments in a row: the i-th takes width elements of each block from
 * first + i * width on. */
struct rcx_row {
    size_t first;
    size_t width;
    uint64_t segments;
};

struct rcx_cutter {
    struct rcx_heap *heap;
    size_t *ends; /* lengths of blocks, ascending */
    size_t n;
    size_t times;   /* blocks of each length */
    size_t limit;   /* elements of a segment */
    size_t done;    /* elements of each block that are in a row */
    size_t largest; /* the one length, where lengths do not matter */
    bool begun;
};

/* Cut an operation into segments of up to limit elements; 0: into one. */
rcx_status_t rcx_cutter_open(struct rcx_cutter *c, struct rcx_heap *heap,
                             const struct rcx_shape *whole, size_t limit);
/* The next row, one at least; false: that was all. */
bool rcx_cutter_next(struct rcx_cutter *c, struct rcx_row *row);
void rcx_cutter_rewind(struct rcx_cutter *c);
void rcx_cutter_close(struct rcx_cutter *c);

/* Elements of this rank's result in a segment of row. */
size_t rcx_row_out_count(const struct rcx_row *row,
                         const struct rcx_shape *whole);

/* Where element i of this rank's result in a segment of row, in the order in
 * which an algorithm sees them, is among all of its result's. */
size_t rcx_row_out_element(const struct rcx_row *row,
                           const struct rcx_shape *whole, size_t i);

/*
 * Write the schedule of row's segments into b, for bases of IN and OUT at the
 * elements where a segment begins. whole stays valid until b is finished.
 */
void rcx_row_build(struct rcx_builder *b, const struct rcx_algo *algo,
                   const struct rcx_shape *whole, const struct rcx_row *row);

#endif
