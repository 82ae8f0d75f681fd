/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall by Bruck et al.'s exchange (1997; Thakur, Rabenseifner, Gropp 2005,
 * 4.3), with distant ranks first and without rotations: see phase/pieces.h.
 *
 *   scratch  up to 2 Z n/p, Z: digits to radix of 1 to p - 1 that are not 0;
 *            n lg p for radix 2
 */
#include <limits.h>

#include "algo/phase/pieces.h"

enum { RADIX }; /* parameters */

/* Return the least i with i^power >= n, for power 2 or 3. */
static int64_t root_ceil(int n, int power)
{
    int64_t i = 1;

    while ((power == 2 ? i * i : i * i * i) < n)
        i++;
    return i;
}

static int64_t at_least_2(int64_t i)
{
    return i < 2 ? 2 : i;
}

static int64_t radix_candidate(const struct rcx_shape *s, int i)
{
    switch (i) {
    case 0: return 2;
    case 1: return 4;
    case 2: return 8;
    case 3: return at_least_2(root_ceil(s->size, 3));
    case 4: return at_least_2(root_ceil(s->size, 2));
    default: return RCX_PARAM_END;
    }
}

static const int64_t radixes[] = {
    2, 3, 4, 8, 100, RCX_PARAM_AUTO, RCX_PARAM_END};

static const struct rcx_param params[] = {
    [RADIX] = {.name = "radix",
               .doc = "of the digits by which blocks are moved: a larger one "
                      "gives more messages and fewer bytes; at most p",
               .least = 2,
               .most = INT_MAX,
               .usual = RCX_PARAM_AUTO,
               .proved = radixes,
               .candidate = radix_candidate},
    {0}};

static int radix_of(const struct rcx_shape *s)
{
    return rcx_pieces_radix(s, s->params[RADIX]);
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int radix = radix_of(s);
    const double block = (double)(s->count / (size_t)s->size);

    return (struct rcx_cost){
        .rounds = rcx_pieces_rounds(s->size, radix),
        .volume = block * (double)rcx_pieces_count(s->size, radix)};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    rcx_pieces_exchange(b, s, radix_of(s), SIZE_MAX);
}

const struct rcx_algo rcx_alltoall_bruck = {
    .name = "bruck",
    .coll = RCX_COLL_ALLTOALL,
    .formula = "p = radix^k: k (radix-1) (a + n/radix b), k = floor(lg p / lg "
               "radix); else R a + Z n/p b, R the sum over radix^i < p of "
               "min(radix-1, floor((p-1)/radix^i)), Z the digits to radix of "
               "1 to p-1 that are not 0",
    .known_as = "OCC: Bruck; MPICH: brucks, k_brucks; Open MPI: "
                "modified_bruck; UCC: bruck",
    .source = "Bruck et al. 1997; Thakur, Rabenseifner, Gropp 2005, 4.3; "
              "pieces: design",
    .params = params,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
