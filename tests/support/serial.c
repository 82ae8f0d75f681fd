/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operands of all ranks and the expected results of collectives, computed by
 * one process without the library. Operands are functions of rank, seed and
 * index; reductions follow the fixed tree of rcx_order_t.
 */
#include "serial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exact_truth.h"
#include "reference.h"
#include "serial_float.h"

uint64_t serial_mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * 0x9e3779b97f4a7c15 + b * 0xbf58476d1ce4e5b9 +
                 c * 0x94d049bb133111eb + 0x2545f4914f6cdd1d;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

uint64_t serial_hash(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325, word;

    for (; count >= sizeof word; count -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * 0x100000001b3;
        hash ^= hash >> 29;
    }
    while (count-- > 0)
        hash = (hash ^ *at++) * 0x100000001b3;
    return hash;
}

/* ---- Kinds --------------------------------------------------------------- */

const struct kind sums = {.type = RCX_INT64, .op = RCX_SUM};
const struct kind lines = {.type = RCX_UINT64, .op = RCX_SUM, .is_line = true};

/* The fixed-width type that is the same as a C type. */
static rcx_datatype_t fixed(rcx_datatype_t type)
{
    switch (type) {
    case RCX_SIGNED_CHAR: return RCX_INT8;
    case RCX_UNSIGNED_CHAR: return RCX_UINT8;
    case RCX_SHORT: return RCX_INT16;
    case RCX_UNSIGNED_SHORT: return RCX_UINT16;
    case RCX_INT: return RCX_INT32;
    case RCX_UNSIGNED: return RCX_UINT32;
    case RCX_LONG: return sizeof(long) == 8 ? RCX_INT64 : RCX_INT32;
    case RCX_UNSIGNED_LONG: return sizeof(long) == 8 ? RCX_UINT64 : RCX_UINT32;
    case RCX_LONG_LONG: return RCX_INT64;
    case RCX_UNSIGNED_LONG_LONG: return RCX_UINT64;
    default: return type;
    }
}

static bool is_pair(rcx_datatype_t type)
{
    return type >= RCX_FLOAT_INT && type <= RCX_LONG_DOUBLE_INT;
}

static bool is_complex(rcx_datatype_t type)
{
    return type >= RCX_COMPLEX_FLOAT && type <= RCX_COMPLEX_LONG_DOUBLE;
}

static bool is_floating(rcx_datatype_t type)
{
    return type >= RCX_FLOAT16 && type <= RCX_LONG_DOUBLE;
}

static bool is_exact(rcx_datatype_t type)
{
    return type == RCX_EXACT_FLOAT32 || type == RCX_EXACT_FLOAT64;
}

bool serial_is_legal(rcx_datatype_t given, rcx_op_t op)
{
    const rcx_datatype_t type = fixed(given);
    const bool integer = type >= RCX_INT8 && type <= RCX_UINT64;
    const bool number = integer || is_floating(type) || is_complex(type);

    switch (op) {
    case RCX_MAX:
    case RCX_MIN: return integer || is_floating(type);
    case RCX_SUM: return number || is_exact(type);
    case RCX_PROD: return number;
    case RCX_LAND:
    case RCX_LOR:
    case RCX_LXOR: return integer || type == RCX_BOOL;
    case RCX_BAND:
    case RCX_BOR:
    case RCX_BXOR: return integer || type == RCX_BOOL || type == RCX_BYTE;
    case RCX_MAXLOC:
    case RCX_MINLOC: return is_pair(type);
    case RCX_REPLACE:
    case RCX_NO_OP: return true;
    case RCX_AVG: return is_floating(type) || is_complex(type);
    case RCX_SUM_EXACT:
    case RCX_AVG_EXACT: return type == RCX_FLOAT32 || type == RCX_FLOAT64;
    case RCX_SUM_FLOAT:
    case RCX_AVG_FLOAT: return type == RCX_FLOAT16 || type == RCX_BFLOAT16;
    default: return false;
    }
}

static bool sums_exactly(const struct kind *kind)
{
    return kind->op == RCX_SUM_EXACT || kind->op == RCX_AVG_EXACT;
}

static bool sums_in_float(const struct kind *kind)
{
    return kind->op == RCX_SUM_FLOAT || kind->op == RCX_AVG_FLOAT;
}

