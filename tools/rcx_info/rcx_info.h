/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_TOOLS_RCX_INFO_RCX_INFO_H
#define RCX_TOOLS_RCX_INFO_RCX_INFO_H

#include <stdbool.h>

#include "core/run/object/config.h"

/* A call, for rcx_info --explain. */
struct info_question {
    const char *coll; /* NULL: none is asked for */
    size_t bytes;     /* of the vector, or of a block */
    int ranks, nodes, cores;
    bool scattered; /* ranks are dealt to nodes in turns, not in blocks */
    bool bound;     /* each to a core, where they are on one node */
};

/* Prints text behind a label, broken at spaces into lines. */
void info_print_wrapped(const char *label, const char *text);

enum info_source { FROM_DEFAULT, FROM_ENVIRONMENT, NOT_VALID };

/* Takes one option over into config, as far as its value is valid. */
enum info_source info_read_option(const struct rcx_option *o,
                                  struct rcx_config *config);

/* The environment variables: all, or those that are set. */
void info_print_config(void);
void info_print_changed(void);

/* How it would be carried out with this environment, and why. Returns an exit
 * status. */
int info_explain(const struct info_question *q,
                 const struct rcx_config *config);

#endif
