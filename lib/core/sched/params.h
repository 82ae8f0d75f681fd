/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of algorithms: parse, print and choose them. */
#ifndef RCX_CORE_SCHED_PARAMS_H
#define RCX_CORE_SCHED_PARAMS_H

#include "core/base/machine.h"
#include "core/sched/algo.h"

/* The machine of s, or the usual one. */
const struct rcx_machine *rcx_machine_of(const struct rcx_shape *s);

/* Return the time of a cost if each rank has a core. */
double rcx_cost_seconds(const struct rcx_cost *cost, size_t elem_bytes,
                        const struct rcx_machine *machine);
/*
 * Return the time of all segments of s, of which each has that cost. A segment
 * follows the one before it as soon as the busiest rank has sent and combined
 * its part of that one, and the busiest link has carried it, but window of them
 * are in progress at most. If the ranks share the cores that s states, it takes
 * at least the work of these: all messages of all ranks. Nodes may share a
 * machine: a message between them takes time of cores then, and not of a wire.
 */
double rcx_cost_time(const struct rcx_cost *cost, const struct rcx_shape *s);

/* How many phases alike run at once, and all their ranks. */
static inline int rcx_shape_alike(const struct rcx_shape *s)
{
    return s->alike > 0 ? s->alike : 1;
}
static inline double rcx_shape_taking_part(const struct rcx_shape *s)
{
    return (double)s->size * rcx_shape_alike(s);
}

void rcx_params_reset(const struct rcx_algo *algo, int64_t params[]);
/* Return the parameter of that name; NULL: algo has none. */
const struct rcx_param *rcx_params_find(const struct rcx_algo *algo,
                                        const char *name);
/* Print the valid values of p, for people: "2..64", "auto or half or full".
 * Returns text. */
const char *rcx_param_range(const struct rcx_param *p, char *text,
                            size_t bytes);
/* Parse value and store it in params. False: algo has no parameter of that
 * name, or the value is not valid. */
bool rcx_params_parse(const struct rcx_algo *algo, const char *name,
                      const char *value, int64_t params[]);
/* Print "NAME:a=1,b=x", without parameters that have their default value.
 * Returns the length of the text; bytes or more: it is truncated. */
int rcx_algo_print(const struct rcx_algo *algo, const int64_t params[],
                   char *text, size_t bytes);
/* Replace each "auto" in s->params by its cheapest candidate on the machine of
 * s, one parameter after the other. */
void rcx_params_settle(const struct rcx_algo *algo, struct rcx_shape *s);

/* The cost of algo for s, with what crosses levels. An algorithm that does not
 * depend on nodes is assumed to send messages between the groups of all levels
 * in each round, and equally much to all ranks. */
struct rcx_cost rcx_cost_of(const struct rcx_algo *algo,
                            const struct rcx_shape *s);

#endif
