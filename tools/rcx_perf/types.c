/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements: names of types and ops, and values in memory. This file serves to
 * check the library's kernels, so it is independent of them: reals are long
 * doubles, and the 16-bit formats are decoded by ldexpl().
 */
#include "rcx_perf/rcx_perf.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define INTEGER(name, number, ctype)                                           \
    {                                                                          \
        name, number, (ctype)-1 < (ctype)1 ? CLASS_SIGNED : CLASS_UNSIGNED,    \
            FORMAT_NONE, sizeof(ctype), 0                                      \
    }
#define REAL(name, number, ctype, format)                                      \
    {                                                                          \
        name, number, CLASS_REAL, format, sizeof(ctype), 0                     \
    }
#define COMPLEX(name, number, ctype, format)                                   \
    {                                                                          \
        name, number, CLASS_COMPLEX, format, sizeof(ctype complex),            \
            sizeof(ctype)                                                      \
    }
#define PAIR(name, number, ctype, format)                                      \
    {                                                                          \
        name, number, CLASS_PAIR, format, sizeof(struct {                      \
            ctype value;                                                       \
            int index;                                                         \
        }),                                                                    \
            offsetof(                                                          \
                struct {                                                       \
                    ctype value;                                               \
                    int index;                                                 \
                },                                                             \
                index)                                                         \
    }

/* An element of the user-defined type, as the C compiler lays it out. */
struct element {
    signed char letter;
    double number;
};

const struct perf_type perf_types[] = {
    INTEGER("int8", RCX_INT8, int8_t),
    INTEGER("uint8", RCX_UINT8, uint8_t),
    INTEGER("int16", RCX_INT16, int16_t),
    INTEGER("uint16", RCX_UINT16, uint16_t),
    INTEGER("int32", RCX_INT32, int32_t),
    INTEGER("uint32", RCX_UINT32, uint32_t),
    INTEGER("int64", RCX_INT64, int64_t),
    INTEGER("uint64", RCX_UINT64, uint64_t),
    REAL("float16", RCX_FLOAT16, uint16_t, FORMAT_FLOAT16),
    REAL("bfloat16", RCX_BFLOAT16, uint16_t, FORMAT_BFLOAT16),
    REAL("float32", RCX_FLOAT32, float, FORMAT_FLOAT),
    REAL("float64", RCX_FLOAT64, double, FORMAT_DOUBLE),
    REAL("long_double", RCX_LONG_DOUBLE, long double, FORMAT_LONG_DOUBLE),
    COMPLEX("complex_float", RCX_COMPLEX_FLOAT, float, FORMAT_FLOAT),
    COMPLEX("complex_double", RCX_COMPLEX_DOUBLE, double, FORMAT_DOUBLE),
    COMPLEX("complex_long_double", RCX_COMPLEX_LONG_DOUBLE, long double,
            FORMAT_LONG_DOUBLE),
    {"bool", RCX_BOOL, CLASS_BOOL, FORMAT_NONE, sizeof(_Bool), 0},
    {"byte", RCX_BYTE, CLASS_BYTE, FORMAT_NONE, 1, 0},
    PAIR("float_int", RCX_FLOAT_INT, float, FORMAT_FLOAT),
    PAIR("double_int", RCX_DOUBLE_INT, double, FORMAT_DOUBLE),
    PAIR("long_int", RCX_LONG_INT, long, FORMAT_LONG),
    PAIR("2int", RCX_2INT, int, FORMAT_INT),
    PAIR("short_int", RCX_SHORT_INT, short, FORMAT_SHORT),
    PAIR("long_double_int", RCX_LONG_DOUBLE_INT, long double,
         FORMAT_LONG_DOUBLE),
    INTEGER("signed_char", RCX_SIGNED_CHAR, signed char),
    INTEGER("unsigned_char", RCX_UNSIGNED_CHAR, unsigned char),
    INTEGER("short", RCX_SHORT, short),
    INTEGER("unsigned_short", RCX_UNSIGNED_SHORT, unsigned short),
    INTEGER("int", RCX_INT, int),
    INTEGER("unsigned", RCX_UNSIGNED, unsigned),
    INTEGER("long", RCX_LONG, long),
    INTEGER("unsigned_long", RCX_UNSIGNED_LONG, unsigned long),
    INTEGER("long_long", RCX_LONG_LONG, long long),
    INTEGER("unsigned_long_long", RCX_UNSIGNED_LONG_LONG, unsigned long long),
    {"exact_float32", RCX_EXACT_FLOAT32, CLASS_EXACT, FORMAT_EXACT32,
     sizeof(rcx_exact32_t), 0},
    {"exact_float64", RCX_EXACT_FLOAT64, CLASS_EXACT, FORMAT_EXACT64,
     sizeof(rcx_exact64_t), 0},
    REAL("float", RCX_FLOAT, float, FORMAT_FLOAT),
    REAL("double", RCX_DOUBLE, double, FORMAT_DOUBLE),
    {"struct", 0, CLASS_STRUCT, FORMAT_DOUBLE, sizeof(struct element),
     offsetof(struct element, number)},
    {.name = NULL},
};

