/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A part of job_main: exact sums of numbers that are cut among the ranks in
 * many ways. Each rank knows all numbers, so it can tell what the result is:
 * the bytes of one sum over all of them, whatever the cut and the number of
 * ranks.
 */
#include "job.h"

#include <string.h>

#include "exact_truth.h"

enum { NUMBERS = 6000, VECTOR = 3 };

/* A vector of exact sums: of numbers; of numbers and squares; of squares. */
struct sums {
    rcx_exact64_t of[VECTOR];
};

static double numbers[NUMBERS];

/* The first number of each rank's part: random, and often empty. */
static size_t cut(const struct member *m, int rank, uint64_t seed)
{
    const size_t even = NUMBERS * (size_t)rank / (size_t)m->size;
    const size_t width = NUMBERS / (size_t)m->size;

    if (rank == 0 || rank == m->size)
        return even;
    if (seed % 3 == 0)
        return rank == 1 ? 0 : NUMBERS; /* all on rank 1 */
    return even - serial_mix(seed, (uint64_t)rank, 1) % (width + 1);
}

static struct sums sums_of(size_t from, size_t to)
{
    struct sums s;

    for (int i = 0; i < VECTOR; i++) {
        rcx_exact64_zero(&s.of[i]);
        if (i < 2)
            rcx_exact64_add(&s.of[i], numbers + from, to - from);
        if (i > 0)
            rcx_exact64_add_product(&s.of[i], numbers + from, numbers + from,
                                    to - from);
    }
    return s;
}

static void require_equal(struct member *m, const char *what, const void *got,
                          const void *expected, size_t bytes)
{
    if (memcmp(got, expected, bytes) != 0)
        job_fail(m, "exact sums: %s has other bytes than one sum", what);
}

/* Reductions of all ranks' sums. */
static void reduce_all(struct member *m, const struct sums *own, int root)
{
    const struct sums all = sums_of(0, NUMBERS);
    struct sums got = *own;

    job_require(
        m,
        rcx_allreduce(own, &got, VECTOR, RCX_EXACT_FLOAT64, RCX_SUM, m->comm),
        "allreduce");
    require_equal(m, "allreduce", &got, &all, sizeof all);
    got = *own;
    job_require(m,
                rcx_reduce(m->rank == root ? RCX_IN_PLACE : own, &got, VECTOR,
                           RCX_EXACT_FLOAT64, RCX_SUM, root, m->comm),
                "reduce");
    if (m->rank == root)
        require_equal(m, "reduce", &got, &all, sizeof all);
}

/* Prefixes of the ranks. */
static void scan(struct member *m, const struct sums *own, uint64_t seed)
{
    const struct sums before = sums_of(0, cut(m, m->rank, seed));
    const struct sums with = sums_of(0, cut(m, m->rank + 1, seed));
    struct sums got;

    job_require(
        m, rcx_scan(own, &got, VECTOR, RCX_EXACT_FLOAT64, RCX_SUM, m->comm),
        "scan");
    require_equal(m, "scan", &got, &with, sizeof with);
    job_require(
        m, rcx_exscan(own, &got, VECTOR, RCX_EXACT_FLOAT64, RCX_SUM, m->comm),
        "exscan");
    if (m->rank > 0)
        require_equal(m, "exscan", &got, &before, sizeof before);
}

/* Floats: each rank gets the sum of the numbers of all ranks. */
static void sum_floats(struct member *m, size_t from, size_t to)
{
    float floats[NUMBERS];
    rcx_exact32_t own, all;

    for (size_t i = 0; i < NUMBERS; i++)
        floats[i] = (float)numbers[i];
    rcx_exact32_zero(&own);
    rcx_exact32_zero(&all);
    rcx_exact32_add(&own, floats + from, to - from);
    rcx_exact32_add(&all, floats, NUMBERS);
    job_require(m,
                rcx_allreduce(RCX_IN_PLACE, &own, 1, RCX_EXACT_FLOAT32, RCX_SUM,
                              m->comm),
                "allreduce of floats");
    require_equal(m, "allreduce of floats", &own, &all, sizeof all);
}

void job_exact(struct member *m)
{
    for (uint64_t seed = 0; seed < TRUTH_SETS && !m->forced; seed++) {
        size_t from, to;
        struct sums own;

        truth_numbers((int)seed, false, seed, numbers, NUMBERS);
        from = cut(m, m->rank, seed);
        to = cut(m, m->rank + 1, seed);
        own = sums_of(from, to);
        job_delay(m);
        reduce_all(m, &own, (int)seed % m->size);
        scan(m, &own, seed);
        sum_floats(m, from, to);
    }
}