size_t serial_bytes(const struct kind *kind)
{
    return kind->extent ? kind->extent : reference_bytes(fixed(kind->type));
}

/* ---- Operands ------------------------------------------------------------ */

/* Small integers, whose sums are exact in every type for few ranks; for
 * products, powers of two. */
static double small_number(rcx_op_t op, uint64_t random)
{
    static const double factors[] = {1, -1, 2, 0.5, -2, 1, -0.5, 1};

    return op == RCX_PROD ? factors[random % 8] : (double)(random % 17) - 8;
}

/* Numbers near 1 whose sums round, and few others. Whole blocks of 1024 have
 * none of these, others one kind. */
static double hard_number(rcx_datatype_t type, size_t index, uint64_t random)
{
    static const double special[] = {NAN, INFINITY, -INFINITY, -0.0};
    const double number = (double)(int64_t)(random << 8) * 0x1p-60;
    const int range = type == RCX_FLOAT32 ? 250 : 2000;
    const int apart = (int)(random >> 8 & 0xffff) % range - range / 2;

    if (random >> 56)
        return index / 1024 % 4 == 2 && random >> 60 == 0 ? -0.0 : number;
    switch (index / 1024 % 4) {
    case 0: return ldexp((double)(random % 17) - 8, apart);
    case 1: return random & 1 ? special[random >> 1 & 3] : number;
    default: return number;
    }
}

static void put_real(void *at, rcx_datatype_t type, double value)
{
    uint16_t half;

    switch (type) {
    case RCX_FLOAT16:
    case RCX_BFLOAT16:
        half = reference_encode(value, type);
        memcpy(at, &half, sizeof half);
        break;
    case RCX_FLOAT32: *(float *)at = (float)value; break;
    case RCX_FLOAT64: *(double *)at = value; break;
    default: *(long double *)at = value; break;
    }
}

static void put_complex(void *at, rcx_datatype_t type, rcx_op_t op,
                        uint64_t random)
{
    /* factors of +-1 +-i: products are powers of two times a root of unity */
    const double re =
        op == RCX_PROD ? 1 - (double)(random & 2) : small_number(op, random);
    const double im = op == RCX_PROD ? 1 - (double)(random >> 4 & 2)
                                     : small_number(op, random >> 8);
    const rcx_datatype_t part = type == RCX_COMPLEX_FLOAT    ? RCX_FLOAT32
                                : type == RCX_COMPLEX_DOUBLE ? RCX_FLOAT64
                                                             : RCX_LONG_DOUBLE;

    put_real(at, part, re);
    put_real((char *)at + reference_bytes(part), part, im);
}

/* Few different values, so that the index decides. */
static void put_pair(void *at, rcx_datatype_t type, int index, uint64_t random)
{
    const int value = (int)(random % 3) - 1;

#define PUT(ctype)                                                             \
    do {                                                                       \
        struct {                                                               \
            ctype value;                                                       \
            int index;                                                         \
        } *pair = at;                                                          \
        pair->value = (ctype)value;                                            \
        pair->index = index;                                                   \
    } while (0)
    switch (type) {
    case RCX_FLOAT_INT: PUT(float); break;
    case RCX_DOUBLE_INT: PUT(double); break;
    case RCX_LONG_INT: PUT(long); break;
    case RCX_2INT: PUT(int); break;
    case RCX_SHORT_INT: PUT(short); break;
    default: PUT(long double); break;
    }
#undef PUT
}

/* The exact sum of one number: 32 bits with a sign somewhere in an integer of
 * words, and the two flags of a number that is not -0. */
static void put_exact(uint64_t *words, rcx_datatype_t type, uint64_t random)
{
    const size_t last = (type == RCX_EXACT_FLOAT32 ? 6 : 67) - 1;
    const size_t at = (random >> 40) % last;
    const int64_t number = (int32_t)random;

    for (size_t i = at + 1; i <= last; i++)
        words[i] = number < 0 ? UINT64_MAX : 0;
    words[at] = (uint64_t)number << (random >> 32) % 32;
    words[last] = (words[last] & UINT64_MAX >> 4) | (uint64_t)3 << 60;
}

