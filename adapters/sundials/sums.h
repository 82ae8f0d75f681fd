/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over the elements of vectors, of a rank or of all ranks, and the content
 * of a vector. Used within the library only. */
#ifndef RCX_NVECTOR_SUMS_H
#define RCX_NVECTOR_SUMS_H

#include <nvector/nvector_serial.h>
#include <stdbool.h>

#include <rcx/rcx.h>

#pragma GCC visibility push(hidden)

/*
 * The content begins with that of nvector_serial, so that its functions work on
 * this rank's part, and are in the table of operations as they are.
 */
struct content {
    struct _N_VectorContent_Serial part;
    sunindextype length; /* on all ranks */
    rcx_comm_t *comm;
    bool sums_exactly;
};

static inline struct content *content_of(N_Vector v)
{
    return v->content;
}

/* What is summed, of up to three vectors x, y and z. */
struct terms {
    double (*sum)(N_Vector v[]); /* by nvector_serial */
    void (*add)(rcx_exact64_t *sum, double *v[], size_t n);
};
extern const struct terms products;       /* x y */
extern const struct terms squares;        /* (x y)^2 */
extern const struct terms masked_squares; /* (x y)^2 where z > 0 */
extern const struct terms magnitudes;     /* |x| */

/* Several sums: number i is of the vectors x[i step] and so on. */
struct operand {
    N_Vector *of;
    int step;
};
struct sums {
    const struct terms *terms;
    struct operand x, y, z;
};

/* Reduce n values in place. False: it has failed. */
bool reduce_values(N_Vector v, double values[], int n, rcx_op_t op);

/* n sums over all ranks. False: the reduction has failed. */
bool sum_all(const struct sums *s, int n, double values[]);
/* A sum over the elements of this rank. */
double sum_part(const struct terms *terms, N_Vector x, N_Vector y, N_Vector z);

#pragma GCC visibility pop

#endif
