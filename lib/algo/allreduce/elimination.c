/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce with 3-2 elimination for odd numbers of groups (Rabenseifner,
 * Traeff 2004, 3.1 to 3.3).
 *
 *   time     p = q 2^k, q odd, l = floor(lg p), without b:
 *            2 ceil(lg p) alpha + (1 + 1/2^(k+1) - 1/2^l) (2 n beta + n gamma)
 *            and with b without end:
 *            (ceil(lg p) + 1) (alpha + n beta) + ceil(lg p) n gamma;
 *            when q = 1, without the 1/2^(k+1), and lg p (alpha + n beta)
 *   scratch  n without b; 2 n with b without end
 *   order    UNIFORM; CANONICAL when p = 2^k
 *
 * After k butterfly steps, one elimination of the q groups that there are: see
 * algo/rounds.h for the two protocols. They cost the same.
 */
#include "algo/phase/factorized.h"

enum { B, PROTOCOL }; /* parameters */

static struct rcx_factorized setting(const struct rcx_shape *s)
{
    return (struct rcx_factorized){.group = rcx_group_all(s),
                                   .b = s->params[B],
                                   .protocol =
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
         .doc =
             "3-2 steps in all rounds with an odd number of groups, or a 3-2 "
             "step in the first of them and 2-1 steps beside it",
         .names = protocols},
    {0}};

const struct rcx_algo rcx_allreduce_elimination = {
    .name = "elimination",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "p = q 2^k, q > 1 odd, b = 0: 2 ceil(lg p) a "
               "+ (1 + 1/2^(k+1) - 1/2^floor(lg p)) (2 n b + n g); "
               "b without end: (ceil(lg p)+1) (a + n b) + ceil(lg p) n g",
    .source = "Rabenseifner, Traeff 2004, 3.1 to 3.3",
    .params = params,
    .order = order,
    .cost = cost,
    .build = build,
};
