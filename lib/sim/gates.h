/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans whose steps run in any order that their dependencies allow.
 */
#ifndef RCX_SIM_GATES_H
#define RCX_SIM_GATES_H

#include "core/sched/schedule.h"

enum { RCX_GATE = -1 }; /* the peer of a gate */

/*
 * Let each step except sends wait at a gate, a receive without a peer that the
 * simulation completes at random. The executor takes ready steps in a fixed
 * order; with gates only the plan's edges order the steps. NULL: no memory.
 */
struct rcx_plan *rcx_gates_add(struct rcx_heap *heap,
                               const struct rcx_plan *plan);

#endif
