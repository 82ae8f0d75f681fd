/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads of the links of a network that a simulated call uses: a ring, a torus
 * of two or three dimensions, or groups of ranks that share thin links to each
 * other.
 */
#ifndef RCX_SIM_TORUS_H
#define RCX_SIM_TORUS_H

#include "sim/simulate.h"

/* A torus whose rows have so many ranks, side by side, and whose planes have so
 * many rows. One row: a ring. There is a link each way between neighbours. */
struct simulated_torus {
    int columns, rows, planes;
};

struct torus_load {
    double moved;   /* sum over messages of elements times links passed */
    double busiest; /* elements that pass the busiest link */
    /* The same in each round, where every message takes one round; summed. That
     * is the time where links are what takes time. */
    double in_rounds;
};

/*
 * Compute the loads of a call of columns * rows * planes ranks. A message goes
 * the shortest way along its row, then along its column, then between planes;
 * if there are two shortest ways, half of it takes each. False: there is no
 * memory, or the ranks wait for each other in a cycle; s->text says which.
 */
bool simulation_torus(struct simulation *s, const struct simulated_torus *torus,
                      struct torus_load *load_p);

/* Return the elements of messages between groups of so many neighbours. The
 * first group lacks offset ranks, offset < group. */
double simulation_between_groups(const struct simulation *s, int group,
                                 int offset);
/* Return the mean of that over all offsets. */
double simulation_between_groups_mean(const struct simulation *s, int group);
/* Return its expectation if ranks are dealt at random to groups of this size,
 * of which the last may be smaller. It is that of any messages of as many
 * elements, whatever their ends. */
double simulation_between_groups_random(const struct simulation *s, int group);

#endif
