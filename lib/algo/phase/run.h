/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of blocks that follow each other, cyclic: from their place, or to
 * it, where they lie in one piece, and else, around the vector's end, by way of
 * scratch.
 */
#ifndef RCX_ALGO_PHASE_RUN_H
#define RCX_ALGO_PHASE_RUN_H

#include "core/sched/algo.h"

/* n blocks of a vector from first on. */
struct rcx_run {
    const struct rcx_blocks *blocks;
    struct rcx_span vector;
    int first, n;
};

void rcx_run_send(struct rcx_builder *b, int peer, const struct rcx_run *run);
void rcx_run_recv(struct rcx_builder *b, int peer, const struct rcx_run *run);

#endif
