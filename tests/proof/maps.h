/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps of ranks to nodes, as launchers make them, and random ones. */
#ifndef RCX_TESTS_PROOF_MAPS_H
#define RCX_TESTS_PROOF_MAPS_H

#include "core/sched/nodes.h"

enum proof_map {
    PROOF_MAP_NONE,
    PROOF_MAP_BLOCKS,    /* contiguous ranks, equally many but on the last */
    PROOF_MAP_CYCLIC,    /* round robin */
    PROOF_MAP_INTERVALS, /* contiguous ranks, 1 to 5 on each */
    PROOF_MAP_RANDOM,    /* random nodes, about equally many */
    PROOF_MAP_LEVELS, /* contiguous ranks: caches of 2, sockets of 4, nodes of
                            8 */
    PROOF_MAP_RANDOM_LEVELS, /* random nodes, and parts of these */
    PROOF_MAPS
};

/* Create a map; the caller frees it through heap. per_node: ranks per node of
 * blocks and cyclic; 0: a divisor of ranks, if there is one. NULL:
 * PROOF_MAP_NONE, or no memory. */
struct rcx_nodes *proof_map_new(struct rcx_heap *heap, enum proof_map map,
                                int ranks, int per_node);
const char *proof_map_name(enum proof_map map);

#endif