const struct perf_op perf_ops[] = {
    {"max", RCX_MAX},
    {"min", RCX_MIN},
    {"sum", RCX_SUM},
    {"prod", RCX_PROD},
    {"land", RCX_LAND},
    {"band", RCX_BAND},
    {"lor", RCX_LOR},
    {"bor", RCX_BOR},
    {"lxor", RCX_LXOR},
    {"bxor", RCX_BXOR},
    {"maxloc", RCX_MAXLOC},
    {"minloc", RCX_MINLOC},
    {"replace", RCX_REPLACE},
    {"no_op", RCX_NO_OP},
    {"avg", RCX_AVG},
    {"sum_exact", RCX_SUM_EXACT},
    {"avg_exact", RCX_AVG_EXACT},
    {"sum_float", RCX_SUM_FLOAT},
    {"avg_float", RCX_AVG_FLOAT},
    {"user", PERF_OP_USER},
    {.name = NULL},
};

/* ---- The user-defined type and op ---------------------------------------- */

/* The user-defined op: a sum of both members. Letters wrap around. */
static int add(void *dst, const void *left, const void *right, size_t count,
               rcx_datatype_t type, void *arg)
{
    const struct element *a = left, *b = right;
    struct element *sum = dst;

    (void)type;
    (void)arg;
    for (size_t i = 0; i < count; i++) {
        sum[i].letter = (signed char)(a[i].letter + b[i].letter);
        sum[i].number = a[i].number + b[i].number;
    }
    return 0;
}

rcx_status_t perf_types_create(struct perf_job *job)
{
    const struct perf_options *o = &job->options;
    rcx_status_t status = RCX_OK;

    job->type = o->type->type;
    job->op = o->op->op;
    if (o->type->class == CLASS_STRUCT)
        status = rcx_type_create(job->context, o->type->bytes, &job->type);
    if (status == RCX_OK && o->op->op == PERF_OP_USER)
        status =
            rcx_op_create(job->context, add,
                          RCX_OP_COMMUTATIVE | RCX_OP_NO_FAIL, NULL, &job->op);
    return status;
}

/* ---- The 16-bit formats -------------------------------------------------- */

struct half {
    int mantissa; /* bits */
    int bias;
};

static struct half half_of(enum perf_format format)
{
    return format == FORMAT_FLOAT16 ? (struct half){10, 15}
                                    : (struct half){7, 127};
}

static long double half_decode(struct half h, uint16_t bits)
{
    const int exponent = (bits & 0x7fff) >> h.mantissa;
    const int mantissa = bits & ((1 << h.mantissa) - 1);
    long double value;

    if (exponent == 2 * h.bias + 1)
        value = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexpl(mantissa, 1 - h.bias - h.mantissa);
    else
        value = ldexpl(mantissa + (1 << h.mantissa),
                       exponent - h.bias - h.mantissa);
    return bits & 0x8000 ? -value : value;
}

