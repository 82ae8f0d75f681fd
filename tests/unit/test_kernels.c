/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every kernel of every instruction set level that this machine has, compared
 * with the reference bit for bit; and the conversions of 16-bit formats.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/op/kernels.h"
#include "core/op/kernels_half.h"
#include "reference.h"

enum {
    MAX_PAIRS = REFERENCE_SAMPLES * REFERENCE_SAMPLES,
    COUNTS = 68, /* around four vectors of the widest kind */
    GUARD = 256
};

/* All pairs of sample elements of a type, and the results by the reference. */
struct vectors {
    rcx_op_t op;
    rcx_datatype_t type;
    size_t bytes, n;
    char *left, *right, *result;
};

static void *allocate(size_t bytes)
{
    void *ptr = aligned_alloc(64, (bytes + 63) / 64 * 64);

    assert_non_null(ptr);
    return ptr;
}

static struct vectors vectors_create(rcx_op_t op, rcx_datatype_t type)
{
    struct vectors v = {op, type, reference_bytes(type), 0, NULL, NULL, NULL};
    char *samples = allocate(REFERENCE_SAMPLES * v.bytes);
    const size_t n = reference_samples(samples, type);

    v.n = n * n;
    v.left = allocate(v.n * v.bytes);
    v.right = allocate(v.n * v.bytes);
    v.result = allocate(v.n * v.bytes);
    memset(v.result, 0, v.n * v.bytes);
    for (size_t i = 0; i < v.n; i++) {
        const size_t at = i * v.bytes;

        memcpy(v.left + at, samples + i / n * v.bytes, v.bytes);
        memcpy(v.right + at, samples + i % n * v.bytes, v.bytes);
        reference_combine(v.result + at, v.left + at, v.right + at, op, type);
    }
    free(samples);
    return v;
}

static void vectors_free(struct vectors *v)
{
    free(v->left);
    free(v->right);
    free(v->result);
}

static void print_bytes(const char *label, const char *element, size_t bytes)
{
    fprintf(stderr, "  %s", label);
    for (size_t i = bytes; i-- > 0;)
        fprintf(stderr, "%02x", (unsigned char)element[i]);
    fprintf(stderr, "\n");
}

/* Compare count elements of dst with the results from first on. On a
 * difference, print the operands and fail. */
static void check(const struct vectors *v, enum rcx_isa isa, const char *dst,
                  size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t at = (first + i) * v->bytes;
        const char *got = dst + i * v->bytes;

        if (reference_equal(got, v->result + at, v->type))
            continue;
        print_bytes("left     ", v->left + at, v->bytes);
        print_bytes("right    ", v->right + at, v->bytes);
        print_bytes("expected ", v->result + at, v->bytes);
        print_bytes("got      ", got, v->bytes);
        fail_msg(
            "%s of %s, %s, element %zu of %zu", rcx_op_predefined(v->op)->name,
            rcx_type_predefined(v->type)->name, rcx_isa_name(isa), i, count);
    }
}

typedef void (*visit_fn_t)(const struct vectors *v, enum rcx_isa isa,
                           rcx_kernel_fn_t kernel);

/* Call visit for every legal pair of op and type, and every level of this
 * machine. */
static void visit_kernels(visit_fn_t visit)
{
    for (rcx_op_t op = RCX_OP_FIRST; op < RCX_OP_END; op++) {
        for (rcx_datatype_t type = 1; type < RCX_TYPE_END; type++) {
            struct vectors v;

            if (rcx_type_canonical(type) != type ||
                !rcx_kernel_find(RCX_ISA_BASELINE, op, type))
                continue;
            v = vectors_create(op, type);
            for (int isa = 0; isa < RCX_ISA_COUNT; isa++)
                if (rcx_isa_available(isa))
                    visit(&v, isa, rcx_kernel_find(isa, op, type));
            vectors_free(&v);
        }
    }
}

/* ---- Legal pairs of op and type ------------------------------------------ */

