/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the node model needs to know of the steps of a simulated call: which
 * sends are one write that several ranks read, which reductions are one pass
 * over several sources, and which data a step is the first to touch.
 */
#ifndef RCX_SIM_NODE_STEPS_H
#define RCX_SIM_NODE_STEPS_H

#include "sim/timing.h"

/* How a message passes from one core to another. */
enum node_staging {
    NODE_COPIES, /* each send copies its data into a ring of its receiver, as
                    RCX's lane does */
    NODE_ONCE,   /* sends of the same data share one copy, in memory of the
                    sender, that all receivers read */
    NODE_DIRECT  /* receivers read the data where they lie */
};

struct node_lane {
    enum node_staging staging;
    bool many_way; /* a reduction of several operands is one pass over them */
};

struct node_step {
    uint32_t rank;
    uint32_t partner; /* the other side of a message, among the steps of all
                         ranks */
    /* SEND: the first send of the same data, and the next one; SEND is the
     * first if both are its own number and SIMULATION_NO_STEP. */
    uint32_t first, next;
    uint32_t reader; /* SEND: number of sends of its group before it; of the
                        first: behind it */
    /* REDUCE: the last reduction of the pass, and the one before in a list that
     * begins at the last. */
    uint32_t pass, before;
    bool joins; /* REDUCE: another reduction of the pass reads its result */
    /* REDUCE in a pass of several: whether left, right are results of the pass;
     * and the receives whose data they are. */
    bool inner[2];
    uint32_t source[2];
    bool holds_sends; /* REDUCE, the last of a pass: a part of it waits for a
                         send of the rank */
    bool is_operand;  /* RECV: a pass reads the data from the sender */
    /* Parts of the spans that the rank has not touched before, of IN and OUT:
     * dst, left, right. */
    float fresh[3];
};

/* Analyse the steps of all ranks. NULL: no memory. The caller frees the array
 * through s->heap. */
struct node_step *node_steps_find(struct simulation *s,
                                  const struct node_lane *lane);

/* Elements of scratch that a rank uses if data that are combined as they arrive
 * are not stored. */
size_t node_steps_scratch(struct simulation *s, int rank);

#endif
