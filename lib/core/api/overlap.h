/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges of the user's memory, to find those that overlap. */
#ifndef RCX_CORE_API_OVERLAP_H
#define RCX_CORE_API_OVERLAP_H

#include <stddef.h>

struct rcx_mem_range {
    const char *at;
    size_t bytes; /* at least one */
    size_t index; /* the caller's */
};

/* Sort by address, in place. */
void rcx_mem_ranges_sort(struct rcx_mem_range regions[], size_t n);
/* Of sorted ranges, each of which reaches further than those before it: one
 * that overlaps the bytes, at least one, from at on. NULL: none. */
const struct rcx_mem_range *
rcx_mem_ranges_overlap(const struct rcx_mem_range regions[], size_t n,
                       const char *at, size_t bytes);

#endif
