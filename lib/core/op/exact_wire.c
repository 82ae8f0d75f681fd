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

/* Words that are compared at once. */
enum { RUN = 8 };
typedef uint64_t pair_t __attribute__((vector_size(16), aligned(8), may_alias));

/* Whether all words of a run are value. */
static inline bool are_all(const uint64_t *run, uint64_t value)
{
    const pair_t *p = (const pair_t *)run;
    const pair_t other =
        ((p[0] ^ value) | (p[1] ^ value)) | ((p[2] ^ value) | (p[3] ^ value));

    return (other[0] | other[1]) == 0;
}

/* The first word that is not 0, and the end of those that are not the sign. */
static inline void find_words(const uint64_t *sum, int words, uint64_t sign,
                              int *first_p, int *end_p)
{
    int first = 0, end = words;

    if (last_of(sum, words, sign) == sign) {
        end--;
        while (end >= RUN && are_all(sum + end - RUN, sign))
            end -= RUN;
        while (end > 0 && sum[end - 1] == sign)
            end--;
    }
    while (first + RUN <= end && are_all(sum + first, 0))
        first += RUN;
    while (first < end && sum[first] == 0)
        first++;
    *first_p = first;
    *end_p = end;
}

/* Store a header and words; returns how many words, 0 if they do not fit. */
static size_t pack_one(uint64_t *to, size_t room, const uint64_t *sum,
                       int words)
{
    const uint64_t sign = sign_of(sum, words);
    int first, end;

    find_words(sum, words, sign, &first, &end);
    if ((size_t)(end - first) + 1 > room)
        return 0;
    to[0] = (sum[words - 1] & RCX_EXACT_FLAGS) | (sign & 1) << SIGN_SHIFT |
            (uint64_t)(end - first) << COUNT_SHIFT | (uint64_t)first;
    for (int i = first; i < end; i++)
        to[1 + i - first] = sum[i];
    return (size_t)(end - first) + 1;
}

static size_t put(void *to, size_t room, const void *from, size_t count,
                  size_t elem_bytes)
{
    const size_t room_words = room / sizeof(uint64_t);
    const size_t words = elem_bytes / sizeof(uint64_t);
    const uint64_t *sum = from;
    uint64_t *at = to;
    size_t used = 0;

    for (size_t i = 0; i < count; i++, sum += words) {
        const size_t own =
            pack_one(at + used, room_words - used, sum, (int)words);

        if (own == 0)
            return 0;
        used += own;
    }
    return used * sizeof(uint64_t);
}

/* What a header says. */
struct header {
    int first, count;
    uint64_t sign, flags;
};

/* False: there is no header, or not as many words as it says. */
static inline bool read_header(struct header *h, int words,
                               const uint64_t *from, size_t left)
{
    if (left == 0)
        return false;
    h->first = (int)(from[0] & FIELD);
    h->count = (int)(from[0] >> COUNT_SHIFT & FIELD);
    h->sign = 0 - (from[0] >> SIGN_SHIFT & 1);
    h->flags = from[0] & RCX_EXACT_FLAGS;
    return left > (size_t)h->count && h->first + h->count <= words;
}

static void unpack_one(uint64_t *sum, int words, const struct header *h,
                       const uint64_t *from)
{
    const int end = h->first + h->count;

    memset(sum, 0, (size_t)words * sizeof *sum);
    for (int i = 0; i < h->count; i++)
        sum[h->first + i] = from[i];
    for (int i = end; h->sign && i < words; i++)
        sum[i] = h->sign;
    sum[words - 1] = (sum[words - 1] & ~RCX_EXACT_FLAGS) | h->flags;
}

/* Unpack, or add to other sums if there are some. */
static bool add(void *dst, const void *others, size_t count, size_t elem_bytes,
                const void *message, size_t bytes)
{
    const int words = (int)(elem_bytes / sizeof(uint64_t));
    const uint64_t *at = message, *other = others;
    uint64_t *to = dst;
    size_t left = bytes / sizeof(uint64_t);
    struct header h;

    for (size_t i = 0; i < count; i++, to += words) {
        if (!read_header(&h, words, at, left))
            return false;
        if (others)
            rcx_exact_add_words(to, other + i * (size_t)words, words, h.first,
                                at + 1, h.count, h.sign, h.flags);
        else
            unpack_one(to, words, &h, at + 1);
        at += 1 + h.count;
        left -= 1 + (size_t)h.count;
    }
    return left == 0 && bytes % sizeof(uint64_t) == 0;
}

static bool take(void *to, size_t count, size_t elem_bytes, const void *message,
                 size_t bytes)
{
    return add(to, NULL, count, elem_bytes, message, bytes);
}

/* Elements of a short message: each takes 8 bytes or more. */
enum { MOST = 12 };

const struct rcx_wire *rcx_exact_wire_find(rcx_op_t op, rcx_datatype_t type)
{
    static const struct rcx_wire sums = {MOST, put, take, add};
    static const struct rcx_wire others = {MOST, put, take, NULL};

    if (type != RCX_EXACT_FLOAT32 && type != RCX_EXACT_FLOAT64)
        return NULL;
    return op == RCX_SUM ? &sums : &others;
}