/*
 * MPI 4.0, 6.9.2 and 6.9.4: i integers, h, f and g floating, c complex, l
 * logical, b byte, p pairs. RCX adds exact sums (x; those of g), bitwise ops on
 * bool, AVG, and REPLACE and NO_OP in reductions (MPI has these for accumulate
 * only).
 */
static const char *const legal[RCX_OPS] = {
    [RCX_OP_INDEX(RCX_MAX)] = "ihfg",
    [RCX_OP_INDEX(RCX_MIN)] = "ihfg",
    [RCX_OP_INDEX(RCX_SUM)] = "ihfgcx",
    [RCX_OP_INDEX(RCX_PROD)] = "ihfgc",
    [RCX_OP_INDEX(RCX_LAND)] = "il",
    [RCX_OP_INDEX(RCX_BAND)] = "ibl",
    [RCX_OP_INDEX(RCX_LOR)] = "il",
    [RCX_OP_INDEX(RCX_BOR)] = "ibl",
    [RCX_OP_INDEX(RCX_LXOR)] = "il",
    [RCX_OP_INDEX(RCX_BXOR)] = "ibl",
    [RCX_OP_INDEX(RCX_MAXLOC)] = "p",
    [RCX_OP_INDEX(RCX_MINLOC)] = "p",
    [RCX_OP_INDEX(RCX_REPLACE)] = "ihfgclbpx",
    [RCX_OP_INDEX(RCX_NO_OP)] = "ihfgclbpx",
    [RCX_OP_INDEX(RCX_AVG)] = "hfgc",
    [RCX_OP_INDEX(RCX_SUM_EXACT)] = "g",
    [RCX_OP_INDEX(RCX_AVG_EXACT)] = "g",
    [RCX_OP_INDEX(RCX_SUM_FLOAT)] = "h",
    [RCX_OP_INDEX(RCX_AVG_FLOAT)] = "h",
};

/* Indexed by type, 1 to 36. */
static const char families[] = " iiiiiiii"
                               "hhggf"
                               "ccc"
                               "l"
                               "b"
                               "pppppp"
                               "iiiiiiiiii"
                               "xx";

static void kernels_exist_for_the_legal_pairs_and_no_others(void **state)
{
    (void)state;
    assert_int_equal(sizeof(families) - 1, RCX_TYPE_END);
    for (int isa = 0; isa < RCX_ISA_COUNT; isa++) {
        for (rcx_op_t op = RCX_OP_FIRST; op < RCX_OP_END; op++) {
            for (rcx_datatype_t type = 1; type < RCX_TYPE_END; type++) {
                const bool found = rcx_kernel_find(isa, op, type) != NULL;

                if (found !=
                    (strchr(legal[RCX_OP_INDEX(op)], families[type]) != NULL))
                    fail_msg("%s of %s", rcx_op_predefined(op)->name,
                             rcx_type_predefined(type)->name);
            }
        }
    }
}

static void kernels_of_unknown_ops_types_and_levels_do_not_exist(void **state)
{
    static const int numbers[] = {-1, 0, 37, 4096};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        assert_null(rcx_kernel_find(RCX_ISA_BASELINE, numbers[i], RCX_INT8));
        assert_null(rcx_kernel_find(RCX_ISA_BASELINE, RCX_SUM, numbers[i]));
        assert_null(rcx_finish_find(RCX_ISA_BASELINE, numbers[i], RCX_FLOAT32));
        assert_null(rcx_finish_find(RCX_ISA_BASELINE, RCX_AVG, numbers[i]));
    }
    assert_null(rcx_finish_find(RCX_ISA_COUNT, RCX_AVG, RCX_FLOAT32));
    assert_null(rcx_kernel_find(RCX_ISA_COUNT, RCX_SUM, RCX_INT8));
}

