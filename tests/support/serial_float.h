/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands and results of RCX_SUM_FLOAT and RCX_AVG_FLOAT: between serial.c and
 * serial_float.c. */
#ifndef RCX_TESTS_SUPPORT_SERIAL_FLOAT_H
#define RCX_TESTS_SUPPORT_SERIAL_FLOAT_H

#include "serial.h"

/* A number of 8 bits, of which 2^10 have an exact sum in float. */
double serial_short_number(uint64_t random);

/* The sums or averages of a part in float, by the fixed tree, rounded once. */
void serial_sum_in_float(const struct kind *kind, void *vector,
                         const struct part *part, uint64_t seed);

#endif