static void put_bytes(unsigned char *at, size_t bytes, uint64_t random)
{
    for (size_t i = 0; i < bytes; i++) {
        if (i > 0 && i % 8 == 0)
            random = serial_mix(random, i, 0);
        at[i] = (unsigned char)(random >> i % 8 * 8);
    }
}

/* Odd factors are invertible modulo 256, so no factor hides another operand. */
static void put_maps(unsigned char *at, size_t bytes, uint64_t random)
{
    put_bytes(at, bytes, random);
    for (size_t i = 0; i + 1 < bytes; i += 2)
        at[i] |= 1;
}

static void put(const struct kind *kind, void *at, size_t bytes, int rank,
                size_t index, uint64_t random)
{
    const rcx_datatype_t type = fixed(kind->type);

    if (kind->fill)
        kind->fill(kind, at, random);
    else if (kind->extent)
        put_maps(at, bytes, random);
    else if (sums_exactly(kind))
        put_real(at, type, hard_number(type, index, random));
    else if (sums_in_float(kind))
        put_real(at, type, serial_short_number(random));
    else if (is_floating(type))
        put_real(at, type, small_number(kind->op, random));
    else if (is_complex(type))
        put_complex(at, type, kind->op, random);
    else if (is_exact(type))
        put_exact(at, type, random);
    else if (is_pair(type))
        put_pair(at, type, (int)(random >> 8) % 4 * 16 + rank, random);
    else if (type == RCX_BOOL)
        *(bool *)at = random & 1;
    else
        /* one of 16 elements is zero, which logical ops distinguish */
        put_bytes(at, bytes, random >> 60 ? random : 0);
}

/* A line of bytes repeats after 256 elements, so an error by a power of two
 * would be hidden. Restart it after a prime number of elements. */
static void fill_bytes(uint8_t *vector, const struct part *part, uint64_t start,
                       uint64_t slope)
{
    enum { PRIME = 251 };
    uint8_t line[PRIME];
    size_t at = part->index % PRIME, n;

    for (size_t i = 0; i < PRIME; i++)
        line[i] = (uint8_t)(start + i * slope);
    for (size_t i = 0; i < part->count; i += n, at = 0) {
        n = part->count - i < PRIME - at ? part->count - i : PRIME - at;
        memcpy(vector + i, line + at, n);
    }
}

/* The sum of lines: rank's line starts at a random value and has slope rank +
 * 1. */
static void fill_line(const struct kind *kind, void *vector,
                      const struct part *part, uint64_t seed)
{
    uint64_t start = 0, slope = 0;

    for (int rank = part->lo; rank < part->hi; rank++) {
        start += serial_mix((uint64_t)rank, seed, 9);
        slope += (uint64_t)rank + 1;
    }
    if (kind->type == RCX_UINT8)
        fill_bytes(vector, part, start, slope);
    else
        for (size_t i = 0; i < part->count; i++)
            ((uint64_t *)vector)[i] = start + (part->index + i) * slope;
}

void serial_fill(const struct kind *kind, void *vector, size_t first,
                 size_t count, int rank, uint64_t seed)
{
    const size_t bytes = serial_bytes(kind);
    char *at = vector;

    if (kind->is_line) {
        const struct part own = {rank, rank + 1, first, count};

        fill_line(kind, vector, &own, seed);
        return;
    }
    memset(vector, 0, count * bytes);
    for (size_t i = 0; i < count; i++, at += bytes)
        put(kind, at, bytes, rank, first + i,
            serial_mix(seed, (uint64_t)rank + 1, first + i));
}

/* ---- Results ------------------------------------------------------------- */

/*
 * Two bytes are the map x -> m x + c modulo 256, and op is composition. If a
 * single byte remains at the end, op keeps the last that is not zero.
 */
static void compose(unsigned char *d, const unsigned char *a,
                    const unsigned char *b, size_t extent)
{
    for (size_t k = 0; k + 1 < extent; k += 2) {
        const unsigned m = a[k], c = a[k + 1];

        d[k + 1] = (unsigned char)(c * b[k] + b[k + 1]);
        d[k] = (unsigned char)(m * b[k]);
    }
    if (extent % 2)
        d[extent - 1] = b[extent - 1] ? b[extent - 1] : a[extent - 1];
}