static void c_types_share_the_kernels_of_their_fixed_width_types(void **state)
{
    (void)state;
    for (rcx_op_t op = RCX_OP_FIRST; op < RCX_OP_END; op++)
        for (rcx_datatype_t type = 1; type < RCX_TYPE_END; type++)
            assert_ptr_equal(
                rcx_kernel_find(RCX_ISA_AVX512, op, type),
                rcx_kernel_find(RCX_ISA_AVX512, op, rcx_type_canonical(type)));
}

static void levels_have_names_and_the_best_is_available(void **state)
{
    (void)state;
    assert_string_equal(rcx_isa_name(RCX_ISA_BASELINE), "baseline");
    assert_string_equal(rcx_isa_name(RCX_ISA_AVX2), "avx2");
    assert_string_equal(rcx_isa_name(RCX_ISA_AVX512), "avx512");
    assert_null(rcx_isa_name(RCX_ISA_COUNT));
    assert_true(rcx_isa_available(RCX_ISA_BASELINE));
    assert_false(rcx_isa_available(RCX_ISA_COUNT));
    assert_true(rcx_isa_available(rcx_isa_best()));
    for (int isa = rcx_isa_best() + 1; isa < RCX_ISA_COUNT; isa++)
        assert_false(rcx_isa_available(isa));
}

/* ---- Values -------------------------------------------------------------- */

static void compare_all_pairs(const struct vectors *v, enum rcx_isa isa,
                              rcx_kernel_fn_t kernel)
{
    char *dst = allocate(v->n * v->bytes);

    kernel(dst, v->left, v->right, v->n);
    check(v, isa, dst, 0, v->n);
    free(dst);
}

static void kernels_combine_nasty_values_as_defined(void **state)
{
    (void)state;
    visit_kernels(compare_all_pairs);
}

/* ---- Lengths, alignments, aliases ---------------------------------------- */

/* A buffer between guard bytes, displaced by steps alignments of the type. */
struct guarded {
    char *base, *start;
    size_t bytes;
};

static struct guarded guarded_create(const struct vectors *v, const char *src,
                                     size_t count, size_t steps)
{
    const size_t shift = steps * reference_alignment(v->type);
    struct guarded g;

    g.bytes = count * v->bytes;
    g.base = allocate(g.bytes + 2 * GUARD);
    memset(g.base, 0xa5, g.bytes + 2 * GUARD);
    g.start = g.base + GUARD / 2 + shift;
    memcpy(g.start, src, g.bytes);
    return g;
}

static void guarded_free(struct guarded *g)
{
    for (const char *p = g->base; p < g->start; p++)
        assert_int_equal((unsigned char)*p, 0xa5);
    for (const char *p = g->start + g->bytes;
         p < g->base + g->bytes + 2 * GUARD; p++)
        assert_int_equal((unsigned char)*p, 0xa5);
    free(g->base);
}

enum alias { SEPARATE, DST_IS_LEFT, DST_IS_RIGHT, ALIASES };

static void compare_alias(const struct vectors *v, enum rcx_isa isa,
                          rcx_kernel_fn_t kernel, size_t count,
                          enum alias alias)
{
    const size_t first = 37 * count % (v->n - count + 1);
    const char *from_left = v->left + first * v->bytes;
    const char *from_right = v->right + first * v->bytes;
    struct guarded dst = guarded_create(v, from_left, count, count % 3);
    struct guarded left = guarded_create(v, from_left, count, count % 5);
    struct guarded right = guarded_create(v, from_right, count, count % 7);
    char *to = alias == DST_IS_LEFT    ? left.start
               : alias == DST_IS_RIGHT ? right.start
                                       : dst.start;

    kernel(to, left.start, right.start, count);
    check(v, isa, to, first, count);
    if (alias != DST_IS_LEFT)
        assert_memory_equal(left.start, from_left, left.bytes);
    if (alias != DST_IS_RIGHT)
        assert_memory_equal(right.start, from_right, right.bytes);
    guarded_free(&dst);
    guarded_free(&left);
    guarded_free(&right);
}

