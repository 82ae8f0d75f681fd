/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs exact sums into short messages (exact_wire.h). A sum is a header and
 * the words from the first to the last that are not implied: those below the
 * first are 0, and those above the last repeat its sign.
 */
#include "core/op/exact_wire.h"

#include <string.h>

#include "core/op/exact.h"

/* A header: flags where an accumulator has them, and these. */
enum { COUNT_SHIFT = 8, SIGN_SHIFT = 16, FIELD = 0xff };

/* The sign of an accumulator, as a word: 0 or all ones. */
static uint64_t sign_of(const uint64_t *sum, int words)
{
    return sum[words - 1] >> (RCX_EXACT_VALUE_BITS - 1) & 1 ? UINT64_MAX : 0;
}

/* The last word without its flags: the sign instead. */
static uint64_t last_of(const uint64_t *sum, int words, uint64_t sign)
{
    return (sum[words - 1] & ~RCX_EXACT_FLAGS) | (sign & RCX_EXACT_FLAGS);
}

/* Store a header and words; returns how many words, 0 if they do not fit. */
static size_t pack_one(uint64_t *to, size_t room, const uint64_t *sum,
                       int words)
{
    const uint64_t sign = sign_of(sum, words);
    int first = 0, end = words;

    if (last_of(sum, words, sign) == sign)
        for (end--; end > 0 && sum[end - 1] == sign; end--)
            ;
    while (first < end && sum[first] == 0)
        first++;
    if ((size_t)(end - first) + 1 > room)
        return 0;
    to[0] = (sum[words - 1] & RCX_EXACT_FLAGS) | (sign & 1) << SIGN_SHIFT |
            (uint64_t)(end - first) << COUNT_SHIFT | (uint64_t)first;
    memcpy(to + 1, sum + first, (size_t)(end - first) * sizeof *to);
    return (size_t)(end - first) + 1;
}

static size_t pack(void *to, size_t room, const void *from, size_t count,
                   int words)
{
    const size_t room_words = room / sizeof(uint64_t);
    const uint64_t *sums = from;
    uint64_t *at = to;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t own = pack_one(at + used, room_words - used,
                                    sums + i * (size_t)words, words);

        if (own == 0)
            return 0;
        used += own;
    }
    return used * sizeof(uint64_t);
}

/* Returns how many words it has read, 0 if they are no sum. */
static size_t unpack_one(uint64_t *sum, int words, const uint64_t *from,
                         size_t left)
{
    const uint64_t flags = left ? from[0] & RCX_EXACT_FLAGS : 0;
    const int first = left ? (int)(from[0] & FIELD) : 0;
    const int count = left ? (int)(from[0] >> COUNT_SHIFT & FIELD) : 0;
    const int end = first + count;

    if (left < (size_t)count + 1 || end > words)
        return 0;
    memset(sum, 0, (size_t)first * sizeof *sum);
    memcpy(sum + first, from + 1, (size_t)count * sizeof *sum);
    memset(sum + end, from[0] >> SIGN_SHIFT & 1 ? 0xff : 0,
           (size_t)(words - end) * sizeof *sum);
    sum[words - 1] = (sum[words - 1] & ~RCX_EXACT_FLAGS) | flags;
    return (size_t)count + 1;
}

static bool unpack(void *to, size_t count, const void *from, size_t bytes,
                   int words)
{
    const uint64_t *at = from;
    size_t left = bytes / sizeof(uint64_t);

    for (size_t i = 0; i < count; i++) {
        const size_t own =
            unpack_one((uint64_t *)to + i * (size_t)words, words, at, left);

        if (own == 0)
            return false;
        at += own;
        left -= own;
    }
    return left == 0 && bytes % sizeof(uint64_t) == 0;
}

static size_t pack_float32(void *to, size_t room, const void *from,
                           size_t count)
{
    return pack(to, room, from, count, rcx_exact_float32.words);
}

static bool unpack_float32(void *to, size_t count, const void *from,
                           size_t bytes)
{
    return unpack(to, count, from, bytes, rcx_exact_float32.words);
}

static size_t pack_float64(void *to, size_t room, const void *from,
                           size_t count)
{
    return pack(to, room, from, count, rcx_exact_float64.words);
}

static bool unpack_float64(void *to, size_t count, const void *from,
                           size_t bytes)
{
    return unpack(to, count, from, bytes, rcx_exact_float64.words);
}

const struct rcx_wire rcx_exact_wire_float32 = {pack_float32, unpack_float32};
const struct rcx_wire rcx_exact_wire_float64 = {pack_float64, unpack_float64};
