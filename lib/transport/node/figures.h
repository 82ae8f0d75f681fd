/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures, checks and prints the figures of a node. One rank of the node
 * measures them when a context opens, and its record of the local exchange has
 * them, so all ranks of the node decide by the same figures. They are plain
 * numbers: a test can make a machine of them.
 */
#ifndef RCX_TRANSPORT_NODE_FIGURES_H
#define RCX_TRANSPORT_NODE_FIGURES_H

#include "core/base/machine.h"

static inline double rcx_larger(double a, double b)
{
    return a > b ? a : b;
}

/* Those of the usual machine, and the sizes of this one's caches. */
void rcx_figures_usual(struct rcx_node_figures *f);

/* Measure, in 3 ms at most; figures that cannot be measured are the usual ones.
 * Uses a thread and the cores that this process may use, also those beside the
 * ones that it is bound to. The caller's binding is as before. */
void rcx_figures_measure(struct rcx_node_figures *f);

/* Replace implausible figures by the usual ones. Two figures that contradict
 * each other are made equal. */
void rcx_figures_check(struct rcx_node_figures *f);

/* "measured in 0.6 ms", or the reason why not. */
const char *rcx_figures_origin(const struct rcx_node_figures *f, char *text,
                               size_t bytes);
/* The figures, as a line for the log. */
const char *rcx_figures_print(const struct rcx_node_figures *f, char *text,
                              size_t bytes);

#endif
