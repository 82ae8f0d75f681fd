/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of predefined types and ops.
 */
#include "core/op/types.h"

#include <complex.h>
#include <limits.h>
#include <string.h>

/* ---- Types --------------------------------------------------------------- */

#define TYPE(number, text, ctype, kind)                                        \
    [number] = {.name = text,                                                  \
                .bytes = sizeof(ctype),                                        \
                .class = kind,                                                 \
                .canonical = number}

#define PAIR(number, text, ctype)                                              \
    TYPE(                                                                      \
        number, text,                                                          \
        struct {                                                               \
            ctype value;                                                       \
            int index;                                                         \
        },                                                                     \
        RCX_CLASS_PAIR)

/* A C integer type, and the enumerator of the fixed-width type of its size. */
#define FIXED_WIDTH(prefix, ctype)                                             \
    (sizeof(ctype) == 1   ? prefix##8                                          \
     : sizeof(ctype) == 2 ? prefix##16                                         \
     : sizeof(ctype) == 4 ? prefix##32                                         \
                          : prefix##64)

#define ALIAS(number, text, ctype, kind, prefix)                               \
    [number] = {.name = text,                                                  \
                .bytes = sizeof(ctype),                                        \
                .class = kind,                                                 \
                .canonical = FIXED_WIDTH(prefix, ctype)}

#define SIGNED(number, text, ctype)                                            \
    ALIAS(number, text, ctype, RCX_CLASS_SIGNED, RCX_INT)

#define UNSIGNED(number, text, ctype)                                          \
    ALIAS(number, text, ctype, RCX_CLASS_UNSIGNED, RCX_UINT)

static const struct rcx_type_info types[RCX_TYPE_END] = {
    TYPE(RCX_INT8, "int8", int8_t, RCX_CLASS_SIGNED),
    TYPE(RCX_UINT8, "uint8", uint8_t, RCX_CLASS_UNSIGNED),
    TYPE(RCX_INT16, "int16", int16_t, RCX_CLASS_SIGNED),
    TYPE(RCX_UINT16, "uint16", uint16_t, RCX_CLASS_UNSIGNED),
    TYPE(RCX_INT32, "int32", int32_t, RCX_CLASS_SIGNED),
    TYPE(RCX_UINT32, "uint32", uint32_t, RCX_CLASS_UNSIGNED),
    TYPE(RCX_INT64, "int64", int64_t, RCX_CLASS_SIGNED),
    TYPE(RCX_UINT64, "uint64", uint64_t, RCX_CLASS_UNSIGNED),

    TYPE(RCX_FLOAT16, "float16", uint16_t, RCX_CLASS_FLOAT),
    TYPE(RCX_BFLOAT16, "bfloat16", uint16_t, RCX_CLASS_FLOAT),
    TYPE(RCX_FLOAT32, "float32", float, RCX_CLASS_FLOAT),
    TYPE(RCX_FLOAT64, "float64", double, RCX_CLASS_FLOAT),
    TYPE(RCX_LONG_DOUBLE, "long_double", long double, RCX_CLASS_FLOAT),

    TYPE(RCX_COMPLEX_FLOAT, "complex_float", float complex, RCX_CLASS_COMPLEX),
    TYPE(RCX_COMPLEX_DOUBLE, "complex_double", double complex,
         RCX_CLASS_COMPLEX),
    TYPE(RCX_COMPLEX_LONG_DOUBLE, "complex_long_double", long double complex,
         RCX_CLASS_COMPLEX),

    TYPE(RCX_BOOL, "bool", _Bool, RCX_CLASS_BOOL),
    TYPE(RCX_BYTE, "byte", unsigned char, RCX_CLASS_BYTE),

    PAIR(RCX_FLOAT_INT, "float_int", float),
    PAIR(RCX_DOUBLE_INT, "double_int", double),
    PAIR(RCX_LONG_INT, "long_int", long),
    PAIR(RCX_2INT, "2int", int),
    PAIR(RCX_SHORT_INT, "short_int", short),
    PAIR(RCX_LONG_DOUBLE_INT, "long_double_int", long double),

    SIGNED(RCX_SIGNED_CHAR, "signed_char", signed char),
    UNSIGNED(RCX_UNSIGNED_CHAR, "unsigned_char", unsigned char),
    SIGNED(RCX_SHORT, "short", short),
    UNSIGNED(RCX_UNSIGNED_SHORT, "unsigned_short", unsigned short),
    SIGNED(RCX_INT, "int", int),
    UNSIGNED(RCX_UNSIGNED, "unsigned", unsigned),
    SIGNED(RCX_LONG, "long", long),
    UNSIGNED(RCX_UNSIGNED_LONG, "unsigned_long", unsigned long),
    SIGNED(RCX_LONG_LONG, "long_long", long long),
    UNSIGNED(RCX_UNSIGNED_LONG_LONG, "unsigned_long_long", unsigned long long),

    TYPE(RCX_EXACT_FLOAT32, "exact_float32", rcx_exact32_t, RCX_CLASS_EXACT),
    TYPE(RCX_EXACT_FLOAT64, "exact_float64", rcx_exact64_t, RCX_CLASS_EXACT),
};

/* The fixed-width types and the C types are the same machine words. */
_Static_assert(CHAR_BIT == 8, "bytes have eight bits");
_Static_assert(sizeof(long long) == 8, "long long is a 64-bit integer");
_Static_assert(sizeof(_Bool) == 1, "RCX_BOOL is one byte");
_Static_assert(sizeof(float) == 4 && sizeof(double) == 8, "IEEE 754 formats");

const struct rcx_type_info *rcx_type_predefined(rcx_datatype_t type)
{
    return type > 0 && type < RCX_TYPE_END ? &types[type] : NULL;
}

rcx_datatype_t rcx_type_canonical(rcx_datatype_t type)
{
    const struct rcx_type_info *info = rcx_type_predefined(type);

    return info ? info->canonical : type;
}

/* ---- Ops ----------------------------------------------------------------- */

/* Sets of type classes. */
enum {
    INTEGERS = 1u << RCX_CLASS_SIGNED | 1u << RCX_CLASS_UNSIGNED,
    REALS = 1u << RCX_CLASS_FLOAT,
    BOOLS = 1u << RCX_CLASS_BOOL,
    BYTES = 1u << RCX_CLASS_BYTE,
    PAIRS = 1u << RCX_CLASS_PAIR,
    EXACTS = 1u << RCX_CLASS_EXACT
};

static const struct {
    struct rcx_op_info info;
    unsigned exact; /* the classes of types on which the op is exact */
} ops[RCX_OPS] = {
    [RCX_OP_INDEX(RCX_MAX)] = {{"max", true}, INTEGERS | REALS},
    [RCX_OP_INDEX(RCX_MIN)] = {{"min", true}, INTEGERS | REALS},
    [RCX_OP_INDEX(RCX_SUM)] = {{"sum", true}, INTEGERS | EXACTS},
    [RCX_OP_INDEX(RCX_PROD)] = {{"prod", true}, INTEGERS},
    [RCX_OP_INDEX(RCX_LAND)] = {{"land", true}, INTEGERS | BOOLS},
    [RCX_OP_INDEX(RCX_BAND)] = {{"band", true}, INTEGERS | BOOLS | BYTES},
    [RCX_OP_INDEX(RCX_LOR)] = {{"lor", true}, INTEGERS | BOOLS},
    [RCX_OP_INDEX(RCX_BOR)] = {{"bor", true}, INTEGERS | BOOLS | BYTES},
    [RCX_OP_INDEX(RCX_LXOR)] = {{"lxor", true}, INTEGERS | BOOLS},
    [RCX_OP_INDEX(RCX_BXOR)] = {{"bxor", true}, INTEGERS | BOOLS | BYTES},
    [RCX_OP_INDEX(RCX_MAXLOC)] = {{"maxloc", true}, PAIRS},
    [RCX_OP_INDEX(RCX_MINLOC)] = {{"minloc", true}, PAIRS},
    [RCX_OP_INDEX(RCX_REPLACE)] = {{"replace", false},
                                   0}, /* exact on every type */
    [RCX_OP_INDEX(RCX_NO_OP)] = {{"no_op", false}, 0},
    [RCX_OP_INDEX(RCX_AVG)] = {{"avg", true}, 0},
    [RCX_OP_INDEX(RCX_SUM_EXACT)] = {{"sum_exact", true}, 0},
    [RCX_OP_INDEX(RCX_AVG_EXACT)] = {{"avg_exact", true}, 0},
    [RCX_OP_INDEX(RCX_SUM_FLOAT)] = {{"sum_float", true}, 0},
    [RCX_OP_INDEX(RCX_AVG_FLOAT)] = {{"avg_float", true}, 0},
};

const struct rcx_op_info *rcx_op_predefined(rcx_op_t op)
{
    return op >= RCX_OP_FIRST && op < RCX_OP_END ? &ops[RCX_OP_INDEX(op)].info
                                                 : NULL;
}

bool rcx_op_exact(rcx_op_t op, rcx_datatype_t type)
{
    const struct rcx_type_info *info = rcx_type_predefined(type);

    if (op == RCX_REPLACE || op == RCX_NO_OP)
        return true;
    if (op == RCX_SUM_EXACT || op == RCX_AVG_EXACT)
        return type == RCX_FLOAT32 || type == RCX_FLOAT64;
    if (!info || !rcx_op_predefined(op))
        return false;
    return (ops[RCX_OP_INDEX(op)].exact >> info->class & 1) != 0;
}
