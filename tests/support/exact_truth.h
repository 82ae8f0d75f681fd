/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of numbers and products as they are defined, to compare exact sums with:
 * a counter for each power of two, from the smallest product of doubles to the
 * largest. Slow, and independent of the library.
 */
#ifndef RCX_TESTS_SUPPORT_EXACT_TRUTH_H
#define RCX_TESTS_SUPPORT_EXACT_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRUTH_UNIT = -2148, TRUTH_BITS = 4400 };

/* Initially zero: the sum of no terms. */
struct truth {
    int64_t count[TRUTH_BITS];        /* of 2^(TRUTH_UNIT + i) */
    bool is_nan, has_plus, has_minus; /* infinities */
    bool has_minus_zero, has_other;   /* terms */
    int by;                           /* an average: of so many; else 0 */
};

void truth_add(struct truth *t, double x);
void truth_add_product(struct truth *t, double x, double y);

/* The double and float nearest to the sum or average, ties to even. */
double truth_to_double(const struct truth *t);
float truth_to_float(const struct truth *t);

/* Whether bits are equal, or both are NaN. */
bool truth_equal(double a, double b);

/*
 * Numbers that are hard to sum, one of TRUTH_SETS sets. Floats, if they are to
 * be floats; finite.
 */
enum { TRUTH_SETS = 12 };
const char *truth_set_name(int set);
void truth_numbers(int set, bool are_floats, uint64_t seed, double *x,
                   size_t n);

#endif
