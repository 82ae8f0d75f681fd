/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank 0 is the root of a reduce that no operand reaches, since no transport
 * leads from one rank to another, and has no deadline: every rank's call fails
 * because of that, at once on those that send, soon on those that do not.
 * Exits with 0 if it was so.
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