static void compare_counts(const struct vectors *v, enum rcx_isa isa,
                           rcx_kernel_fn_t kernel)
{
    for (size_t count = 0; count < COUNTS && count <= v->n; count++)
        for (int alias = SEPARATE; alias < ALIASES; alias++)
            compare_alias(v, isa, kernel, count, alias);
}

static void kernels_take_any_count_alignment_and_alias(void **state)
{
    (void)state;
    visit_kernels(compare_counts);
}

static void compare_all_the_same(const struct vectors *v, enum rcx_isa isa,
                                 rcx_kernel_fn_t kernel)
{
    char *dst = allocate(v->n * v->bytes);
    char *expected = allocate(v->bytes);

    memcpy(dst, v->right, v->n * v->bytes);
    kernel(dst, dst, dst, v->n);
    for (size_t i = 0; i < v->n; i++) {
        const char *operand = v->right + i * v->bytes;

        reference_combine(expected, operand, operand, v->op, v->type);
        if (!reference_equal(dst + i * v->bytes, expected, v->type))
            fail_msg("%s of %s, %s", rcx_op_predefined(v->op)->name,
                     rcx_type_predefined(v->type)->name, rcx_isa_name(isa));
    }
    free(dst);
    free(expected);
}

static void kernels_take_one_buffer_as_all_three(void **state)
{
    (void)state;
    visit_kernels(compare_all_the_same);
}

/* ---- Algebraic laws ------------------------------------------------------ */

static void check_commutes(const struct vectors *v, enum rcx_isa isa,
                           rcx_kernel_fn_t kernel)
{
    char *swapped = allocate(v->n * v->bytes);

    if (rcx_op_predefined(v->op)->commutative) {
        kernel(swapped, v->right, v->left, v->n);
        check(v, isa, swapped, 0, v->n);
    }
    free(swapped);
}

static void commutative_ops_commute_bit_for_bit(void **state)
{
    (void)state;
    visit_kernels(check_commutes);
}

/* Whether (a op b) op c is a op (b op c) for all pairs (a, b) and this c. */
static bool associates(const struct vectors *v, rcx_kernel_fn_t kernel,
                       const char *c)
{
    char *third = allocate(v->n * v->bytes);
    char *one = allocate(v->n * v->bytes);
    char *other = allocate(v->n * v->bytes);
    bool same = true;

    for (size_t i = 0; i < v->n; i++)
        memcpy(third + i * v->bytes, c, v->bytes);
    kernel(one, v->left, v->right, v->n);
    kernel(one, one, third, v->n);
    kernel(other, v->right, third, v->n);
    kernel(other, v->left, other, v->n);
    for (size_t at = 0; same && at < v->n * v->bytes; at += v->bytes)
        same = reference_equal(one + at, other + at, v->type);
    free(third);
    free(one);
    free(other);
    return same;
}

/* The kernels of SUM_EXACT and AVG_EXACT are for two numbers alone: collectives
 * have no other use for them. */
static bool is_associative(rcx_op_t op, rcx_datatype_t type)
{
    return rcx_op_exact(op, type) && op != RCX_SUM_EXACT && op != RCX_AVG_EXACT;
}

static void check_associates(const struct vectors *v, enum rcx_isa isa,
                             rcx_kernel_fn_t kernel)
{
    char *samples = allocate(REFERENCE_SAMPLES * v->bytes);
    const size_t n = reference_samples(samples, v->type);
    bool exact = true;

    for (size_t i = 0; isa == RCX_ISA_BASELINE && exact && i < n; i++)
        exact = associates(v, kernel, samples + i * v->bytes);
    if (isa == RCX_ISA_BASELINE && exact != is_associative(v->op, v->type))
        fail_msg("%s of %s is%s associative", rcx_op_predefined(v->op)->name,
                 rcx_type_predefined(v->type)->name, exact ? "" : " not");
    free(samples);
}

static void exact_ops_and_no_others_are_associative_bit_for_bit(void **state)
{
    (void)state;
    visit_kernels(check_associates);
}

/* ---- 16-bit formats ------------------------------------------------------ */

