/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user's program, valid in C99 and in C++: prints the number of ranks. The
 * tests of the installed package compile and run it.
 */
#include <rcx/rcx.h>
#include <stdio.h>

int main(void)
{
    rcx_context_t *context;
    rcx_comm_t *world;
    double mine = 1, sum = 0;

    if (rcx_init(NULL, &context) != RCX_OK)
        return 1;
    world = rcx_world(context);
    if (rcx_allreduce(&mine, &sum, 1, RCX_DOUBLE, RCX_SUM, world) != RCX_OK ||
        sum != rcx_comm_size(world))
        return 2;
    if (rcx_allreduce(RCX_IN_PLACE, &sum, 1, RCX_DOUBLE, RCX_MAX, world) !=
        RCX_OK)
        return 3;
    printf("%d ranks\n", rcx_comm_size(world));
    return rcx_finalize(&context) == RCX_OK ? 0 : 4;
}