int serial_user_op(void *dst, const void *left, const void *right, size_t count,
                   rcx_datatype_t type, void *arg)
{
    const struct kind *kind = arg;

    (void)type;
    for (size_t at = 0; at < count * kind->extent; at += kind->extent) {
        char *d = (char *)dst + at;
        const char *a = (const char *)left + at, *b = (const char *)right + at;

        if (kind->combine)
            kind->combine(kind, d, a, b);
        else
            compose((unsigned char *)d, (const unsigned char *)a,
                    (const unsigned char *)b, kind->extent);
    }
    return 0;
}

/* *acc = *acc op *next. */
static void combine_one(const struct kind *kind, void *acc, const void *next)
{
    if (kind->combine)
        kind->combine(kind, acc, acc, next);
    else if (kind->extent)
        compose(acc, acc, next, kind->extent);
    else
        reference_combine(acc, acc, next, kind->op, fixed(kind->type));
}

static void combine(const struct kind *kind, void *acc, const void *next,
                    size_t count)
{
    const size_t bytes = serial_bytes(kind);
    const bool is_sum = kind->op == RCX_SUM && !kind->combine;

#define ADD(ctype)                                                             \
    for (size_t i = 0; i < count; i++)                                         \
    ((ctype *)acc)[i] += ((const ctype *)next)[i]
    if (kind->op == RCX_REPLACE)
        memcpy(acc, next, count * bytes);
    else if (kind->op == RCX_NO_OP)
        return;
    else if (is_sum && kind->type == RCX_UINT64)
        ADD(uint64_t);
    else if (is_sum && kind->type == RCX_FLOAT32)
        ADD(float);
    else if (is_sum && kind->type == RCX_FLOAT64)
        ADD(double);
    else
        for (size_t at = 0; at < count * bytes; at += bytes)
            combine_one(kind, (char *)acc + at, (const char *)next + at);
#undef ADD
}

/* The sign of a complex product's zero depends on the bracketing. */
static bool equal_complex(const void *a, const void *b, rcx_datatype_t type)
{
#define EQUAL(ctype)                                                           \
    (((const ctype *)a)[0] == ((const ctype *)b)[0] &&                         \
     ((const ctype *)a)[1] == ((const ctype *)b)[1])
    if (type == RCX_COMPLEX_FLOAT)
        return EQUAL(float);
    return type == RCX_COMPLEX_DOUBLE ? EQUAL(double) : EQUAL(long double);
#undef EQUAL
}

static bool equal(const struct kind *kind, const void *a, const void *b,
                  size_t bytes)
{
    const rcx_datatype_t type = fixed(kind->type);

    if (kind->extent)
        return memcmp(a, b, bytes) == 0;
    return is_complex(type) ? equal_complex(a, b, type)
                            : reference_equal(a, b, type);
}

/* Compare bytes first, then elements: padding of a long double may differ. */
static bool are_equal(const struct kind *kind, const char *a, const char *b,
                      size_t count, size_t bytes)
{
    const bool same = memcmp(a, b, count * bytes) == 0;

    for (size_t i = 0; i < count && !same; i++)
        if (!equal(kind, a + i * bytes, b + i * bytes, bytes))
            return false;
    return true;
}

enum { CHUNK_BYTES = 16384, ALIGN = _Alignof(max_align_t) };

bool serial_keeps(const struct kind *kind, const void *vector, size_t first,
                  size_t count, int rank, uint64_t seed)
{
    _Alignas(max_align_t) char chunk[CHUNK_BYTES];
    const size_t bytes = serial_bytes(kind), most = CHUNK_BYTES / bytes;
    const char *at = vector;

    while (count > 0) {
        const size_t n = count < most ? count : most;

        serial_fill(kind, chunk, first, n, rank, seed);
        if (!are_equal(kind, chunk, at, n, bytes))
            return false;
        at += n * bytes;
        first += n;
        count -= n;
    }
    return true;
}

static double value_of(const char *at, rcx_datatype_t type)
{
    return type == RCX_FLOAT32 ? (double)*(const float *)(const void *)at
                               : *(const double *)(const void *)at;
}

/* Add x to *sum, in units of 2^-60. False: it is no such number. */
static bool add_quickly(__int128 *sum, double x)
{
    if (!(fabs(x) < 64) || x * 0x1p60 != rint(x * 0x1p60))
        return false;
    *sum += (__int128)(x * 0x1p60);
    return true;
}

