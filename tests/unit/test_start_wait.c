/* SPDX-License-Identifier: BSD-3-Clause */
/* When a start that takes long warns: after 5 s, and after twice as long each
 * time. Starts that began long ago stand for those that wait. */
#include "test.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/start_wait.h"
#include "lines.h"

#define SECOND UINT64_C(1000000000)

static struct lines said;

static struct rcx_log log_of(void)
{
    struct rcx_log log;

    memset(&said, 0, sizeof said);
    rcx_log_init(&log);
    log.fn = lines_keep;
    log.arg = &said;
    return log;
}

/* The seconds after its begin at which the next warning of a start is due that
 * began so many seconds ago. */
static uint64_t next_after(uint64_t seconds)
{
    const struct rcx_log log = log_of();
    const uint64_t begin = rcx_now_ns() - seconds * SECOND;
    struct rcx_start_wait w;

    rcx_start_wait_begin(&w, &log, begin);
    return (rcx_start_wait_next(&w) - begin) / SECOND;
}

/* 5, 10, 20, ... 5120. The numbers leave minutes to a machine that is slow. */
static void a_start_warns_after_twice_as_long_each_time(void **state)
{
    (void)state;
    assert_int_equal(1280, next_after(700));
    assert_int_equal(2560, next_after(1300));
    assert_int_equal(5120, next_after(4000));
    assert_true(next_after(0) >= 5);
}

static void a_warning_names_the_time_and_the_reason(void **state)
{
    const struct rcx_log log = log_of();
    struct rcx_start_wait w;

    (void)state;
    rcx_start_wait_begin(&w, &log, rcx_now_ns() - 700 * SECOND);
    assert_false(rcx_start_wait_is_due(&w));
    w.next_ns = rcx_now_ns();
    assert_true(rcx_start_wait_is_due(&w));
    rcx_start_wait_warn(&w, "rank %d is late", 3);
    assert_int_equal(1, said.count);
    assert_int_equal(RCX_LOG_WARN, said.level);
    assert_non_null(strstr(said.last, "rcx_init has waited 7"));
    assert_non_null(strstr(said.last, " s: rank 3 is late"));
    assert_int_equal(1280, (w.next_ns - w.begin_ns) / SECOND);
    w.next_ns = rcx_now_ns();
    rcx_start_wait_skip(&w);
    assert_int_equal(1280, (w.next_ns - w.begin_ns) / SECOND);
    assert_int_equal(1, said.count);
}

static void a_start_that_is_over_does_not_warn(void **state)
{
    const struct rcx_log log = log_of();
    struct rcx_start_wait w;

    (void)state;
    rcx_start_wait_begin(&w, &log, rcx_now_ns() - 700 * SECOND);
    w.next_ns = rcx_now_ns();
    rcx_start_wait_end(&w);
    assert_false(rcx_start_wait_is_due(&w));
    assert_true(rcx_start_wait_next(&w) == UINT64_MAX);
    assert_false(rcx_start_wait_is_due(NULL));
    assert_true(rcx_start_wait_next(NULL) == UINT64_MAX);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_warns_after_twice_as_long_each_time),
        cmocka_unit_test(a_warning_names_the_time_and_the_reason),
        cmocka_unit_test(a_start_that_is_over_does_not_warn),
    };

    return cmocka_run_group_tests_name("start_wait", tests, NULL, NULL);
}
