/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes exact sums. The input is numbers, as any bits. Their sum must be the
 * true one, rounded once, and have the same bytes where the numbers are added
 * in two parts, in reverse, with the vectors of another machine.
 *
 *   input = kind (2 bits), vectors (2), repeats - 1 (3), negate repeats (1);
 *           where to cut, of 256; numbers, or pairs of factors
 */
#include "fuzz.h"

#include <string.h>

#include "core/op/exact_bulk.h"
#include "exact_truth.h"

enum { MOST = 4096 / 4 * 8 };

/* What is added, in the order of the input and in reverse. */
struct terms {
    enum rcx_exact_kind kind;
    size_t n, bytes; /* bytes of a number */
    char x[MOST * sizeof(double)], y[MOST * sizeof(double)];
};

static struct terms forward, backward;

static const struct rcx_exact_format *format_of(enum rcx_exact_kind kind)
{
    return kind == RCX_EXACT_SUM32 ? &rcx_exact_float32 : &rcx_exact_float64;
}

static int is_product(enum rcx_exact_kind kind)
{
    return kind == RCX_EXACT_PRODUCT32 || kind == RCX_EXACT_PRODUCT64;
}

/* Read numbers, each of which is repeated, perhaps with changing sign. */
static void read_terms(struct terms *t, uint8_t how, const uint8_t *data,
                       size_t bytes)
{
    const size_t repeats = 1 + (how >> 4 & 7);
    size_t each;

    t->kind = (enum rcx_exact_kind)(how & 3);
    t->bytes = t->kind == RCX_EXACT_SUM32 || t->kind == RCX_EXACT_PRODUCT32
                   ? sizeof(float)
                   : sizeof(double);
    each = is_product(t->kind) ? 2 * t->bytes : t->bytes;
    t->n = 0;
    for (size_t r = 0; r < repeats; r++)
        for (size_t i = 0; i + each <= bytes && t->n < MOST; i += each) {
            char *const x = t->x + t->n * t->bytes;

            memcpy(x, data + i, t->bytes);
            memcpy(t->y + t->n * t->bytes, data + i + each - t->bytes,
                   t->bytes);
            if (how >> 7 && r % 2)
                x[t->bytes - 1] = (char)(x[t->bytes - 1] ^ 0x80);
            t->n++;
        }
}

static void reverse(struct terms *to, const struct terms *t)
{
    to->kind = t->kind;
    to->n = t->n;
    to->bytes = t->bytes;
    for (size_t i = 0; i < t->n; i++) {
        const size_t at = i * t->bytes, from = (t->n - 1 - i) * t->bytes;

        memcpy(to->x + at, t->x + from, t->bytes);
        memcpy(to->y + at, t->y + from, t->bytes);
    }
}

static double number(const struct terms *t, const char *at)
{
    double twice;
    float once;

    if (t->bytes == sizeof once) {
        memcpy(&once, at, sizeof once);
        return (double)once;
    }
    memcpy(&twice, at, sizeof twice);
    return twice;
}

static void require_truth(const struct terms *t, const uint64_t *sum)
{
    static struct truth truth;
    const struct rcx_exact_format *f = format_of(t->kind);

    memset(&truth, 0, sizeof truth);
    for (size_t i = 0; i < t->n; i++) {
        const double x = number(t, t->x + i * t->bytes);
        const double y = number(t, t->y + i * t->bytes);

        if (is_product(t->kind))
            truth_add_product(&truth, x, y);
        else
            truth_add(&truth, x);
    }
    fuzz_require(
        truth_equal(rcx_exact_to_double(sum, f), truth_to_double(&truth)));
    fuzz_require(truth_equal((double)rcx_exact_to_float(sum, f),
                             (double)truth_to_float(&truth)));
}

int fuzz_input(const uint8_t *data, size_t bytes)
{
    uint64_t whole[RCX_EXACT_WORDS] = {0}, parts[RCX_EXACT_WORDS] = {0};
    const enum rcx_isa best = rcx_exact_isa();
    const struct rcx_exact_format *f;
    enum rcx_isa isa;
    size_t cut;

    if (bytes < 2)
        return 0;
    read_terms(&forward, data[0], data + 2, bytes - 2);
    reverse(&backward, &forward);
    f = format_of(forward.kind);
    isa = (enum rcx_isa)((data[0] >> 2 & 3) % (best + 1));
    cut = forward.n * data[1] / 256;
    rcx_exact_add_many(whole, f, forward.kind, forward.x, forward.y, forward.n,
                       best);
    rcx_exact_add_many(parts, f, forward.kind, backward.x, backward.y, cut,
                       isa);
    rcx_exact_add_many(parts, f, forward.kind, backward.x + cut * forward.bytes,
                       backward.y + cut * forward.bytes, forward.n - cut, isa);
    fuzz_require(memcmp(whole, parts, sizeof whole) == 0);
    require_truth(&forward, whole);
    return 0;
}
