/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of exact sums share: operands of the four kinds, sums of either
 * type, and the comparison with the truth at every instruction set level. */
#ifndef RCX_TESTS_UNIT_EXACT_SUMS_H
#define RCX_TESTS_UNIT_EXACT_SUMS_H

#include "test.h"

#include <string.h>

#include "core/op/exact_bulk.h"
#include "exact_truth.h"

enum { MOST = 6000 };

static const char *const kind_names[RCX_EXACT_KINDS] = {
    "floats", "doubles", "products of floats", "products of doubles"};

/* Operands, as doubles and as what is added. */
struct operands {
    enum rcx_exact_kind kind;
    size_t n;
    double x[MOST], y[MOST];
    float single_x[MOST], single_y[MOST];
};

static inline bool is_float(enum rcx_exact_kind kind)
{
    return kind == RCX_EXACT_SUM32 || kind == RCX_EXACT_PRODUCT32;
}

static inline bool is_product(enum rcx_exact_kind kind)
{
    return kind == RCX_EXACT_PRODUCT32 || kind == RCX_EXACT_PRODUCT64;
}

static const void *at(const struct operands *o, bool second, size_t i)
{
    if (is_float(o->kind))
        return (second ? o->single_y : o->single_x) + i;
    return (second ? o->y : o->x) + i;
}

static inline void convert(struct operands *o)
{
    for (size_t i = 0; i < o->n && is_float(o->kind); i++) {
        o->single_x[i] = (float)o->x[i];
        o->single_y[i] = (float)o->y[i];
    }
}

static inline void fill(struct operands *o, enum rcx_exact_kind kind, int set,
                        uint64_t seed, size_t n)
{
    o->kind = kind;
    o->n = n;
    truth_numbers(set, is_float(kind), seed, o->x, n);
    truth_numbers((set + (int)(seed % 2)) % TRUTH_SETS, is_float(kind),
                  seed + 1, o->y, n);
    convert(o);
}

/* An accumulator of either type. */
struct sum {
    const struct rcx_exact_format *format;
    uint64_t words[RCX_EXACT_WORDS];
};

static inline struct sum sum_of(enum rcx_exact_kind kind)
{
    return (struct sum){.format = kind == RCX_EXACT_SUM32 ? &rcx_exact_float32
                                                          : &rcx_exact_float64};
}

static inline void add_part(struct sum *s, const struct operands *o,
                            size_t first, size_t n, enum rcx_isa isa)
{
    rcx_exact_add_many(s->words, s->format, o->kind, at(o, false, first),
                       at(o, true, first), n, isa);
}

static inline void merge(struct sum *s, const struct sum *other)
{
    const rcx_kernel_fn_t kernel = s->format == &rcx_exact_float32
                                       ? rcx_exact_sum_float32
                                       : rcx_exact_sum_float64;

    kernel(s->words, s->words, other->words, 1);
}

static inline double rounded(const struct sum *s)
{
    return rcx_exact_to_double(s->words, s->format);
}

static inline float rounded_to_float(const struct sum *s)
{
    return rcx_exact_to_float(s->words, s->format);
}

static inline void assert_same(const struct sum *a, const struct sum *b)
{
    assert_memory_equal(a->words, b->words, sizeof a->words);
}

static struct truth truth_of(const struct operands *o)
{
    struct truth t = {0};

    for (size_t i = 0; i < o->n; i++)
        if (is_product(o->kind))
            truth_add_product(&t, o->x[i], o->y[i]);
        else
            truth_add(&t, o->x[i]);
    return t;
}

static inline void check(const struct sum *s, const struct truth *t,
                         const struct operands *o, const char *what)
{
    const double expected = truth_to_double(t), got = rounded(s);
    const float expected_float = truth_to_float(t);
    const float got_float = rounded_to_float(s);

    if (!truth_equal(got, expected))
        fail_msg("%zu %s, %s: %a, expected %a", o->n, kind_names[o->kind], what,
                 got, expected);
    if (!truth_equal((double)got_float, (double)expected_float))
        fail_msg("%zu %s, %s, to float: %a, expected %a", o->n,
                 kind_names[o->kind], what, (double)got_float,
                 (double)expected_float);
}

static inline void check_all_levels(const struct operands *o, const char *what)
{
    const struct truth t = truth_of(o);
    struct sum first;

    for (int isa = 0; isa < RCX_ISA_COUNT; isa++) {
        struct sum s = sum_of(o->kind);

        if (isa > (int)rcx_exact_isa())
            continue;
        add_part(&s, o, 0, o->n, (enum rcx_isa)isa);
        check(&s, &t, o, what);
        if (isa == 0)
            first = s;
        assert_same(&s, &first);
    }
}

#endif