static float widen(uint16_t bits, rcx_datatype_t type)
{
    return type == RCX_FLOAT16 ? from_float16(bits) : from_bfloat16(bits);
}

static void assert_rounds(float value, rcx_datatype_t type)
{
    const uint16_t expected = reference_encode(value, type);
    const uint16_t got =
        type == RCX_FLOAT16 ? to_float16(value) : to_bfloat16(value);

    if (!reference_equal(&got, &expected, type))
        fail_msg("%a to %s: %04x, expected %04x", (double)value,
                 rcx_type_predefined(type)->name, got, expected);
}

/* Convert each value itself, the middle between it and the next one, and the
 * floats on both sides of that. */
static void conversions_are_right_for_every_bit_pattern(void **state)
{
    (void)state;
    for (rcx_datatype_t type = RCX_FLOAT16; type <= RCX_BFLOAT16; type++) {
        for (uint32_t bits = 0; bits < 0x10000; bits++) {
            const uint16_t half = (uint16_t)bits;
            const uint16_t back = reference_encode(widen(half, type), type);
            const float value = widen(half, type);
            const uint32_t middle =
                bits_of(value) + (type == RCX_FLOAT16 ? 0x1000 : 0x8000);

            if (reference_decode(half, type) != value && value == value)
                fail_msg("%04x is not %a", half, (double)value);
            assert_true(reference_equal(&half, &back, type));
            assert_rounds(value, type);
            assert_rounds(float_of(middle - 1), type);
            assert_rounds(float_of(middle), type);
            assert_rounds(float_of(middle + 1), type);
        }
    }
    /* Quarters of the unit of float16's subnormals, whose rounding depends on
     * other bits of a float than that of normal numbers. */
    for (int n = 0; n < 4096; n++)
        assert_rounds((float)n * 0x1p-26f, RCX_FLOAT16);
}

static void compare_half(rcx_op_t op, rcx_datatype_t type, uint16_t constant)
{
    struct vectors v = {op,
                        type,
                        2,
                        0x10000,
                        allocate(0x20000),
                        allocate(0x20000),
                        allocate(0x20000)};
    char *dst = allocate(0x20000);

    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const uint16_t half = (uint16_t)bits;

        memcpy(v.left + 2 * bits, &half, 2);
        memcpy(v.right + 2 * bits, &constant, 2);
        reference_combine(v.result + 2 * bits, &half, &constant, op, type);
    }
    for (int isa = 0; isa < RCX_ISA_COUNT; isa++) {
        if (!rcx_isa_available(isa))
            continue;
        rcx_kernel_find(isa, op, type)(dst, v.left, v.right, v.n);
        check(&v, isa, dst, 0, v.n);
    }
    vectors_free(&v);
    free(dst);
}

static void half_kernels_are_right_for_every_left_operand(void **state)
{
    static const rcx_op_t ops[] = {RCX_MAX, RCX_MIN, RCX_SUM, RCX_PROD};
    static const uint16_t operands[] = {0x8000, 0x0001, 0x3c01, 0xbc00,
                                        0x1555, 0x7bff, 0x7f01, 0xfc00};

    (void)state;
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        for (size_t j = 0; j < sizeof(operands) / sizeof(*operands); j++) {
            compare_half(ops[i], RCX_FLOAT16, operands[j]);
            compare_half(ops[i], RCX_BFLOAT16, operands[j]);
        }
    }
}

/* ---- Finishing ----------------------------------------------------------- */

