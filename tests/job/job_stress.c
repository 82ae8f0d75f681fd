/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of job_main: calls back to back, each with other data, with random
 * delays. A message that is still in flight when a call returns must not read
 * or write the data of the next call.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

/* Return call k. With irregular blocks, all elements but one block belong to
 * the last rank. Each rank is root in turn. */
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

/* Fewer calls where more than two ranks share the cores of this machine. */
static uint64_t calls(const struct member *m, uint64_t iterations)
{
    return m->brief && m->size > 2 ? iterations * 2 / (uint64_t)m->size
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
