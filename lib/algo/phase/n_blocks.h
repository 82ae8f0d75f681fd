/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedules by which n blocks go from a root to all of p ranks in n - 1 +
 * ceil(lg p) rounds, which is optimal (Traeff 2024, arXiv 2407.18004), as pure
 * numbers. In reverse they are a reduction.
 *
 * Ranks are relative to the root, which is 0. Let q = ceil(lg p), and let the
 * skips s[0] = 1 < s[1] < ... < s[q] = p each be half of the next one, rounded
 * up. A cycle has q rounds. In round k = 0, ..., q - 1 of every cycle, rank r
 * sends one block to r + s[k] and receives one from r - s[k]. Each rank
 * computes by itself which blocks these are. In the next cycle their numbers
 * are q higher.
 */
#ifndef RCX_ALGO_PHASE_N_BLOCKS_H
#define RCX_ALGO_PHASE_N_BLOCKS_H

#include "core/sched/algo.h"

enum { RCX_N_BLOCKS_CYCLE = 31 /* most rounds of a cycle */ };

struct rcx_n_blocks {
    int size, rank;
    int blocks;
    int cycle;   /* q */
    int skipped; /* rounds left out of the first cycle: the last one is whole */
    int skips[RCX_N_BLOCKS_CYCLE + 1];
    /* Blocks in round k of the first cycle, if that was whole. Below 0: the
     * block of an earlier cycle, or none. */
    int recv[RCX_N_BLOCKS_CYCLE], send[RCX_N_BLOCKS_CYCLE];
};

enum { RCX_N_BLOCKS_NONE = -1 };

/* Numbers of blocks, or NONE, with receiver and sender. */
struct rcx_n_blocks_round {
    int send, to;
    int recv, from;
};

void rcx_n_blocks_begin(struct rcx_n_blocks *n, int size, int rank, int blocks);
/* Return how many rounds all ranks take; 0 for one rank. */
int rcx_n_blocks_rounds(int size, int blocks);
struct rcx_n_blocks_round rcx_n_blocks_round(const struct rcx_n_blocks *n,
                                             int i);
/* Store which blocks a rank other than the root receives in a cycle, as recv of
 * its own schedule has them. */
void rcx_n_blocks_received(const struct rcx_n_blocks *n, int rank, int list[]);
/* Return the entry of such a list that is for round i, and the block that an
 * entry means in round i. */
int rcx_n_blocks_entry(const struct rcx_n_blocks *n, int i);
int rcx_n_blocks_block(const struct rcx_n_blocks *n, int listed, int i);
/* Whether this rank sends block again in a round after round i. */
bool rcx_n_blocks_sends_later(const struct rcx_n_blocks *n, int block, int i);

#endif
