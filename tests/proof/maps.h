/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps of ranks to nodes, as launchers and chance make them. */
#ifndef RCX_TESTS_PROOF_MAPS_H
#define RCX_TESTS_PROOF_MAPS_H

#include "core/sched/nodes.h"

enum proof_map {
    PROOF_MAP_NONE,
    PROOF_MAP_BLOCKS,    /* ranks side by side, as many on each but the last */
    PROOF_MAP_CYCLIC,    /* round robin */
    PROOF_MAP_INTERVALS, /* side by side, 1 to 5 on each */
    PROOF_MAP_RANDOM,    /* anywhere, about as many on each */
    PROOF_MAPS
};

/* per_node: ranks of one, for blocks and cyclic; 0: what cuts them evenly. NULL
 * for PROOF_MAP_NONE, or without memory; heap frees it. */
struct rcx_nodes *proof_map_new(struct rcx_heap *heap, enum proof_map map,
                                int ranks, int per_node);
const char *proof_map_name(enum proof_map map);

#endif
