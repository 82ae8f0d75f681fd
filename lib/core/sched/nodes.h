/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps of ranks to nodes, or to cores if all ranks are on one node and share
 * cores. All ranks of a communicator have the same map. Each lookup takes
 * constant time.
 */
#ifndef RCX_CORE_SCHED_NODES_H
#define RCX_CORE_SCHED_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"

/* Nodes are numbered in the order of their lowest ranks. */
struct rcx_nodes {
    int count;        /* number of nodes */
    int least, most;  /* ranks of the smallest node, and of the largest */
    bool in_order;    /* the ranks of each node are contiguous */
    bool are_cores;   /* nodes are cores of one node, without links between
                         them */
    const int *node;  /* node of each rank */
    const int *place; /* position of each rank among those of its node, in the
                         order of ranks */
    const int *ranks; /* all ranks, node by node */
    const int *first; /* count + 1 starts of nodes in ranks */
};

/* Create a map in which ranks with equal ids share a node. The caller frees it
 * through heap. NULL: no memory. */
struct rcx_nodes *rcx_nodes_create(struct rcx_heap *heap, const uint64_t ids[],
                                   int ranks);
/* The same, but *nodes_p is NULL if all ranks share one node. False: no
 * memory. */
bool rcx_nodes_map(struct rcx_heap *heap, const uint64_t ids[], int ranks,
                   struct rcx_nodes **nodes_p);

/* Return n if it is a map of nodes; NULL if it is one of cores. */
static inline const struct rcx_nodes *
rcx_nodes_linked(const struct rcx_nodes *n)
{
    return n && !n->are_cores ? n : NULL;
}

/* Whether there are several nodes, and one of them has several ranks. */
static inline bool rcx_nodes_are_shared(const struct rcx_nodes *n)
{
    return n && n->count > 1 && n->most > 1;
}

static inline int rcx_nodes_size(const struct rcx_nodes *n, int node)
{
    return n->first[node + 1] - n->first[node];
}

#endif
