/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks of a communicator share a node; or, where all are on one, which
 * take turns on a core. All its ranks have the same map; what an algorithm asks
 * of it takes constant time.
 */
#ifndef RCX_CORE_SCHED_NODES_H
#define RCX_CORE_SCHED_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"

/* Nodes are numbered in the order of their lowest ranks. */
struct rcx_nodes {
    int count;        /* of nodes */
    int least, most;  /* ranks of the smallest one, of the largest */
    bool in_order;    /* each is an interval of ranks */
    bool are_cores;   /* of one node: no links are between them */
    const int *node;  /* of each rank */
    const int *place; /* of each rank among its node's, which are in order */
    const int *ranks; /* all, node by node */
    const int *first; /* count + 1: where a node's begin there */
};

/* Ranks with equal ids share a node. The caller frees it through heap. NULL: no
 * memory. */
struct rcx_nodes *rcx_nodes_create(struct rcx_heap *heap, const uint64_t ids[],
                                   int ranks);
/* The same, but for one node alone, which is no map. False: no memory. */
bool rcx_nodes_map(struct rcx_heap *heap, const uint64_t ids[], int ranks,
                   struct rcx_nodes **nodes_p);

/* The map where it is of nodes; else NULL. */
static inline const struct rcx_nodes *
rcx_nodes_linked(const struct rcx_nodes *n)
{
    return n && !n->are_cores ? n : NULL;
}

/* Whether there are several, one of which has several ranks. */
static inline bool rcx_nodes_are_shared(const struct rcx_nodes *n)
{
    return n && n->count > 1 && n->most > 1;
}

static inline int rcx_nodes_size(const struct rcx_nodes *n, int node)
{
    return n->first[node + 1] - n->first[node];
}

#endif
