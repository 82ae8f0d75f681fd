/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measured times of methods, a line each: collective, ranks, nodes, "blocks" or
 * "scattered", cores (0: each rank has its own), bytes of the vector or of a
 * block, microseconds, method. Lines of one point follow each other. Lines that
 * begin with "machine" have the prices of what follows, as in a file of rules;
 * those with "#" are comments.
 */
#ifndef RCX_TOOLS_COMMON_TIMES_H
#define RCX_TOOLS_COMMON_TIMES_H

#include <stdio.h>

#include "core/sched/schedule.h"

enum { TIMES_METHOD = 128 };

struct times_line {
    enum rcx_coll coll;
    int ranks, nodes, cores;
    bool is_scattered;
    size_t bytes;
    double seconds;
    char method[TIMES_METHOD];
};

/* Print a line. False: it failed. */
bool times_print(FILE *file, const struct times_line *line);

/* Parse a line. False: it is no line of a method. */
bool times_parse(const char *text, struct times_line *line);

/* Whether a and b are of one point: all but method and time is equal. */
bool times_meet(const struct times_line *a, const struct times_line *b);

#endif
