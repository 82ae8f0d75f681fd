/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedules by which n blocks go from a root to all of p ranks in
 * n - 1 + ceil(lg p) rounds, which is optimal (Traeff 2024, arXiv 2407.18004),
 * as pure numbers. Backwards they are a reduction.
 *
 * Ranks are relative to the root, which is 0. With q = ceil(lg p) skips
 * s[0] = 1 < s[1] < ... < s[q] = p, each half of the next one, rounded up, rank
 * r sends one block to r + s[k] and gets one from r - s[k] in every round of a
 * cycle of q, k = 0, ..., q - 1. Which blocks these are each rank finds by
 * itself; a cycle later they are those q behind them.
 */
#ifndef RCX_ALGO_PHASE_N_BLOCKS_H
#define RCX_ALGO_PHASE_N_BLOCKS_H

#include "core/sched/algo.h"

enum { RCX_N_BLOCKS_CYCLE = 31 /* most rounds of a cycle */ };

struct rcx_n_blocks {
    int size, rank;
    int blocks;
    int cycle;   /* q */
    int skipped; /* rounds of the first cycle, so that the last one is whole */
    int skips[RCX_N_BLOCKS_CYCLE + 1];
    /* Of round k in the first cycle, were it whole; below 0: of one before, or
     * of none. */
    int recv[RCX_N_BLOCKS_CYCLE], send[RCX_N_BLOCKS_CYCLE];
};

enum { RCX_N_BLOCKS_NONE = -1 };

/* Numbers of blocks, or NONE; their receivers and senders. */
struct rcx_n_blocks_round {
    int send, to;
    int recv, from;
};

void rcx_n_blocks_begin(struct rcx_n_blocks *n, int size, int rank, int blocks);
/* How many rounds all ranks take; none for one rank. */
int rcx_n_blocks_rounds(int size, int blocks);
struct rcx_n_blocks_round rcx_n_blocks_round(const struct rcx_n_blocks *n,
                                             int i);
/* What any rank but the root gets in a cycle, as recv of its own schedule. */
void rcx_n_blocks_received(const struct rcx_n_blocks *n, int rank, int list[]);
/* Of such a list, the entry that is for round i, and the block that it means
 * there. */
int rcx_n_blocks_entry(const struct rcx_n_blocks *n, int i);
int rcx_n_blocks_block(const struct rcx_n_blocks *n, int listed, int i);
/* Whether this rank sends block in a round after round i, too. */
bool rcx_n_blocks_sends_later(const struct rcx_n_blocks *n, int block, int i);

#endif
