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

double rcx_posted_rounds(const struct rcx_shape *s)
{
    const int64_t n = s->size - 1, posted = s->params[0];

    return n == 0 || posted == 0 ? n > 0 : (double)((n + posted - 1) / posted);
}

struct rcx_cost rcx_posted_cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const double n = s->size - 1, block = (double)rcx_blocks_largest(&blocks);

    /* a rank only copies in, or copies in once */
    return (struct rcx_cost){
        .rounds = n,
        .volume = n * block,
        .saved = {n - rcx_posted_rounds(s), n > 1 ? 0.5 * (n - 1) * block : 0}};
}
