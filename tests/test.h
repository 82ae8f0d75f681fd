/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions for tests with cmocka. cmocka.h needs the four headers above it,
 * in this order. */
#ifndef RCX_TESTS_TEST_H
#define RCX_TESTS_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "rcx/rcx.h"
#include "times.h"

/* Compare statuses by their texts, so that a failure prints both. */
#define assert_status(expr, expected)                                          \
    assert_string_equal(rcx_status_string(expr), rcx_status_string(expected))
#define assert_ok(expr) assert_status(expr, RCX_OK)

/* The same for threads other than the main thread of a test: a failed cmocka
 * assertion ends the process there without a message. */
#define require(expr)                                                          \
    ((expr) ? (void)0 : require_failed(__FILE__, __LINE__, #expr, "false"))
#define require_status(expr, expected)                                         \
    do {                                                                       \
        const rcx_status_t required_ = (expr);                                 \
        if (required_ != (expected))                                           \
            require_failed(__FILE__, __LINE__, #expr,                          \
                           rcx_status_string(required_));                      \
    } while (0)
#define require_ok(expr) require_status(expr, RCX_OK)

/* Ends a test whose subject cannot exist on this machine, and says why. skip()
 * of cmocka 1.1.5 prints "not ok", which Meson takes for a failure. */
#define skip_because(why)                                                      \
    do {                                                                       \
        print_message("# skipped: %s: %s\n", __func__, why);                   \
        return;                                                                \
    } while (0)

static inline _Noreturn void require_failed(const char *file, int line,
                                            const char *what, const char *value)
{
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, value);
    _Exit(1);
}

#endif
