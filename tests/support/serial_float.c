/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands and results of RCX_SUM_FLOAT and RCX_AVG_FLOAT (serial.h). */
#include <math.h>

#include "reference.h"
#include "serial_float.h"

double serial_short_number(uint64_t random)
{
    return ldexp((double)(random % 511) - 255, (int)(random >> 16) % 6);
}

/* The sum of one element over ranks lo to hi - 1, by the fixed tree. */
static float sum_of_element(const struct kind *kind, size_t index, int lo,
                            int hi, uint64_t seed)
{
    uint16_t half;
    int split = 1;

    if (hi - lo == 1) {
        serial_fill(kind, &half, index, 1, lo, seed);
        return (float)reference_decode(half, kind->type);
    }
    while (2 * split < hi - lo)
        split *= 2;
    return sum_of_element(kind, index, lo, lo + split, seed) +
           sum_of_element(kind, index, lo + split, hi, seed);
}

void serial_sum_in_float(const struct kind *kind, void *vector,
                         const struct part *part, uint64_t seed)
{
    uint16_t *const chunk = vector;
    const int ranks = part->hi - part->lo;

    for (size_t i = 0; i < part->count; i++) {
        const float sum =
            sum_of_element(kind, part->index + i, part->lo, part->hi, seed);

        chunk[i] = reference_encode(
            kind->op == RCX_AVG_FLOAT ? sum / (float)ranks : sum, kind->type);
    }
}
