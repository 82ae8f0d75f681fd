/* SPDX-License-Identifier: BSD-3-Clause */
/* Log functions of tests: one keeps lines, one discards them. */
#ifndef RCX_TESTS_SUPPORT_LINES_H
#define RCX_TESTS_SUPPORT_LINES_H

#include "rcx/rcx.h"

/* What was logged; zeros at first. */
struct lines {
    int count;
    rcx_log_level_t level; /* of the last line */
    char first[512];
    char last[512];
    char error[1024]; /* the first line of level RCX_LOG_ERROR */
};

/* A rcx_log_fn_t; arg is a struct lines. */
void lines_keep(rcx_log_level_t level, const char *text, void *arg);

/* A rcx_log_fn_t that discards all lines. */
void lines_discard(rcx_log_level_t level, const char *text, void *arg);

#endif
