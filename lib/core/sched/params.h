/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters of algorithms: reading, printing and choosing them. */
#ifndef RCX_CORE_SCHED_PARAMS_H
#define RCX_CORE_SCHED_PARAMS_H

#include "core/sched/algo.h"

/* Seconds: per message, per byte sent, per byte combined; and what a message, a
 * byte takes more where it goes from node to node. */
struct rcx_machine {
    double alpha, beta, gamma;
    double far_alpha, far_beta;
};

/* Nodes with 1 Gbit/s of TCP between them, the least that is usual. */
extern const struct rcx_machine rcx_machine_usual;

/* The shape's. */
const struct rcx_machine *rcx_machine_of(const struct rcx_shape *s);

double rcx_cost_seconds(const struct rcx_cost *cost, size_t elem_bytes,
                        const struct rcx_machine *machine);

void rcx_params_reset(const struct rcx_algo *algo, int64_t params[]);
/* The one of that name; NULL: algo has none. */
const struct rcx_param *rcx_params_find(const struct rcx_algo *algo,
                                        const char *name);
/* What is valid of it, for people: "2..64", "auto or half or full". Returns
 * text. */
const char *rcx_param_range(const struct rcx_param *p, char *text,
                            size_t bytes);
/* One "name" and "value"; false: the algorithm has no such. */
bool rcx_params_parse(const struct rcx_algo *algo, const char *name,
                      const char *value, int64_t params[]);
/* "NAME:a=1,b=x", of parameters those that are not the usual ones; as many
 * characters as there would be room for. */
int rcx_algo_print(const struct rcx_algo *algo, const int64_t params[],
                   char *text, size_t bytes);
/* Replace auto by what costs least, one parameter after the other. */
void rcx_params_settle(const struct rcx_algo *algo, struct rcx_shape *s,
                       const struct rcx_machine *machine);

#endif
