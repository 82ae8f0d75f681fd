/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums over the elements of vectors. Each sum is made in one of two ways: in
 * doubles, in a fixed order; or exactly, whatever the order and the number of
 * ranks, and rounded once.
 */
#include "sums.h"

#include <math.h>

/* ---- Sums in doubles ----------------------------------------------------- */

/*
 * A rank's part is summed as a binary tree down to LEAF elements, like ranks in
 * the canonical order: 2^k ranks with equal parts longer than LEAF / 2 then sum
 * in the same tree for any k. A tree also rounds less than a sequential sum.
 */
enum { LEAF = 32, OPERANDS = 3 };

struct tree {
    const struct terms *terms;
    double *data[OPERANDS];
    struct _N_VectorContent_Serial part[OPERANDS];
    struct _generic_N_Vector vector[OPERANDS];
};

static double sum_leaf(struct tree *t, sunindextype first, sunindextype n)
{
    N_Vector v[OPERANDS];

    for (int i = 0; i < OPERANDS; i++) {
        t->part[i].length = n;
        t->part[i].data = t->data[i] + first;
        v[i] = &t->vector[i];
    }
    return t->terms->sum(v);
}

static double sum_halves(struct tree *t, sunindextype first, sunindextype n)
{
    const sunindextype half = n / 2;

    return n <= LEAF ? sum_leaf(t, first, n)
                     : sum_halves(t, first, half) +
                           sum_halves(t, first + half, n - half);
}

static double sum_tree(const struct terms *terms, const N_Vector v[])
{
    struct tree t = {.terms = terms};

    for (int i = 0; i < OPERANDS; i++) {
        t.data[i] = NV_DATA_S(v[i]);
        t.vector[i] = *v[i];
        t.vector[i].content = &t.part[i];
    }
    return sum_halves(&t, 0, NV_LENGTH_S(v[0]));
}

static double sum_products(N_Vector v[])
{
    return N_VDotProd_Serial(v[0], v[1]);
}

static double sum_squares(N_Vector v[])
{
    return N_VWSqrSumLocal_Serial(v[0], v[1]);
}

static double sum_masked_squares(N_Vector v[])
{
    return N_VWSqrSumMaskLocal_Serial(v[0], v[1], v[2]);
}

static double sum_magnitudes(N_Vector v[])
{
    return N_VL1Norm_Serial(v[0]);
}

/* ---- Exact sums ---------------------------------------------------------- */

/* Terms that are computed before they are added. Each is rounded by itself,
 * whatever the cut. */
enum { BLOCK = 2048 };

static void add_products(rcx_exact64_t *sum, double *v[], size_t n)
{
    rcx_exact64_add_product(sum, v[0], v[1], n);
}

/* z: NULL, or the mask. */
static void add_squares_of(rcx_exact64_t *sum, const double *x, const double *y,
                           const double *z, size_t n)
{
    double block[BLOCK];

    for (size_t i = 0; i < n;) {
        const size_t end = n - i < BLOCK ? n : i + BLOCK;
        size_t used = 0;

        for (; i < end; i++) {
            block[used] = x[i] * y[i];
            used += !z || z[i] > 0;
        }
        rcx_exact64_add_product(sum, block, block, used);
    }
}

static void add_squares(rcx_exact64_t *sum, double *v[], size_t n)
{
    add_squares_of(sum, v[0], v[1], NULL, n);
}

static void add_masked_squares(rcx_exact64_t *sum, double *v[], size_t n)
{
    add_squares_of(sum, v[0], v[1], v[2], n);
}

static void add_magnitudes(rcx_exact64_t *sum, double *v[], size_t n)
{
    double block[BLOCK];

    for (size_t i = 0; i < n;) {
        const size_t end = n - i < BLOCK ? n : i + BLOCK;
        size_t used = 0;

        for (; i < end; i++)
            block[used++] = fabs(v[0][i]);
        rcx_exact64_add(sum, block, used);
    }
}

static void add_part(const struct terms *terms, const N_Vector v[],
                     rcx_exact64_t *sum)
{
    double *data[OPERANDS];

    for (int i = 0; i < OPERANDS; i++)
        data[i] = NV_DATA_S(v[i]);
    rcx_exact64_zero(sum);
    terms->add(sum, data, (size_t)NV_LENGTH_S(v[0]));
}

const struct terms products = {sum_products, add_products};
const struct terms squares = {sum_squares, add_squares};
const struct terms masked_squares = {sum_masked_squares, add_masked_squares};
const struct terms magnitudes = {sum_magnitudes, add_magnitudes};

/* ---- Reductions ---------------------------------------------------------- */

bool reduce_values(N_Vector v, double values[], int n, rcx_op_t op)
{
    return rcx_allreduce(RCX_IN_PLACE, values, (size_t)n, RCX_FLOAT64, op,
                         content_of(v)->comm) == RCX_OK;
}

double sum_part(const struct terms *terms, N_Vector x, N_Vector y, N_Vector z)
{
    const N_Vector v[OPERANDS] = {x, y, z};
    rcx_exact64_t sum;

    if (!content_of(x)->sums_exactly)
        return sum_tree(terms, v);
    add_part(terms, v, &sum);
    return rcx_exact64_round(&sum);
}

/* The vectors of sum number i. */
static void select_vectors(const struct sums *s, int i, N_Vector v[OPERANDS])
{
    v[0] = s->x.of[i * s->x.step];
    v[1] = s->y.of[i * s->y.step];
    v[2] = s->z.of[i * s->z.step];
}

/* As many exact sums as one call reduces, which bounds the memory. A solver
 * rarely asks for more. */
enum { BATCH = 32 };

static bool sum_exactly(const struct sums *s, int n, double values[])
{
    rcx_exact64_t batch[BATCH];
    N_Vector v[OPERANDS];

    for (int first = 0; first < n; first += BATCH) {
        const int k = n - first < BATCH ? n - first : BATCH;

        for (int i = 0; i < k; i++) {
            select_vectors(s, first + i, v);
            add_part(s->terms, v, &batch[i]);
        }
        if (rcx_allreduce(RCX_IN_PLACE, batch, (size_t)k, RCX_EXACT_FLOAT64,
                          RCX_SUM, content_of(v[0])->comm) != RCX_OK)
            return false;
        for (int i = 0; i < k; i++)
            values[first + i] = rcx_exact64_round(&batch[i]);
    }
    return true;
}

bool sum_all(const struct sums *s, int n, double values[])
{
    N_Vector v[OPERANDS];

    if (content_of(s->x.of[0])->sums_exactly)
        return sum_exactly(s, n, values);
    for (int i = 0; i < n; i++) {
        select_vectors(s, i, v);
        values[i] = sum_tree(s->terms, v);
    }
    return reduce_values(s->x.of[0], values, n, RCX_SUM);
}
