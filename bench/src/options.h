/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of the timing loop. */
#ifndef RCX_BENCH_OPTIONS_H
#define RCX_BENCH_OPTIONS_H

#include <stddef.h>

#include "loop.h"

enum { LOOP_MAX_SIZES = 64, LOOP_FIRST_MOST = 100000 };

struct loop_options {
    enum loop_coll colls[LOOP_COLLS];
    int n_colls;
    size_t bytes[LOOP_MAX_SIZES];
    int n_sizes;
    size_t total; /* most bytes of a rank's blocks; 0: any number */
    double seconds;
    size_t first; /* calls to time each; 0: measure */
    unsigned limit;
    int pin;
    size_t vectors;
    int uneven;
};

/* Parse the options that loop.h describes. Other arguments are left to the
 * library. Returns non-zero, after a message, if one is not valid. */
int loop_options_parse(int argc, char **argv, struct loop_options *o);

#endif
