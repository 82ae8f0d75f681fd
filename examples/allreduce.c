/* SPDX-License-Identifier: BSD-3-Clause */
#include <rcx/rcx.h>
#include <stdio.h>

int main(void)
{
    rcx_context_t *context;
    rcx_status_t status = rcx_init(NULL, &context);

    if (status != RCX_OK) {
        fprintf(stderr, "%s\n", rcx_status_string(status));
        return 1;
    }

    rcx_comm_t *world = rcx_world(context);
    const double mine = rcx_comm_rank(world) + 1;
    double sum;

    status = rcx_allreduce(&mine, &sum, 1, RCX_FLOAT64, RCX_SUM, world);
    if (status == RCX_OK && rcx_comm_rank(world) == 0)
        printf("1 + ... + %d = %g\n", rcx_comm_size(world), sum);
    return rcx_finalize(&context) != RCX_OK || status != RCX_OK;
}
