/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce with 3-2 elimination for odd numbers of groups (Rabenseifner,
 * Traeff 2004, 3.1 to 3.3).
 *
 *   scratch  n for b = 0; 2 n for unlimited b
 *   order    UNIFORM; CANONICAL when p = 2^k
 *
 * Let p = q 2^k, q odd. k butterfly steps leave q groups, which one elimination
 * merges. rounds.h describes its two protocols, which cost the same.
 */
#include "algo/phase/factorized.h"

enum { B, PROTOCOL }; /* parameters */

static struct rcx_factorized setting(const struct rcx_shape *s)
{
    return (struct rcx_factorized){.group = rcx_group_all(s),
                                   .b = s->params[B],
                                   .how.protocol =
                                       (enum rcx_protocol)s->params[PROTOCOL]};
}

static rcx_order_t order(const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);

    return rcx_factorized_order(&f);
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);

    return rcx_factorized_cost(&f, s, RCX_FACTORIZED_ALL);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);

    rcx_factorized_allreduce(b, &f);
}

static const char *const protocols[] = {
    [RCX_PROTOCOL_OVERLAPPING] = "overlapping",
    [RCX_PROTOCOL_NONOVERLAPPING] = "nonoverlapping",
    NULL};

static const struct rcx_param params[] = {
    [B] = RCX_FACTORIZED_B,
    [PROTOCOL] =
        {.name = "protocol",
         .doc = "overlapping: 3-2 steps in all rounds with an odd number of "
                "groups; nonoverlapping: one 3-2 step in the first such round, "
                "and 2-1 steps beside it",
         .names = protocols},
    {0}};

const struct rcx_algo rcx_allreduce_elimination = {
    .name = "elimination",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "b = 0: 2 ceil(lg p) a + (1 + [p > 2^k]/2^(k+1) - "
               "1/2^floor(lg p)) (2 n b + n g), k = twos p; b without "
               "end: (ceil(lg p)+1) (a + n b) + ceil(lg p) n g, less a + "
               "n b if p = 2^k; 2^k divides p, 2^(k+1) does not",
    .source = "Rabenseifner, Traeff 2004, 3.1 to 3.3",
    .params = params,
    .order = order,
    .cost = cost,
    .build = build,
};
