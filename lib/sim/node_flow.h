/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that flow through a node: what each core moves now, over which links,
 * caches and memory, and how fast. Sharing is fluid: if the flows over a
 * resource together want more than it has, all of them slow down by the same
 * factor.
 */
#ifndef RCX_SIM_NODE_FLOW_H
#define RCX_SIM_NODE_FLOW_H

#include "core/base/heap.h"
#include "sim/node_machine.h"

/* Where a rank finds data of its own: the parts that are in the cache that it
 * shares, and in memory. The rest is in the cache of its core. */
struct node_home {
    double cache, memory;
};

enum { NODE_USES = 20 * NODE_LEVELS };

/* The way of a byte of a flow. */
struct node_path {
    double seconds; /* of a byte, if nothing is shared */
    double own;     /* of its part in the core's own data, which overlaps */
    int uses;
    struct {
        int resource;
        double weight; /* bytes on the resource */
    } use[NODE_USES];
};

/* Add a byte that core to reads from the caches of core from, or the part
 * memory of it from the memory there. */
void node_path_read(struct node_path *path, const struct node_machine *m,
                    int from, int to, double memory);
/* Add a byte that core takes from the caches of core owner to overwrite it.
 * moves: its old value comes over the links, as the owner was the last to read
 * it alone. Else the copies that others have are only made invalid. */
void node_path_take(struct node_path *path, const struct node_machine *m,
                    int owner, int core, bool moves);
/* Add reads and writes of a core's own data, in bytes. */
void node_path_own(struct node_path *path, const struct node_machine *m,
                   int core, struct node_home home, double reads,
                   double writes);
/* Complete the path: a byte takes as long as the slowest of its way from other
 * cores, its way from and to the own data, and the core at that rate. */
void node_path_complete(struct node_path *path, double rate);

struct node_flow {
    struct node_path path;
    double left;  /* bytes at time since */
    double since; /* time of the last change */
    double slow;  /* factor by which it is slowed down; 0: it does not flow */
};

struct node_flows {
    struct rcx_heap *heap;
    int cores, resources;
    double *capacity, *demand; /* by resource */
    int *members;              /* cores that use it, by resource */
    int *member_count;
    struct node_flow *flow; /* by core */
    /* The end of a core's flow has changed. */
    void (*changed)(void *arg, int core, double end);
    void *arg;
};

/* False: no memory. f must be closed in any case. */
bool node_flows_open(struct node_flows *f, struct rcx_heap *heap,
                     const struct node_machine *m);
void node_flows_close(struct node_flows *f);
/* Start a flow of bytes, or of 0, on the core's flow->path at time now. The one
 * before has ended. */
void node_flow_start(struct node_flows *f, int core, double bytes, double now);
void node_flow_end(struct node_flows *f, int core, double now);

#endif
