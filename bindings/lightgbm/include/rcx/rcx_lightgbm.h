/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LightGBM's network over RCX: the two functions that LightGBM takes instead of
 * its own sockets, or MPI.
 *
 *     rcx_lightgbm_use(context, rcx_world(context));
 *     LGBM_NetworkInitWithFunctions(size, rank, rcx_lightgbm_reduce_scatter,
 *                                   rcx_lightgbm_allgather);
 *     ... train ...
 *     LGBM_NetworkFree();
 */
#ifndef RCX_LIGHTGBM_H
#define RCX_LIGHTGBM_H

#include <rcx/rcx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* output = output op input, of bytes / type_size elements; it commutes. */
typedef void (*rcx_lightgbm_op_t)(const char *input, char *output,
                                  int type_size, int32_t bytes);

/*
 * What the functions below work on, for this thread alone, as LightGBM's
 * network is: to be called on the thread that trains. Both live until the
 * training is over.
 */
RCX_API void rcx_lightgbm_use(rcx_context_t *context, rcx_comm_t *comm);

/*
 * What LightGBM calls; sizes are bytes. An error, which they cannot return, is
 * logged, and ends the job (rcx_abort()): LightGBM has no way on without an
 * answer.
 */
RCX_API void rcx_lightgbm_reduce_scatter(
    char *input, int32_t input_size, int type_size, const int32_t *block_start,
    const int32_t *block_len, int num_block, char *output, int32_t output_size,
    const rcx_lightgbm_op_t *op);
RCX_API void rcx_lightgbm_allgather(char *input, int32_t input_size,
                                    const int32_t *block_start,
                                    const int32_t *block_len, int num_block,
                                    char *output, int32_t output_size);

#ifdef __cplusplus
}
#endif

#endif