/* The exponent of the unit in the last place of value. */
static int half_unit(struct half h, long double value)
{
    int exponent;

    frexpl(value, &exponent);
    exponent = exponent - 1 < 1 - h.bias ? 1 - h.bias : exponent - 1;
    return exponent - h.mantissa;
}

/* Encode a value that the format holds exactly: finite, and no negative
 * zero. */
static uint16_t half_encode(struct half h, long double value)
{
    const int unit = half_unit(h, value);
    const unsigned units = (unsigned)ldexpl(fabsl(value), -unit);
    const unsigned one = 1u << h.mantissa;
    const unsigned exponent = (unsigned)(unit + h.mantissa + h.bias);
    const unsigned bits =
        units < one ? units : exponent << h.mantissa | (units - one);

    return (uint16_t)(bits | (value < 0 ? 0x8000 : 0));
}

/* ---- Numbers in memory --------------------------------------------------- */

#define PUT(ctype)                                                             \
    do {                                                                       \
        const ctype number = (ctype)value;                                     \
        memcpy(at, &number, sizeof(number));                                   \
    } while (0)

static void store_real(enum perf_format format, void *at, long double value)
{
    const uint16_t half = format == FORMAT_FLOAT16 || format == FORMAT_BFLOAT16
                              ? half_encode(half_of(format), value)
                              : 0;

    switch (format) {
    case FORMAT_FLOAT: PUT(float); break;
    case FORMAT_DOUBLE: PUT(double); break;
    case FORMAT_LONG_DOUBLE: PUT(long double); break;
    case FORMAT_SHORT: PUT(short); break;
    case FORMAT_INT: PUT(int); break;
    case FORMAT_LONG: PUT(long); break;
    default: memcpy(at, &half, sizeof(half)); break;
    }
}

static void store_word(size_t bytes, void *at, uint64_t value)
{
    switch (bytes) {
    case 1: PUT(uint8_t); break;
    case 2: PUT(uint16_t); break;
    case 4: PUT(uint32_t); break;
    default: PUT(uint64_t); break;
    }
}

#define GET(ctype)                                                             \
    do {                                                                       \
        ctype number;                                                          \
        memcpy(&number, at, sizeof(number));                                   \
        return number;                                                         \
    } while (0)

static long double load_real(enum perf_format format, const void *at)
{
    uint16_t half;

    switch (format) {
    case FORMAT_FLOAT: GET(float);
    case FORMAT_DOUBLE: GET(double);
    case FORMAT_LONG_DOUBLE: GET(long double);
    case FORMAT_SHORT: GET(short);
    case FORMAT_INT: GET(int);
    case FORMAT_LONG: GET(long);
    default:
        memcpy(&half, at, sizeof(half));
        return half_decode(half_of(format), half);
    }
}

static uint64_t load_word(size_t bytes, bool is_signed, const void *at)
{
    switch (bytes) {
    case 1:
        if (is_signed)
            GET(int8_t);
        GET(uint8_t);
    case 2:
        if (is_signed)
            GET(int16_t);
        GET(uint16_t);
    case 4:
        if (is_signed)
            GET(int32_t);
        GET(uint32_t);
    default: GET(uint64_t);
    }
}

/* ---- Exact sums ---------------------------------------------------------- */

static void store_exact(enum perf_format format, void *at, long double value)
{
    const float number = (float)value;
    const double twice = (double)value;

    if (format == FORMAT_EXACT32) {
        rcx_exact32_zero(at);
        rcx_exact32_add(at, &number, 1);
    } else {
        rcx_exact64_zero(at);
        rcx_exact64_add(at, &twice, 1);
    }
}

static long double load_exact(enum perf_format format, const void *at)
{
    return format == FORMAT_EXACT32 ? rcx_exact32_round(at)
                                    : rcx_exact64_round(at);
}

/* ---- Values -------------------------------------------------------------- */