static void compare_average(enum rcx_isa isa, rcx_datatype_t type, int ranks)
{
    const rcx_finish_fn_t finish = rcx_finish_find(isa, RCX_AVG, type);
    const size_t bytes = reference_bytes(type);
    char *expected = allocate((size_t)REFERENCE_SAMPLES * bytes);
    char *got = allocate((size_t)REFERENCE_SAMPLES * bytes);
    const size_t n = reference_samples(expected, type);

    memcpy(got, expected, n * bytes);
    finish(got, got, NULL, n, ranks);
    for (size_t at = 0; at < n * bytes; at += bytes) {
        reference_average(expected + at, type, ranks);
        if (!reference_equal(got + at, expected + at, type)) {
            print_bytes("expected ", expected + at, bytes);
            print_bytes("got      ", got + at, bytes);
            fail_msg("average of %s over %d ranks by %s",
                     rcx_type_predefined(type)->name, ranks, rcx_isa_name(isa));
        }
    }
    free(expected);
    free(got);
}

/* The last combine has the bits of a sum and what follows it. */
static void compare_last(enum rcx_isa isa, rcx_datatype_t type, int ranks)
{
    const rcx_finish_fn_t finish = rcx_finish_find(isa, RCX_AVG, type);
    const size_t bytes = reference_bytes(type);
    char *left = allocate((size_t)REFERENCE_SAMPLES * bytes);
    char *right = allocate((size_t)REFERENCE_SAMPLES * bytes);
    char *expected = allocate((size_t)REFERENCE_SAMPLES * bytes);
    const size_t n = reference_samples(left, type);

    for (size_t shift = 0; shift < n; shift += 1 + n / 40) {
        memcpy(right, left + shift * bytes, (n - shift) * bytes);
        memcpy(right + (n - shift) * bytes, left, shift * bytes);
        rcx_kernel_find(isa, RCX_SUM, type)(expected, left, right, n);
        finish(expected, expected, NULL, n, ranks);
        finish(right, left, right, n, ranks);
        for (size_t at = 0; at < n * bytes; at += bytes)
            if (!reference_equal(right + at, expected + at, type))
                fail_msg("last combine of %s over %d ranks by %s",
                         rcx_type_predefined(type)->name, ranks,
                         rcx_isa_name(isa));
    }
    free(left);
    free(right);
    free(expected);
}

static void averages_of(enum rcx_isa isa)
{
    static const int ranks[] = {1,  2,    3,     4,       7,      10,
                                64, 1000, 65537, 4194303, 1 << 22};

    for (rcx_datatype_t type = 1; type <= RCX_LONG_DOUBLE_INT; type++)
        for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++)
            if (rcx_finish_find(isa, RCX_AVG, type)) {
                compare_average(isa, type, ranks[i]);
                compare_last(isa, type, ranks[i]);
            }
}

static void only_avg_has_a_finish_and_it_divides_once(void **state)
{
    (void)state;
    for (rcx_op_t op = RCX_OP_FIRST; op < RCX_OP_END; op++)
        for (rcx_datatype_t type = 1; type < RCX_TYPE_END; type++)
            for (int isa = 0; isa < RCX_ISA_COUNT; isa++)
                assert_int_equal(rcx_finish_find(isa, op, type) != NULL,
                                 op == RCX_AVG &&
                                     strchr("hfgc", families[type]));
    for (int isa = 0; isa < RCX_ISA_COUNT; isa++)
        if (rcx_isa_available(isa))
            averages_of(isa);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_exist_for_the_legal_pairs_and_no_others),
        cmocka_unit_test(kernels_of_unknown_ops_types_and_levels_do_not_exist),
        cmocka_unit_test(c_types_share_the_kernels_of_their_fixed_width_types),
        cmocka_unit_test(levels_have_names_and_the_best_is_available),
        cmocka_unit_test(kernels_combine_nasty_values_as_defined),
        cmocka_unit_test(kernels_take_any_count_alignment_and_alias),
        cmocka_unit_test(kernels_take_one_buffer_as_all_three),
        cmocka_unit_test(commutative_ops_commute_bit_for_bit),
        cmocka_unit_test(exact_ops_and_no_others_are_associative_bit_for_bit),
        cmocka_unit_test(conversions_are_right_for_every_bit_pattern),
        cmocka_unit_test(half_kernels_are_right_for_every_left_operand),
        cmocka_unit_test(only_avg_has_a_finish_and_it_divides_once),
    };

    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
