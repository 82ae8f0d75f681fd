/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allreduce over a grid of ranks, made of whole algorithms as phases, to
 * show that they compose: reduce_scatter within each row, an allreduce (or
 * reduce_scatter and allgather) of the own part within each column, and
 * allgather within each row. Rows are neighbours in rank order.
 */
#ifndef RCX_TESTS_PROOF_GRID_ALLREDUCE_H
#define RCX_TESTS_PROOF_GRID_ALLREDUCE_H

#include "core/sched/algo.h"

/* Its parameters. */
enum { GRID_COLUMNS, GRID_FORM, GRID_PHASES };
enum { GRID_REDUCE, GRID_SCATTER, GRID_FORMS }; /* what columns do */

extern const struct rcx_algo grid_allreduce;

/* Numbers i below this are pairs: the i-th reduce_scatter and the i-th
 * allreduce of the registry, cyclic. */
int grid_phases(void);
/* The first pair whose reduce_scatter has the name. */
int grid_phase_named(const char *name);

#endif