void perf_value_store(const struct perf_type *t, void *at,
                      const struct perf_value *v)
{
    char *const second = (char *)at + t->second;

    switch (t->class) {
    case CLASS_REAL: store_real(t->format, at, v->real); break;
    case CLASS_EXACT: store_exact(t->format, at, v->real); break;
    case CLASS_COMPLEX:
        store_real(t->format, at, v->real);
        store_real(t->format, second, v->imag);
        break;
    case CLASS_PAIR:
        store_real(t->format, at, v->real);
        memcpy(second, &v->index, sizeof(v->index));
        break;
    case CLASS_STRUCT:
        store_word(1, at, v->word);
        store_real(t->format, second, v->real);
        break;
    default: store_word(t->bytes, at, v->word);
    }
}

struct perf_value perf_value_load(const struct perf_type *t, const void *at)
{
    const char *const second = (const char *)at + t->second;
    struct perf_value v = {0};

    switch (t->class) {
    case CLASS_REAL: v.real = load_real(t->format, at); break;
    case CLASS_EXACT: v.real = load_exact(t->format, at); break;
    case CLASS_COMPLEX:
        v.real = load_real(t->format, at);
        v.imag = load_real(t->format, second);
        break;
    case CLASS_PAIR:
        v.real = load_real(t->format, at);
        memcpy(&v.index, second, sizeof(v.index));
        break;
    case CLASS_STRUCT:
        v.word = load_word(1, true, at);
        v.real = load_real(t->format, second);
        break;
    default: v.word = load_word(t->bytes, t->class == CLASS_SIGNED, at);
    }
    return v;
}

/* Compare as numbers, where +0 equals -0: the sign of a zero product of zeros
 * and negative numbers depends on the order. */
bool perf_value_equal(const struct perf_type *t, const struct perf_value *a,
                      const struct perf_value *b)
{
    switch (t->class) {
    case CLASS_REAL:
    case CLASS_EXACT: return a->real == b->real;
    case CLASS_COMPLEX: return a->real == b->real && a->imag == b->imag;
    case CLASS_PAIR: return a->real == b->real && a->index == b->index;
    case CLASS_STRUCT: return a->real == b->real && a->word == b->word;
    default: return a->word == b->word;
    }
}

void perf_value_print(const struct perf_type *t, const struct perf_value *v,
                      char text[PERF_TEXT])
{
    switch (t->class) {
    case CLASS_REAL:
    case CLASS_EXACT: snprintf(text, PERF_TEXT, "%.21Lg", v->real); break;
    case CLASS_COMPLEX:
        snprintf(text, PERF_TEXT, "%.21Lg%+.21Lgi", v->real, v->imag);
        break;
    case CLASS_PAIR:
        snprintf(text, PERF_TEXT, "{%.21Lg, %d}", v->real, v->index);
        break;
    case CLASS_STRUCT:
        snprintf(text, PERF_TEXT, "{%" PRId64 ", %.21Lg}", (int64_t)v->word,
                 v->real);
        break;
    case CLASS_SIGNED:
        snprintf(text, PERF_TEXT, "%" PRId64, (int64_t)v->word);
        break;
    default: snprintf(text, PERF_TEXT, "%" PRIu64, v->word);
    }
}

long perf_format_exact(enum perf_format format)
{
    switch (format) {
    case FORMAT_FLOAT16: return 1 << 11;
    case FORMAT_BFLOAT16: return 1 << 8;
    case FORMAT_SHORT: return INT16_MAX;
    default: return 1 << 24;
    }
}

long double perf_format_divide(enum perf_format format, long double sum,
                               int ranks)
{
    const float quotient = (float)sum / (float)ranks;
    int unit;

    switch (format) {
    case FORMAT_FLOAT: return quotient;
    case FORMAT_DOUBLE: return (double)sum / ranks;
    case FORMAT_LONG_DOUBLE: return sum / ranks;
    default: /* round once more, from float to nearest even in 16 bits */
        unit = half_unit(half_of(format), (long double)quotient);
        return ldexpl(rintl(ldexpl((long double)quotient, -unit)), unit);
    }
}
