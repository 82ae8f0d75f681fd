/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a topology, for the files that have one. */
#ifndef RCX_ALGO_PHASE_TOPOLOGY_OPS_H
#define RCX_ALGO_PHASE_TOPOLOGY_OPS_H

#include "algo/phase/topology.h"

struct rcx_topology_ops {
    int (*parent)(const struct rcx_topology *t, int tree, int rank);
    int (*child)(const struct rcx_topology *t, int tree, int rank, int i);
    struct rcx_interval (*below)(const struct rcx_topology *t, int tree,
                                 int rank);
    int (*rounds)(const struct rcx_topology *t);
    int (*busiest)(const struct rcx_topology *t); /* NULL: the root, in each
                                                     round */
    double (*blocks)(const struct rcx_topology *t);
};

/* Trees that split intervals of ranks: into fan parts, or in two by the fixed
 * tree. */
extern const struct rcx_topology_ops rcx_topology_knomial;
extern const struct rcx_topology_ops rcx_topology_bine;

#endif
