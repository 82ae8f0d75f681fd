/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of predefined types and ops: names, sizes, classes, commutativity,
 * and ops that are exact on a type. Kernels are tested in test_kernels.c.
 */
#include "test.h"

#include <complex.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "core/op/types.h"

struct float_int {
    float value;
    int index;
};
struct double_int {
    double value;
    int index;
};
struct long_int {
    long value;
    int index;
};
struct two_int {
    int value, index;
};
struct short_int {
    short value;
    int index;
};
struct long_double_int {
    long double value;
    int index;
};

/* The predefined types as in rcx.h, written a second time. */
static const struct {
    rcx_datatype_t type;
    const char *name;
    size_t bytes;
    enum rcx_type_class class;
} expected_types[] = {
    {1, "int8", 1, RCX_CLASS_SIGNED},
    {2, "uint8", 1, RCX_CLASS_UNSIGNED},
    {3, "int16", 2, RCX_CLASS_SIGNED},
    {4, "uint16", 2, RCX_CLASS_UNSIGNED},
    {5, "int32", 4, RCX_CLASS_SIGNED},
    {6, "uint32", 4, RCX_CLASS_UNSIGNED},
    {7, "int64", 8, RCX_CLASS_SIGNED},
    {8, "uint64", 8, RCX_CLASS_UNSIGNED},
    {9, "float16", 2, RCX_CLASS_FLOAT},
    {10, "bfloat16", 2, RCX_CLASS_FLOAT},
    {11, "float32", 4, RCX_CLASS_FLOAT},
    {12, "float64", 8, RCX_CLASS_FLOAT},
    {13, "long_double", sizeof(long double), RCX_CLASS_FLOAT},
    {14, "complex_float", sizeof(float complex), RCX_CLASS_COMPLEX},
    {15, "complex_double", sizeof(double complex), RCX_CLASS_COMPLEX},
    {16, "complex_long_double", sizeof(long double complex), RCX_CLASS_COMPLEX},
    {17, "bool", sizeof(_Bool), RCX_CLASS_BOOL},
    {18, "byte", 1, RCX_CLASS_BYTE},
    {19, "float_int", sizeof(struct float_int), RCX_CLASS_PAIR},
    {20, "double_int", sizeof(struct double_int), RCX_CLASS_PAIR},
    {21, "long_int", sizeof(struct long_int), RCX_CLASS_PAIR},
    {22, "2int", sizeof(struct two_int), RCX_CLASS_PAIR},
    {23, "short_int", sizeof(struct short_int), RCX_CLASS_PAIR},
    {24, "long_double_int", sizeof(struct long_double_int), RCX_CLASS_PAIR},
    {25, "signed_char", sizeof(signed char), RCX_CLASS_SIGNED},
    {26, "unsigned_char", sizeof(unsigned char), RCX_CLASS_UNSIGNED},
    {27, "short", sizeof(short), RCX_CLASS_SIGNED},
    {28, "unsigned_short", sizeof(unsigned short), RCX_CLASS_UNSIGNED},
    {29, "int", sizeof(int), RCX_CLASS_SIGNED},
    {30, "unsigned", sizeof(unsigned), RCX_CLASS_UNSIGNED},
    {31, "long", sizeof(long), RCX_CLASS_SIGNED},
    {32, "unsigned_long", sizeof(unsigned long), RCX_CLASS_UNSIGNED},
    {33, "long_long", sizeof(long long), RCX_CLASS_SIGNED},
    {34, "unsigned_long_long", sizeof(unsigned long long), RCX_CLASS_UNSIGNED},
    {35, "exact_float32", 48, RCX_CLASS_EXACT},
    {36, "exact_float64", 536, RCX_CLASS_EXACT},
};

/* Types on which the op is exact: i integers, f floating, c complex, l bool, b
 * byte, p pairs, x exact sums. */
static const struct {
    rcx_op_t op;
    const char *name;
    bool commutative;
    const char *exact;
} expected_ops[] = {
    {257, "max", true, "if"},
    {258, "min", true, "if"},
    {259, "sum", true, "ix"},
    {260, "prod", true, "i"},
    {261, "land", true, "il"},
    {262, "band", true, "ilb"},
    {263, "lor", true, "il"},
    {264, "bor", true, "ilb"},
    {265, "lxor", true, "il"},
    {266, "bxor", true, "ilb"},
    {267, "maxloc", true, "p"},
    {268, "minloc", true, "p"},
    {269, "replace", false, "ifclbpx"},
    {270, "no_op", false, "ifclbpx"},
    {271, "avg", true, ""},
    {272, "sum_exact", true, ""}, /* float32 and float64 alone */
    {273, "avg_exact", true, ""}, /* the same */
    {274, "sum_float", true, ""},
    {275, "avg_float", true, ""},
};

enum {
    N_TYPES = sizeof(expected_types) / sizeof(*expected_types),
    N_OPS = sizeof(expected_ops) / sizeof(*expected_ops)
};

