/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two 16-bit floating formats, as bits in a uint16_t: to and from float,
 * rounded to nearest even, and their minimum and maximum. Straight-line code of
 * integer operations, selects and one addition, so that the compiler can
 * vectorise it on every machine. All functions are static: each translation
 * unit that includes this is compiled for another machine.
 */
#ifndef RCX_CORE_OP_KERNELS_HALF_H
#define RCX_CORE_OP_KERNELS_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* ---- binary16: sign, 5 bits of exponent (bias 15), 10 of mantissa -------- */

/* Exact, for every value: a float has more of everything. */
static inline float from_float16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    const uint32_t rebias = (uint32_t)(127 - 15) << 23;
    /* A subnormal is a multiple of 2^-24: put it below a leading one of 2^-14,
       and take that one off again. */
    const uint32_t one = (uint32_t)(127 - 14) << 23;
    const uint32_t subnormal =
        bits_of(float_of(magnitude + one) - float_of(one));
    const uint32_t normal = magnitude + rebias;
    const uint32_t special = magnitude | 0xffu << 23; /* infinity, NaN */
    uint32_t bits = normal;

    bits = magnitude < 0x0400u << 13 ? subnormal : bits;
    bits = magnitude >= 0x7c00u << 13 ? special : bits;
    return float_of(bits | sign);
}

static inline uint16_t to_float16(float value)
{
    const uint32_t sign = bits_of(value) & 0x80000000u;
    const uint32_t magnitude = bits_of(value) ^ sign;
    const uint32_t rebias = (uint32_t)(127 - 15) << 23;
    const uint32_t overflow = (uint32_t)(127 + 16) << 23; /* 2^16 */
    const uint32_t smallest = (uint32_t)(127 - 14) << 23; /* 2^-14, normal */
    /* Below 2^-14 the units are 2^-24, those of a float around 0.5: the sum
       with 0.5 rounds as wanted. */
    const uint32_t half = (uint32_t)(127 - 1) << 23;
    const uint32_t subnormal =
        bits_of(float_of(magnitude) + float_of(half)) - half;
    /* 13 bits go: add just below half a unit, or half where the last bit that
       stays is odd. A carry may go up to infinity, as it should. */
    const uint32_t odd = magnitude >> 13 & 1;
    const uint32_t normal = (magnitude - rebias + 0xfff + odd) >> 13;
    const uint32_t special = magnitude > 0xffu << 23 ? 0x7e00 : 0x7c00;
    uint32_t bits = normal;

    bits = magnitude < smallest ? subnormal : bits;
    bits = magnitude >= overflow ? special : bits;
    return (uint16_t)(bits | sign >> 16);
}

/* ---- bfloat16: the upper half of a float --------------------------------- */

static inline float from_bfloat16(uint16_t half)
{
    return float_of((uint32_t)half << 16);
}

static inline uint16_t to_bfloat16(float value)
{
    const uint32_t bits = bits_of(value);
    const uint32_t odd = bits >> 16 & 1;
    const uint32_t rounded = (bits + 0x7fff + odd) >> 16;

    return value != value ? 0x7fc0 : (uint16_t)rounded; /* a quiet NaN */
}

/* ---- Minimum and maximum of both ----------------------------------------- */

/*
 * As signed integers, the non-negative values are in the order of the numbers,
 * and so are the negative ones once their lower bits are inverted; the map is
 * its own inverse. infinity tells the formats apart: all above it are NaNs,
 * which become the largest or the smallest value of all, a NaN itself.
 */
static inline int16_t rank_of(uint16_t half, int16_t infinity, int16_t nan)
{
    const int16_t value = (int16_t)half;
    const int16_t magnitude = (int16_t)(half & 0x7fff);
    const int16_t ranked = (int16_t)(value ^ (value >> 15 & 0x7fff));

    return magnitude > infinity ? nan : ranked;
}

static inline uint16_t max_half(uint16_t a, uint16_t b, int16_t infinity)
{
    const int16_t left = rank_of(a, infinity, INT16_MAX);
    const int16_t right = rank_of(b, infinity, INT16_MAX);
    const int16_t max = left > right ? left : right;

    return (uint16_t)(max ^ (max >> 15 & 0x7fff));
}

static inline uint16_t min_half(uint16_t a, uint16_t b, int16_t infinity)
{
    const int16_t left = rank_of(a, infinity, INT16_MIN);
    const int16_t right = rank_of(b, infinity, INT16_MIN);
    const int16_t min = left < right ? left : right;

    return (uint16_t)(min ^ (min >> 15 & 0x7fff));
}

#endif
