/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds ranges of a user's memory that overlap, by sorting them.
 */
#include "core/api/overlap.h"

static void sift(struct rcx_mem_range heap[], size_t at, size_t n)
{
    const struct rcx_mem_range sunk = heap[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child].at < heap[child + 1].at)
            child++;
        if (heap[child].at <= sunk.at)
            break;
        heap[at] = heap[child];
    }
    heap[at] = sunk;
}

void rcx_mem_ranges_sort(struct rcx_mem_range regions[], size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(regions, i, n);
    for (size_t i = n; i-- > 1;) {
        const struct rcx_mem_range last = regions[0];

        regions[0] = regions[i];
        regions[i] = last;
        sift(regions, 0, i);
    }
}

/* The last one that begins before the end reaches furthest. */
const struct rcx_mem_range *
rcx_mem_ranges_overlap(const struct rcx_mem_range regions[], size_t n,
                       const char *at, size_t bytes)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;

        if (regions[middle].at < at + bytes)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo > 0 && regions[lo - 1].at + regions[lo - 1].bytes > at
               ? &regions[lo - 1]
               : NULL;
}