static void every_type_has_the_name_size_and_class_of_its_c_type(void **state)
{
    (void)state;
    assert_int_equal(RCX_TYPE_END, N_TYPES + 1);
    for (int i = 0; i < N_TYPES; i++) {
        const rcx_datatype_t type = expected_types[i].type;
        const struct rcx_type_info *info = rcx_type_predefined(type);

        assert_int_equal(type, i + 1);
        assert_non_null(info);
        assert_string_equal(info->name, expected_types[i].name);
        assert_int_equal(info->bytes, expected_types[i].bytes);
        assert_int_equal(info->class, expected_types[i].class);
    }
}

static void every_op_has_its_name_and_properties(void **state)
{
    (void)state;
    assert_int_equal(RCX_OPS, N_OPS);
    for (int i = 0; i < N_OPS; i++) {
        const struct rcx_op_info *info = rcx_op_predefined(RCX_OP_FIRST + i);

        assert_int_equal(expected_ops[i].op, RCX_OP_FIRST + i);
        assert_non_null(info);
        assert_string_equal(info->name, expected_ops[i].name);
        assert_int_equal(info->commutative, expected_ops[i].commutative);
    }
}

static void unknown_numbers_are_refused(void **state)
{
    static const int numbers[] = {0, -1, INT_MIN, INT_MAX, 37, 4096};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        assert_null(rcx_type_predefined(numbers[i]));
        assert_null(rcx_op_predefined(numbers[i]));
        assert_int_equal(rcx_type_canonical(numbers[i]), numbers[i]);
        assert_false(rcx_op_exact(numbers[i], RCX_INT32));
        assert_false(rcx_op_exact(RCX_SUM, numbers[i]));
    }
    assert_null(rcx_op_predefined(RCX_AVG_FLOAT + 1));
}

static bool is_c_type(rcx_datatype_t type)
{
    return type >= RCX_SIGNED_CHAR && type <= RCX_UNSIGNED_LONG_LONG;
}

static void c_types_are_the_fixed_width_types_of_their_size(void **state)
{
    (void)state;
    for (rcx_datatype_t type = 1; type < RCX_TYPE_END; type++) {
        const rcx_datatype_t canonical = rcx_type_canonical(type);
        const struct rcx_type_info *info = rcx_type_predefined(type);
        const struct rcx_type_info *other = rcx_type_predefined(canonical);

        assert_int_equal(canonical <= RCX_UINT64,
                         type <= RCX_UINT64 || is_c_type(type));
        assert_int_equal(rcx_type_canonical(canonical), canonical);
        assert_int_equal(other->bytes, info->bytes);
        assert_int_equal(other->class, info->class);
        if (!is_c_type(type))
            assert_int_equal(canonical, type);
    }
    assert_int_equal(rcx_type_canonical(RCX_SIGNED_CHAR), RCX_INT8);
    assert_int_equal(rcx_type_canonical(RCX_UNSIGNED_SHORT), RCX_UINT16);
    assert_int_equal(rcx_type_canonical(RCX_INT), RCX_INT32);
    assert_int_equal(rcx_type_canonical(RCX_UNSIGNED), RCX_UINT32);
    assert_int_equal(rcx_type_canonical(RCX_LONG),
                     sizeof(long) == 8 ? RCX_INT64 : RCX_INT32);
    assert_int_equal(rcx_type_canonical(RCX_UNSIGNED_LONG_LONG), RCX_UINT64);
}

static void exact_ops_are_the_associative_ones(void **state)
{
    static const char letters[] = {
        [RCX_CLASS_SIGNED] = 'i', [RCX_CLASS_UNSIGNED] = 'i',
        [RCX_CLASS_FLOAT] = 'f',  [RCX_CLASS_COMPLEX] = 'c',
        [RCX_CLASS_BOOL] = 'l',   [RCX_CLASS_BYTE] = 'b',
        [RCX_CLASS_PAIR] = 'p',   [RCX_CLASS_EXACT] = 'x',
    };

    (void)state;
    for (int i = 0; i < N_OPS; i++) {
        for (int j = 0; j < N_TYPES; j++) {
            const char letter = letters[expected_types[j].class];
            const bool is_sum_exact =
                (expected_ops[i].op == RCX_SUM_EXACT ||
                 expected_ops[i].op == RCX_AVG_EXACT) &&
                (j + 1 == RCX_FLOAT32 || j + 1 == RCX_FLOAT64);
            const bool exact =
                strchr(expected_ops[i].exact, letter) || is_sum_exact;

            assert_int_equal(rcx_op_exact(RCX_OP_FIRST + i, j + 1), exact);
        }
    }
    assert_true(rcx_op_exact(RCX_REPLACE, 4096)); /* user-defined type */
    assert_false(rcx_op_exact(4096, RCX_INT32));  /* user-defined op */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_the_name_size_and_class_of_its_c_type),
        cmocka_unit_test(every_op_has_its_name_and_properties),
        cmocka_unit_test(unknown_numbers_are_refused),
        cmocka_unit_test(c_types_are_the_fixed_width_types_of_their_size),
        cmocka_unit_test(exact_ops_are_the_associative_ones),
    };

    return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
