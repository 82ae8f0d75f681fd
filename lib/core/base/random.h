/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_CORE_BASE_RANDOM_H
#define RCX_CORE_BASE_RANDOM_H

#include <stdint.h>

/* The next number of a sequence that depends on the first state only
 * (splitmix64; Steele, Lea, Flood 2014). */
static inline uint64_t rcx_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

#endif
