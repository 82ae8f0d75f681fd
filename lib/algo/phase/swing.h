/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The butterfly of Swing (De Sensi et al. 2024, arXiv 2401.09356), which is the
 * one of Bine as well (De Sensi et al. 2025, arXiv 2508.17311), over 2^k
 * members on a ring, or on a torus of two or three dimensions. As numbers: no
 * steps are written here.
 *
 * In step i an even member exchanges with the one 1 - 2 + 4 - ... (-2)^i above
 * it, an odd member with the one as far below: 1, -1, 3, -5, 11, ... A step
 * swings back over the one before, and goes two thirds as far as in a cube,
 * where it is 2^i. On a torus, steps take turns on the dimensions, each by the
 * coordinates there.
 *
 * From each member, all are reached by just one set of steps in ascending
 * order. The part of a member is the number whose bits tell the set for member
 * 0, step 0 first. So what two members of a step reach by later steps are two
 * halves of the parts that both reach, each a run of parts: blocks of a vector
 * lie together, and need not be packed (Bine).
 */
#ifndef RCX_ALGO_PHASE_SWING_H
#define RCX_ALGO_PHASE_SWING_H

#include <limits.h>

#include "core/sched/algo.h"

/* All are powers of two. */
struct rcx_swing {
    int size;    /* members */
    int columns; /* of them a row of the torus; size: a ring */
    int rows;    /* of a plane of a torus of three dimensions; 0: there is one
                    plane */
};

/* The parameters, one behind the other: the ranks of a row and of a column. */
#define RCX_SWING_COLUMNS                                                      \
    {                                                                          \
        .name = "columns",                                                     \
        .doc = "ranks of a row of the torus; 0: all, which is a ring",         \
        .most = INT_MAX, .proved = rcx_swing_columns_proved                    \
    }
#define RCX_SWING_ROWS                                                         \
    {                                                                          \
        .name = "rows",                                                        \
        .doc = "rows of a plane of the torus; 0: all, which is one plane",     \
        .most = INT_MAX, .proved = rcx_swing_rows_proved                       \
    }
#define RCX_SWING_NEEDS "powers of two of ranks, columns and rows for a torus"
extern const int64_t rcx_swing_columns_proved[], rcx_swing_rows_proved[];
/* torus: the values of both. */
bool rcx_swing_fits(const struct rcx_shape *s, const int64_t torus[2]);
/* Return the butterfly of the ranks that stay when s is folded. */
struct rcx_swing rcx_swing_of(const struct rcx_shape *s,
                              const int64_t torus[2]);

/* Return the member that a member exchanges with in a step. */
int rcx_swing_peer(const struct rcx_swing *w, int member, int step);
/* Return the part of a member; the member of a part. */
int rcx_swing_part_of(const struct rcx_swing *w, int member);
int rcx_swing_member_of(const struct rcx_swing *w, int part);

#endif
