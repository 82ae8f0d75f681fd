/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allreduce over a grid of ranks, composed of whole algorithms as phases, to
 * show that they compose. Phases: reduce_scatter within each row; an allreduce,
 * or reduce_scatter and allgather, of the own part within each column;
 * allgather within each row. Ranks of a row are adjacent in rank order.
 */
#ifndef RCX_TESTS_PROOF_GRID_ALLREDUCE_H
#define RCX_TESTS_PROOF_GRID_ALLREDUCE_H

#include "core/sched/algo.h"

/* Indices of its parameters. */
enum { GRID_COLUMNS, GRID_FORM, GRID_PHASES };
enum { GRID_REDUCE, GRID_SCATTER, GRID_FORMS }; /* phase of the columns */

extern const struct rcx_algo grid_allreduce;

/* Numbers below this select a pair of phases: reduce_scatter i and allreduce i
 * of the registry, modulo their numbers. */
int grid_phases(void);
/* Return the first pair whose reduce_scatter has this name. */
int grid_phase_named(const char *name);

#endif
