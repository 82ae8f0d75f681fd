/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LightGBM's network over RCX: two functions that LightGBM calls instead of its
 * own network code (sockets or MPI).
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

/* Computes output = output op input on bytes / type_size elements. The op is
 * commutative. */
typedef void (*rcx_lightgbm_op_t)(const char *input, char *output,
                                  int type_size, int32_t bytes);

/*
 * Set the context and communicator that the functions below use on this thread.
 * Call it on the thread that trains, as LightGBM's network belongs to a thread.
 * context and comm must live until the training is complete.
 */
RCX_API void rcx_lightgbm_use(rcx_context_t *context, rcx_comm_t *comm);

/*
 * The functions to pass to LGBM_NetworkInitWithFunctions(). Sizes are in bytes.
 * They cannot return an error: it is logged, and ends the job (rcx_abort()), as
 * LightGBM cannot continue without a result.
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
