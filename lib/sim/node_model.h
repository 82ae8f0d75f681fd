/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predicts the time of a call on a node with many cores, and counts what
 * crosses each level. The input is the schedules of all ranks, a machine, and
 * the core of each rank; the model knows nothing of algorithms.
 *
 * A core does one thing at a time: it copies a message in, copies it out,
 * combines, or writes a flag. docs/explanation/node_model.md describes the
 * rules and their limits.
 */
#ifndef RCX_SIM_NODE_MODEL_H
#define RCX_SIM_NODE_MODEL_H

#include "sim/node_machine.h"
#include "sim/node_steps.h"

/* Equal segments of a call; a call without segments is one. */
struct node_piece {
    struct simulation *s; /* of the first of them */
    uint64_t segments;
};

struct node_call {
    const struct node_piece *pieces; /* in the order of segments */
    int piece_count;
    unsigned window; /* segments of a rank in flight */
    const int *core; /* by rank; ranks have different cores */
    const struct node_machine *machine;
    struct node_lane lane;
    double limit; /* seconds after which a prediction is not of interest; 0:
                     none */
};

/* Segments of a piece that are simulated; the time of further ones is
 * extrapolated from the later half of these. */
enum { NODE_SEGMENTS = 16 };

/* Compute the seconds from the start of all ranks to the end of the last one;
 * INFINITY if they are more than the limit.
 * False: there is no memory, or ranks wait for each other; the text of the
 * first simulation says which. */
bool node_model_time(const struct node_call *call, double *seconds_p);

/* What crosses the links of groups in one direction. Payload is what messages
 * carry. Lines also are flags, and lines that a sender takes from the receiver
 * to overwrite them. */
struct node_traffic {
    double bytes, lines;
};

struct node_counts {
    int levels;
    int groups[NODE_LEVELS];
    /* by level and group; level 0 is cores */
    struct node_traffic *in[NODE_LEVELS], *out[NODE_LEVELS];
    struct rcx_heap *heap;
};

/* Count the traffic of the whole call. False: no memory. c must be freed in any
 * case. */
bool node_counts_find(const struct node_call *call, struct node_counts *c);
void node_counts_free(struct node_counts *c);
/* The most bytes, and the most lines, of any of the groups other than except
 * (-1: of all). */
struct node_traffic node_traffic_most(const struct node_traffic *traffic,
                                      int groups, int except);

#endif
