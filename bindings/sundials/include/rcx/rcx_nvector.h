/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors of SUNDIALS that are spread over the ranks of a communicator: each
 * has a part, in memory like that of nvector_serial. What reduces (dot
 * products, norms, minima) is local work and one rcx_allreduce(), so all ranks
 * get the same bits, and integrators that run on each of them take the same
 * steps.
 *
 * Operations that reduce are collective over the communicator, as in
 * nvector_parallel. Where one fails, because a rank is gone or the
 * communicator's deadline has passed, they return NaN, SUNFALSE, or -1, at once
 * from then on; the solver then ends with an error code, and rcx_comm_error()
 * tells why.
 *
 * Elements are double; SUNDIALS of 6.0 or later, with realtype double.
 */
#ifndef RCX_NVECTOR_H
#define RCX_NVECTOR_H

#include <rcx/rcx.h>
#include <sundials/sundials_nvector.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A vector of which this rank has local_length elements, 0 or more. Collective
 * over comm, which has to outlive the vector and its clones. NULL: no memory,
 * or the sum of the lengths could not be had (rcx_comm_error()).
 *
 * Make: of data, which stays the caller's. NewEmpty: of none yet;
 * N_VSetArrayPointer() brings it.
 */
N_Vector N_VNew_Rcx(rcx_comm_t *comm, sunindextype local_length,
                    SUNContext sunctx);
N_Vector N_VMake_Rcx(rcx_comm_t *comm, sunindextype local_length, double *data,
                     SUNContext sunctx);
N_Vector N_VNewEmpty_Rcx(rcx_comm_t *comm, sunindextype local_length,
                         SUNContext sunctx);

/* Elements of this rank; N_VGetLength() has those of all. */
sunindextype N_VGetLocalLength_Rcx(N_Vector v);
rcx_comm_t *N_VGetComm_Rcx(N_Vector v);

/* Fused operations and those of arrays of vectors: several reductions are then
 * one call. Off in a new vector, as in SUNDIALS' own; clones have what v
 * has. */
int N_VEnableFusedOps_Rcx(N_Vector v, booleantype on);

#ifdef __cplusplus
}
#endif

#endif
