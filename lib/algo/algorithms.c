/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of algorithms, and the names of those that are not in it. Compiled
 * twice: for librcx, and with RCX_ALGORITHMS_ALL for the simulator, or for both
 * with -Dalgorithms=all.
 */
#include "algo/algorithms.h"

#ifdef RCX_ALGORITHMS_ALL
#define OPTIONAL_ENTRY RCX_ALGORITHM_ENTRY
#define OPTIONAL_NAME RCX_ALGORITHM_NONE
#else
#define OPTIONAL_ENTRY RCX_ALGORITHM_NONE
#define OPTIONAL_NAME RCX_ALGORITHM_NAME
#endif

const struct rcx_algo *const rcx_algo_table[] = {
    RCX_ALGORITHMS(RCX_ALGORITHM_ENTRY, OPTIONAL_ENTRY) NULL};

const char *const rcx_algo_left_out[] = {
    RCX_ALGORITHMS(RCX_ALGORITHM_NONE, OPTIONAL_NAME) NULL};
