/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictions of rcx_sim node: of one method (node_predict.c), and of the best
 * one (node_best.c). */
#ifndef RCX_TOOLS_RCX_SIM_NODE_H
#define RCX_TOOLS_RCX_SIM_NODE_H

#include "rcx_sim/rcx_sim.h"

/* A call on the machine of the options. */
struct node_query {
    const struct sim_options *o;
    const struct node_machine *machine;
    const int *core; /* by rank */
    int size;
    size_t bytes; /* of the vector, or of a block */
    struct node_lane lane;
    double limit; /* seconds after which an answer is not of interest; 0:
                     none */
};

/* A method on a query. */
struct node_answer {
    struct sim_method method; /* without automatic parameters */
    int level; /* whose groups are its nodes; as many as there are levels: of
                  all levels; -1: it has none */
    double seconds;            /* INFINITY: it does not suit */
    struct node_counts counts; /* only if the options want them */
};

/* The enum rcx_level that a level of the machine is; RCX_LEVELS: none. */
int node_query_level(const struct node_query *q, int level);
size_t node_query_count(const struct node_query *q);
/* The call of a method, as proof_call_of(). */
struct simulated_call node_query_call(const struct node_query *q,
                                      const struct sim_method *m, int level);
/* Predict the time of a method. Exits without memory. Counts must be freed by
 * node_counts_free(). */
struct node_answer node_predict(const struct node_query *q,
                                const struct sim_method *m, int level);
/* The fastest of all methods that the library has, and of their usual
 * parameters and segments. */
struct node_answer node_best(const struct node_query *q);

void node_answer_print(const struct node_query *q, const struct node_answer *a,
                       char *text, size_t bytes);

#endif
