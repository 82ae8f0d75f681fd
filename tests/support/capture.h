/* SPDX-License-Identifier: BSD-3-Clause */
/* What RCX logs during a call: lines passed to the log function, and on
 * stderr. */
#ifndef RCX_TESTS_SUPPORT_CAPTURE_H
#define RCX_TESTS_SUPPORT_CAPTURE_H

#include <stdbool.h>
#include <stdio.h>

#include "rcx/rcx.h"

struct capture {
    int host_lines; /* number of lines passed to capture_line() */
    int stderr_lines;
    rcx_log_level_t level; /* of the last of these */
    char text[4096];       /* all lines, each with a newline */
    int saved;             /* descriptor of the original stderr */
    FILE *file;            /* stderr during a capture */
    bool asks_for_name;    /* messages must name the function of rcx.h */
};

/* A rcx_log_fn_t; arg is a struct capture. */
void capture_line(rcx_log_level_t level, const char *text, void *arg);

/* Clear c, and capture stderr until capture_end(). */
void capture_begin(struct capture *c);
void capture_end(struct capture *c);

/*
 * Check a call between begin and end: its status is the expected one, and it
 * logged exactly one line, with all words in it. words ends with NULL.
 * expression is the call's source text.
 */
void capture_check(const struct capture *c, const char *expression,
                   rcx_status_t status, rcx_status_t expected,
                   const char *const words[]);

/* expr returns expected, and logs one line with the remaining arguments in
 * it. */
#define assert_refused(c, expr, expected, ...)                                 \
    do {                                                                       \
        rcx_status_t refused_;                                                 \
        capture_begin(c);                                                      \
        refused_ = (expr);                                                     \
        capture_end(c);                                                        \
        capture_check(c, #expr, refused_, expected,                            \
                      (const char *const[]){__VA_ARGS__, NULL});               \
    } while (0)

#endif
