/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared declarations of rcx_info. main.c has the command line and the tables,
 * config.c the environment variables, explain.c the option --explain, machine.c
 * the option --machine.
 */
#ifndef RCX_TOOLS_RCX_INFO_RCX_INFO_H
#define RCX_TOOLS_RCX_INFO_RCX_INFO_H

#include <stdbool.h>

#include "core/run/object/config.h"

/* The call that rcx_info --explain is asked about. */
struct info_question {
    const char *coll; /* NULL: no --explain */
    size_t bytes;     /* of the vector, or of a block */
    bool is_exact;    /* the op is RCX_SUM_EXACT or RCX_AVG_EXACT */
    bool in_float;    /* it is RCX_SUM_FLOAT or RCX_AVG_FLOAT of bfloat16 */
    int ranks, nodes, cores;
    int per_socket, per_numa, per_cache; /* ranks of each; 0: one level */
    bool scattered; /* ranks are on nodes round-robin, not in blocks */
    bool bound;     /* each rank to a core, if all are on one node */
};

/* Print text behind a label, wrapped at spaces. */
void info_print_wrapped(const char *label, const char *text);

enum info_source { FROM_DEFAULT, FROM_ENVIRONMENT, NOT_VALID };

/* Set one option in config from its variable, or to its default if the variable
 * is not set or not valid. */
enum info_source info_read_option(const struct rcx_option *o,
                                  struct rcx_config *config);

/* Print the environment variables: all, or those that are set. */
void info_print_config(void);
void info_print_changed(void);

/* Print this machine's places and figures, and what that many ranks on the cpus
 * of this process decide by them. */
void info_print_machine(int ranks, const struct rcx_config *config);

/* Print how the call would be carried out in this environment, and why. Returns
 * an exit status. */
int info_explain(const struct info_question *q,
                 const struct rcx_config *config);

#endif
