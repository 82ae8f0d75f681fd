/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sum of two exact sums from its definition, digit by digit, and samples.
 * Independent of the library.
 */
#include "reference_exact.h"

#include <stdint.h>
#include <string.h>

#include "reference.h"

/*
 * Exact sums are integers of words of 64 bits, the least first, without the
 * four upper bits of the last word. These say, from the lowest on: there is a
 * term; one that is not -0; +infinity; -infinity. Both infinities are NaN, and
 * with any of the two the integer is 0. This adds digits of 16 bits.
 */
void exact_combine(void *dst, const void *left, const void *right, size_t bytes)
{
    const size_t words = bytes / 8;
    uint64_t a[REFERENCE_BYTES / 8], b[REFERENCE_BYTES / 8], flags;
    uint32_t carry = 0;

    memcpy(a, left, bytes);
    memcpy(b, right, bytes);
    flags = (a[words - 1] | b[words - 1]) >> 60;
    for (size_t i = 0; i < 4 * words; i++) {
        const unsigned at = i % 4 * 16;

        carry += (uint32_t)(a[i / 4] >> at & 0xffff);
        carry += (uint32_t)(b[i / 4] >> at & 0xffff);
        a[i / 4] &= ~((uint64_t)0xffff << at);
        a[i / 4] |= (uint64_t)(carry & 0xffff) << at;
        carry >>= 16;
    }
    if (flags & 0xc)
        memset(a, 0, bytes);
    a[words - 1] = (a[words - 1] & UINT64_MAX >> 4) | flags << 60;
    memcpy(dst, a, bytes);
}

/* Write number * 2^shift and flags as an exact sum. */
static void store_exact(char *dst, size_t bytes, int64_t number, size_t shift,
                        uint64_t flags)
{
    uint64_t words[REFERENCE_BYTES / 8];
    const size_t last = bytes / 8 - 1, at = shift / 64;
    const unsigned by = shift % 64;

    memset(words, number < 0 ? 0xff : 0, bytes);
    memset(words, 0, at * 8);
    words[at] = (uint64_t)number << by;
    if (by > 0 && at < last)
        words[at + 1] = (uint64_t)(number >> (64 - by));
    words[last] = (words[last] & UINT64_MAX >> 4) | flags << 60;
    memcpy(dst, words, bytes);
}

size_t exact_samples(char *dst, size_t bytes)
{
    enum { NONE = 0, MINUS_ZERO = 1, NUMBER = 3, PLUS = 7, MINUS = 11 };
    const size_t top = 8 * bytes - 5; /* the bit of the sign */
    const struct {
        int64_t number;
        size_t shift;
        uint64_t flags;
    } samples[] = {
        {0, 0, NONE},
        {0, 0, MINUS_ZERO},
        {0, 0, NUMBER},
        {0, 0, PLUS},
        {0, 0, MINUS},
        {0, 0, PLUS | MINUS},
        {1, 0, NUMBER},
        {-1, 0, NUMBER},
        {INT64_MAX, 0, NUMBER},
        {INT64_MIN, 0, NUMBER},
        {INT64_MAX, 1, NUMBER},
        {0x123456789abcdef, 100, NUMBER},
        {-0x123456789abcdef, 100, NUMBER},
        {-3, 191, NUMBER},
        {3, 191, NUMBER},
        {1, top - 1, NUMBER}, /* two of them wrap around */
        {-1, top, NUMBER},
        {-5, top - 80, NUMBER},
    };
    const size_t n = sizeof(samples) / sizeof(*samples);

    for (size_t i = 0; i < n; i++)
        store_exact(dst + i * bytes, bytes, samples[i].number, samples[i].shift,
                    samples[i].flags);
    return n;
}
