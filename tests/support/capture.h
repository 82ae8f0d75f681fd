/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call had to say: to the host's log function, and to stderr. */
#ifndef RCX_TESTS_SUPPORT_CAPTURE_H
#define RCX_TESTS_SUPPORT_CAPTURE_H

#include <stdbool.h>
#include <stdio.h>

#include "rcx/rcx.h"

struct capture {
    int host_lines; /* to capture_line() */
    int stderr_lines;
    rcx_log_level_t level; /* of the last one to the host */
    char text[4096];       /* all lines, each with a newline */
    int saved;             /* stderr itself */
    FILE *file;            /* in its place */
    bool asks_for_name;    /* a call of rcx.h that is refused has to be named */
};

/* A rcx_log_fn_t; arg is a struct capture. */
void capture_line(rcx_log_level_t level, const char *text, void *arg);

/* Forget, and listen to stderr from here to capture_end(). */
void capture_begin(struct capture *c);
void capture_end(struct capture *c);

/*
 * What went on between begin and end was refused with status, in one line of
 * text that has all words in it; words end with NULL.
 */
void capture_check(const struct capture *c, const char *expression,
                   rcx_status_t status, rcx_status_t expected,
                   const char *const words[]);

/* The remaining arguments are words that name what is wrong. */
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
