/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsers of sizes and times in settings (core/base/parse.c). Times with
 * integer values are tested by RCX_TIMEOUT in test_config.c. */
#include "test.h"

#include <math.h>

#include "core/base/parse.h"

static void sizes_have_binary_units(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
    } good[] = {{"0", 0},
                {"1", 1},
                {"007", 7},
                {"1k", 1024},
                {"1K", 1024},
                {"3KB", 3072},
                {"3kb", 3072},
                {"16M", 16777216},
                {"2G", UINT64_C(2147483648)},
                {"1T", UINT64_C(1099511627776)},
                {"18446744073709551615", SIZE_MAX},
                {"16777215T", SIZE_MAX << 40}};
    static const char *const bad[] = {"",          "K",
                                      "-1",        "+1",
                                      " 1",        "1 ",
                                      "1 K",       "1.5K",
                                      "1P",        "1B",
                                      "1KK",       "1KBB",
                                      "0x10",      "18446744073709551616",
                                      "16777216T", "99999999999G"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        size_t bytes = 42;

        assert_true(rcx_parse_bytes(good[i].text, &bytes));
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t bytes = 42;

        if (rcx_parse_bytes(bad[i], &bytes))
            print_error("\"%s\" is a size\n", bad[i]);
        assert_int_equal(bytes, 42); /* unchanged */
    }
}

static void times_of_a_byte_are_parts_of_a_nanosecond(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"0s", 0},           {"3s", 3},           {"20us", 20e-6},
                {"0.15ns", 0.15e-9}, {"1.25ms", 1.25e-3}, {"007.50us", 7.5e-6}};
    static const char *const bad[] = {
        "",     "s",       "3",     ".5us", "-1us", "1,5us",      " 1us",
        "1us ", "1.5.5us", "1e3us", "1m",   "inf",  "1000000000s"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double seconds;

        assert_true(rcx_parse_seconds(good[i].text, &seconds));
        assert_true(fabs(seconds - good[i].seconds) <= 1e-12 * seconds);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rcx_parse_seconds(bad[i], &(double){0}))
            fail_msg("\"%s\" is a time", bad[i]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_binary_units),
        cmocka_unit_test(times_of_a_byte_are_parts_of_a_nanosecond),
    };

    return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
