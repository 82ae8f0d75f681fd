/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SUNDIALS vectors that are distributed over the ranks of a communicator: each
 * rank has a part, in memory like that of nvector_serial. A reduction (dot
 * product, norm, minimum) is local work and one rcx_allreduce(). So all ranks
 * get the same bits, and integrators that run on each rank take the same steps.
 *
 * Reductions are collective over the communicator, as in nvector_parallel. If
 * one fails, because a rank has failed or the communicator's deadline has
 * passed, it returns NaN, SUNFALSE or -1, and so do all later ones, at once.
 * The solver then ends with an error code; rcx_comm_error() has the reason.
 *
 * Elements are double. Needs SUNDIALS 6.0 or later, with sunrealtype double.
 */
#ifndef RCX_NVECTOR_H
#define RCX_NVECTOR_H

#include <rcx/rcx.h>
#include <sundials/sundials_nvector.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Create a vector of which this rank has local_length elements, 0 or more.
 * Collective over comm, which must outlive the vector and its clones. NULL: no
 * memory, or the sum of the lengths failed (rcx_comm_error()).
 *
 * New: elements are zero. Make: elements are in data, which the caller keeps
 * and frees. NewEmpty: there is no data until N_VSetArrayPointer().
 */
N_Vector N_VNew_Rcx(rcx_comm_t *comm, sunindextype local_length,
                    SUNContext sunctx);
N_Vector N_VMake_Rcx(rcx_comm_t *comm, sunindextype local_length, double *data,
                     SUNContext sunctx);
N_Vector N_VNewEmpty_Rcx(rcx_comm_t *comm, sunindextype local_length,
                         SUNContext sunctx);

/* Number of elements of this rank; N_VGetLength() returns that of all ranks. */
sunindextype N_VGetLocalLength_Rcx(N_Vector v);
rcx_comm_t *N_VGetComm_Rcx(N_Vector v);

/* Enable or disable fused and vector-array operations of v, which combine
 * several reductions in one call. They are disabled in a new vector, as in
 * SUNDIALS' own vectors. Clones inherit the setting. Returns 0, or -1 if v is
 * NULL. */
int N_VEnableFusedOps_Rcx(N_Vector v, sunbooleantype on);

/*
 * Enable or disable exact sums of v: dot products, and norms that are sums, are
 * then the mathematical sums, rounded once. So they depend on nothing but the
 * elements: neither on the number of ranks, nor on how many elements each has.
 * Alike on all ranks. Clones inherit the setting. In a new vector it is enabled
 * if the environment variable RCX_SUM is "exact" on some rank.
 *
 * Rounded before they are added: each product of an element and its weight.
 * Rounded after that: the sum, the mean and its root. Functions whose names end
 * in Local round the sum of a rank's part. What is added up from these depends
 * on the cut, so there is no N_VDotProdMultiAllReduce then. Returns 0, or -1 if
 * v is NULL.
 */
int N_VSetExactSums_Rcx(N_Vector v, sunbooleantype on);

#ifdef __cplusplus
}
#endif

#endif
