/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps of ranks to the groups of a level: to nodes, and within a node to
 * sockets, NUMA domains, shared caches, or cores that ranks share. All ranks of
 * a communicator have the same maps. Each lookup takes constant time.
 *
 * Levels nest: a group is within one group of each coarser level. Only levels
 * that divide the ranks further, into groups of several ranks, have a map. A
 * hierarchical algorithm divides by one map, and its phase among the groups
 * divides further by the maps of `outer`; so n levels need one algorithm.
 */
#ifndef RCX_CORE_SCHED_NODES_H
#define RCX_CORE_SCHED_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/machine.h"

/* The map of one level. Its groups are called nodes here, and are numbered in
 * the order of their lowest ranks. */
struct rcx_nodes {
    enum rcx_level level;
    int count;        /* number of nodes */
    int least, most;  /* ranks of the smallest node, and of the largest */
    bool in_order;    /* the ranks of each node are contiguous */
    const int *node;  /* node of each rank */
    const int *place; /* position of each rank among those of its node, in the
                         order of ranks */
    const int *ranks; /* all ranks, node by node */
    const int *first; /* count + 1 starts of nodes in ranks */
    struct rcx_nodes *coarser; /* the next coarser level of the same ranks;
                                  NULL: none; and the next finer one */
    const struct rcx_nodes *finer;
    struct rcx_nodes *outer; /* the nodes of this map, as ranks, by the finest
                                  of the coarser levels; NULL: none */
};

/* Create a map to nodes in which ranks with equal ids share one. The caller
 * frees it. NULL: no memory. */
struct rcx_nodes *rcx_nodes_create(struct rcx_heap *heap, const uint64_t ids[],
                                   int ranks);
/* Free a map and all that it leads to. */
void rcx_nodes_free(struct rcx_heap *heap, struct rcx_nodes *nodes);

/*
 * Create the maps of several levels: ids[level] has an id per rank, or is NULL
 * where a level is not known. Ids need to be unique only within a group of the
 * next coarser level. *finest_p is the map of the finest level that divides the
 * ranks; NULL: none does. False: no memory.
 */
bool rcx_nodes_map(struct rcx_heap *heap, const uint64_t *const ids[RCX_LEVELS],
                   int ranks, struct rcx_nodes **finest_p);

/* Create the maps of a subset of the ranks of all, in another order or not:
 * ranks[i] is the rank that becomes i. */
bool rcx_nodes_map_subset(struct rcx_heap *heap, const struct rcx_nodes *all,
                          const int ranks[], int count,
                          struct rcx_nodes **finest_p);

/* The map of that level among n and the coarser ones; NULL: there is none. */
const struct rcx_nodes *rcx_nodes_at(const struct rcx_nodes *n,
                                     enum rcx_level level);

/* The map of nodes, between which there are links. NULL: one node, or not
 * known. */
static inline const struct rcx_nodes *
rcx_nodes_linked(const struct rcx_nodes *n)
{
    return rcx_nodes_at(n, RCX_LEVEL_NODE);
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
