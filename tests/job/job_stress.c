/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls back to back, with data of their own each and random delays: what is
 * still under way when a call returns meets the next one's data.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

/* All of it on the last rank but a block on the first; each rank is root. */
static struct call nth(const struct member *m, size_t block,
                       const size_t blocks[], uint64_t k)
{
    const enum collective coll = (enum collective)(k % COLLECTIVES);
    const bool equal = collective_has_equal_blocks(coll);

    return (struct call){.coll = coll,
                         .kind = &lines,
                         .count = equal ? block : block * (size_t)m->size,
                         .blocks = blocks,
                         .root = (int)(k % (uint64_t)m->size),
                         .seed = k};
}

static void run(struct member *m, size_t bytes, uint64_t iterations)
{
    const size_t size = (size_t)m->size;
    const size_t block = bytes / sizeof(uint64_t) / size + 1;
    size_t *blocks = calloc(size, sizeof *blocks);
    struct attempt a;

    if (!blocks)
        abort();
    blocks[0] += block;
    blocks[size - 1] += block * (size - 1);
    for (uint64_t k = 0; k < iterations; k++) {
        const struct call call = nth(m, block, blocks, k);

        if (k == 0)
            attempt_open(&a, &call, m->comm);
        else
            attempt_change(&a, &call);
        job_delay(m);
        job_require(m, attempt_call(&a, m->comm), "stress");
        if (attempt_check(&a))
            job_fail(m, "iteration %llu: %s", (unsigned long long)k, a.problem);
    }
    attempt_close(&a);
    free(blocks);
}

/* Ranks that share cores disturb each other in fewer calls. */
static uint64_t calls(const struct member *m, uint64_t iterations)
{
    return m->brief && m->size > 3 ? iterations * 3 / (uint64_t)m->size
                                   : iterations;
}

void job_stress(struct member *m)
{
    static const struct {
        size_t bytes;
        uint64_t iterations;
    } runs[] = {
        {8, 4000},         {8 << 10, 2000},   {16 << 10, 1000},
        {64 << 10, 1000},  {128 << 10, 1000}, {256 << 10, 1000},
        {512 << 10, 1000}, {1 << 20, 100},    {4 << 20, 30},
    };

    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        run(m, runs[i].bytes, calls(m, runs[i].iterations));
}

/* ---- Byte counts and elements beyond 31 bits ----------------------------- */

/* Element i of rank r's operand is (r + 1) (i mod 251) in 8 bits: 251 is a
 * prime, so what is off by a power of two differs. */
static void fill_bytes(uint8_t *vector, size_t count, int rank)
{
    for (size_t i = 0; i < count; i++)
        vector[i] = (uint8_t)(i % 251 * ((size_t)rank + 1));
}

/* factor: the sum of those of the ranks that were combined */
static void check_bytes(const struct member *m, const char *what,
                        const uint8_t *vector, size_t first, size_t count,
                        int factor)
{
    for (size_t i = 0; i < count; i++)
        if (vector[i] != (uint8_t)((first + i) % 251 * (size_t)factor))
            job_fail(m, "huge %s: element %zu of %zu is wrong", what, i, count);
}

static void huge_allreduce(struct member *m, uint8_t *vector, size_t count,
                           int factor)
{
    fill_bytes(vector, count, m->rank);
    job_require(
        m,
        rcx_allreduce(RCX_IN_PLACE, vector, count, RCX_INT8, RCX_SUM, m->comm),
        "huge allreduce");
    check_bytes(m, "allreduce", vector, 0, count, factor);
}

static void huge_reduce(struct member *m, uint8_t *vector, size_t count,
                        int factor)
{
    const int root = m->size - 1;
    const bool receives = m->rank == root;

    fill_bytes(vector, count, m->rank);
    job_require(m,
                rcx_reduce(receives ? RCX_IN_PLACE : vector,
                           receives ? vector : NULL, count, RCX_INT8, RCX_SUM,
                           root, m->comm),
                "huge reduce");
    check_bytes(m, receives ? "reduce" : "reduce's operand", vector, 0, count,
                receives ? factor : m->rank + 1);
}

/* Where rank's block begins. */
static size_t first_of(const size_t *blocks, int rank)
{
    size_t first = 0;

    for (int i = 0; i < rank; i++)
        first += blocks[i];
    return first;
}

/* Rank big gets a block of more than 2^31 elements, another one gets two; in
 * place by recvbuf == sendbuf + own block. */
static void huge_reduce_scatter(struct member *m, uint8_t *vector, size_t count,
                                int factor, int big, bool in_place)
{
    size_t *blocks = calloc((size_t)m->size, sizeof *blocks);
    size_t first, own, replaced;
    uint8_t *result;

    if (!blocks)
        abort();
    blocks[big == 0 ? m->size - 1 : 0] = 2;
    blocks[big] = count - 2;
    first = first_of(blocks, m->rank);
    own = blocks[m->rank];
    replaced = in_place ? own : 0;
    result = in_place ? vector + first : malloc(own);
    if (!result)
        abort();
    fill_bytes(vector, count, m->rank);
    job_require(
        m,
        rcx_reduce_scatter(vector, result, blocks, RCX_INT8, RCX_SUM, m->comm),
        "huge reduce_scatter");
    check_bytes(m, "reduce_scatter", result, first, own, factor);
    check_bytes(m, "operand before", vector, 0, first, m->rank + 1);
    check_bytes(m, "operand behind", vector + first + replaced,
                first + replaced, count - first - replaced, m->rank + 1);
    if (!in_place)
        free(result);
    free(blocks);
}

void job_huge(struct member *m)
{
    const size_t count = ((size_t)1 << 31) + 3;
    const int factor = m->size * (m->size + 1) / 2;
    uint8_t *vector = malloc(count);

    if (!vector)
        abort();
    huge_allreduce(m, vector, count, factor);
    huge_reduce(m, vector, count, factor);
    huge_reduce_scatter(m, vector, count, factor, m->size - 1, false);
    huge_reduce_scatter(m, vector, count, factor, 0, true);
    free(vector);
}
