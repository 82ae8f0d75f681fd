/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LightGBM's two network functions over RCX. LightGBM describes blocks in
 * bytes; they become counts of a user-defined type, and its reducer a
 * user-defined op. Contains nothing of LightGBM, which is passed pointers to
 * the functions.
 */
#include <rcx/rcx_lightgbm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct {
    rcx_context_t *context;
    rcx_comm_t *comm;
} in_use;

void rcx_lightgbm_use(rcx_context_t *context, rcx_comm_t *comm)
{
    in_use.context = context;
    in_use.comm = comm;
}

/* End the process unless rcx_lightgbm_use() has been called. Prints to stderr,
 * as there is no context with a log. */
static void need_use(const char *function)
{
    if (in_use.comm)
        return;
    fprintf(stderr,
            "%s: rcx_lightgbm_use() must be called first, on the training "
            "thread\n",
            function);
    abort();
}

static void check(rcx_status_t status, const char *function)
{
    if (status != RCX_OK && rcx_abort(in_use.context, 1, function) != RCX_OK)
        abort();
}

/* Convert lengths in bytes to numbers of elements. NULL: no memory. */
static size_t *counts_of(const int32_t *bytes, int n, int type_size)
{
    size_t *counts = malloc((size_t)n * sizeof *counts);

    for (int i = 0; counts && i < n; i++)
        counts[i] = (size_t)(bytes[i] / type_size);
    return counts;
}

/* Argument of combine(): LightGBM's function, which overwrites its second
 * operand. */
struct op {
    rcx_lightgbm_op_t fn;
    int type_size;
};

static int combine(void *dst, const void *left, const void *right, size_t count,
                   rcx_datatype_t type, void *arg)
{
    const struct op *op = arg;
    const size_t bytes = count * (size_t)op->type_size;

    (void)type;
    if (dst != left && dst != right)
        memcpy(dst, left, bytes);
    op->fn(dst == right ? left : right, dst, op->type_size, (int32_t)bytes);
    return 0;
}

/* RCX_ERR_ARG unless there is a block of whole elements for each rank, and each
 * begins where the one before it ends. */
static rcx_status_t blocks_are_one(const int32_t *start, const int32_t *len,
                                   int n, int type_size)
{
    int32_t end = 0;

    for (int i = 0; i < n; end = start[i] + len[i], i++)
        if (start[i] != end || len[i] % type_size != 0)
            return RCX_ERR_ARG;
    return n == rcx_comm_size(in_use.comm) ? RCX_OK : RCX_ERR_ARG;
}

void rcx_lightgbm_reduce_scatter(char *input, int32_t input_size, int type_size,
                                 const int32_t *block_start,
                                 const int32_t *block_len, int num_block,
                                 char *output, int32_t output_size,
                                 const rcx_lightgbm_op_t *op)
{
    need_use(__func__);
    struct op user = {.fn = *op, .type_size = type_size};
    size_t *counts = counts_of(block_len, num_block, type_size);
    rcx_datatype_t type = 0;
    rcx_op_t number = 0;
    rcx_status_t status = counts ? RCX_OK : RCX_ERR_NOMEM;

    (void)input_size, (void)output_size;
    if (status == RCX_OK)
        status = blocks_are_one(block_start, block_len, num_block, type_size);
    if (status == RCX_OK)
        status = rcx_type_create(in_use.context, (size_t)type_size, &type);
    if (status == RCX_OK)
        status =
            rcx_op_create(in_use.context, combine,
                          RCX_OP_COMMUTATIVE | RCX_OP_NO_FAIL, &user, &number);
    if (status == RCX_OK)
        status = rcx_reduce_scatter(input, output, counts, type, number,
                                    in_use.comm);
    check(status, __func__);
    rcx_op_free(in_use.context, &number);
    rcx_type_free(in_use.context, &type);
    free(counts);
}

/* This rank's block is at the start of input, which may be the same as
 * output. */
void rcx_lightgbm_allgather(char *input, int32_t input_size,
                            const int32_t *block_start,
                            const int32_t *block_len, int num_block,
                            char *output, int32_t output_size)
{
    need_use(__func__);
    const int rank = rcx_comm_rank(in_use.comm);
    size_t *counts = counts_of(block_len, num_block, 1);
    size_t *displs = counts_of(block_start, num_block, 1);
    rcx_status_t status = counts && displs ? RCX_OK : RCX_ERR_NOMEM;

    (void)input_size, (void)output_size;
    if (status == RCX_OK && num_block != rcx_comm_size(in_use.comm))
        status = RCX_ERR_ARG;
    if (status == RCX_OK) {
        memmove(output + displs[rank], input, counts[rank]);
        status = rcx_allgatherv(RCX_IN_PLACE, output, counts, displs, RCX_BYTE,
                                in_use.comm);
    }
    check(status, __func__);
    free(displs);
    free(counts);
}