/* The exact sums or averages of a part, rounded once: as integers where they
 * suit, as the truth is slow. */
static void sum_exactly(const struct kind *kind, char *chunk,
                        const struct part *part, uint64_t seed)
{
    const rcx_datatype_t type = fixed(kind->type);
    const size_t bytes = serial_bytes(kind);
    struct truth t;

    for (size_t i = 0; i < part->count; i++, chunk += bytes) {
        __int128 sum = 0;
        int rank = part->lo;

        do
            serial_fill(kind, chunk, part->index + i, 1, rank, seed);
        while (add_quickly(&sum, value_of(chunk, type)) && ++rank < part->hi);
        if (kind->op == RCX_SUM_EXACT && rank == part->hi && sum != 0) {
            put_real(chunk, type,
                     (type == RCX_FLOAT32 ? (double)(float)sum : (double)sum) *
                         0x1p-60);
            continue;
        }
        memset(&t, 0, sizeof t);
        for (rank = part->lo; rank < part->hi; rank++) {
            serial_fill(kind, chunk, part->index + i, 1, rank, seed);
            truth_add(&t, value_of(chunk, type));
        }
        if (kind->op == RCX_AVG_EXACT)
            t.by = part->hi - part->lo;
        put_real(chunk, type,
                 type == RCX_FLOAT32 ? (double)truth_to_float(&t)
                                     : truth_to_double(&t));
    }
}

/* Combine the operands of a part into chunk. The memory behind it, in steps of
 * step bytes, is used by deeper levels. */
static void reduce_tree(const struct kind *kind, char *chunk, size_t step,
                        const struct part *part, uint64_t seed)
{
    struct part left = *part, right = *part;
    int split = 1;

    if (kind->is_line) {
        fill_line(kind, chunk, part, seed);
        return;
    }
    if (sums_exactly(kind)) {
        sum_exactly(kind, chunk, part, seed);
        return;
    }
    if (sums_in_float(kind)) {
        serial_sum_in_float(kind, chunk, part, seed);
        return;
    }
    if (part->hi - part->lo == 1) {
        serial_fill(kind, chunk, part->index, part->count, part->lo, seed);
        return;
    }
    while (2 * split < part->hi - part->lo)
        split *= 2;
    left.hi = right.lo = part->lo + split;
    reduce_tree(kind, chunk, step, &left, seed);
    reduce_tree(kind, chunk + step, step, &right, seed);
    combine(kind, chunk, chunk + step, part->count);
}

static bool check_chunk(const struct kind *kind, const char *result,
                        char *expected, const struct part *part,
                        size_t *wrong_p)
{
    const size_t bytes = serial_bytes(kind);

    if (kind->op != RCX_AVG &&
        memcmp(result, expected, part->count * bytes) == 0)
        return true;
    for (size_t i = 0; i < part->count; i++) {
        const size_t at = i * bytes;

        if (kind->op == RCX_AVG)
            reference_average(expected + at, fixed(kind->type),
                              part->hi - part->lo);
        if (!equal(kind, result + at, expected + at, bytes)) {
            *wrong_p = part->index + i;
            return false;
        }
    }
    return true;
}

/* Levels of the tree over that many ranks. */
static size_t levels_of(int ranks)
{
    size_t levels = 1;

    while (1 << (levels - 1) < ranks)
        levels++;
    return levels;
}

bool serial_check(const struct kind *kind, const void *result,
                  const struct part *part, uint64_t seed, size_t *wrong_p)
{
    const size_t bytes = serial_bytes(kind), most = CHUNK_BYTES / bytes;
    const size_t longest = part->count < most ? part->count : most;
    const size_t step = (longest * bytes / ALIGN + 1) * ALIGN;
    char *chunks = malloc(levels_of(part->hi - part->lo) * step);
    bool right = true;

    if (!chunks)
        abort();
    for (size_t done = 0; done < part->count && right; done += most) {
        struct part piece = *part;

        piece.index += done;
        piece.count = part->count - done < most ? part->count - done : most;
        reduce_tree(kind, chunks, step, &piece, seed);
        right = check_chunk(kind, (const char *)result + done * bytes, chunks,
                            &piece, wrong_p);
    }
    free(chunks);
    return right;
}
