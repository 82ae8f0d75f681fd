/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameter "posted", which limits how many messages are posted at once,
 * and the cost of p - 1 independent messages of a block. See posted.h.
 */
#include "algo/phase/posted.h"

#include <limits.h>

static const int64_t proved[] = {0, 1, 3, RCX_PARAM_END};

const struct rcx_param rcx_posted_params[] = {
    {.name = "posted",
     .doc = "messages under way at once, each way; 0: all",
     .most = INT_MAX,
     .usual = 32,
     .proved = proved},
    {.name = NULL}};

struct rcx_cost rcx_posted_cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const double n = s->size - 1;

    return (struct rcx_cost){.rounds = n,
                             .volume = n * (double)rcx_blocks_largest(&blocks)};
}
