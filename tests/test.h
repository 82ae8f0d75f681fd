/* SPDX-License-Identifier: BSD-3-Clause */
/* cmocka.h needs these before it, in this order. */
#ifndef RCX_TESTS_TEST_H
#define RCX_TESTS_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "rcx/rcx.h"

/* Compares texts, so that a failure says what went wrong. */
#define assert_status(expr, expected) \
    assert_string_equal(rcx_status_string(expr), rcx_status_string(expected))
#define assert_ok(expr) assert_status(expr, RCX_OK)

#endif
