/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job without a transport between ranks. Rank 0 is the root of a
 * reduce without a deadline, and no operand can reach it. The call must fail
 * with RCX_ERR_TRANSPORT on every rank: at once on those that send, soon on the
 * root. Exits with 0 if it does, and if the error names another rank.
 */
#include "rcx/rcx.h"

static int reduce(rcx_comm_t *world)
{
    double in[3] = {1, 2, 3}, out[3];
    const rcx_status_t status =
        rcx_reduce(in, out, 3, RCX_FLOAT64, RCX_SUM, 0, world);
    rcx_error_info_t info;

    if (rcx_comm_error(world, &info) != RCX_OK || status == RCX_OK ||
        info.status != RCX_ERR_TRANSPORT || info.rank_count != 1)
        return 1;
    return info.ranks[0] == rcx_comm_rank(world);
}

int main(void)
{
    rcx_context_t *context;
    int wrong;

    if (rcx_init(NULL, &context) != RCX_OK)
        return 1;
    wrong = reduce(rcx_world(context));
    return rcx_finalize(&context) != RCX_OK || wrong;
}
