/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of consecutive blocks of a vector, cyclic. A run of blocks in one
 * piece is sent from its place and received there. A run that wraps around the
 * vector's end goes through scratch.
 */
#ifndef RCX_ALGO_PHASE_RUN_H
#define RCX_ALGO_PHASE_RUN_H

#include "core/sched/algo.h"

/* Blocks first to first + n - 1 of a vector, cyclic. */
struct rcx_run {
    const struct rcx_blocks *blocks;
    struct rcx_span vector;
    int first, n;
};

void rcx_run_send(struct rcx_builder *b, int peer, const struct rcx_run *run);
/* Return the span that the message was received in: in its place, or packed. */
struct rcx_span rcx_run_recv(struct rcx_builder *b, int peer,
                             const struct rcx_run *run);

#endif
