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

/* ---- Vectors as they are ------------------------------------------------- */

static const struct kind exact_floats = {.type = RCX_FLOAT32,
                                         .op = RCX_SUM_EXACT};
static const struct kind exact_doubles = {.type = RCX_FLOAT64,
                                          .op = RCX_SUM_EXACT};

static const struct kind halves = {.type = RCX_BFLOAT16, .op = RCX_SUM_FLOAT};

/* All collectives that reduce, in all forms and places; the longest vectors
 * have several chunks. */
void job_exact_vectors(struct member *m)
{
    static const size_t counts[] = {0, 1, 5, 600, 2100};
    enum { WAYS = COLLECTIVES * FORMS * PLACES, LONG = 40000 };
    uint64_t k = 0;

    for (int i = 0; i < 5 * WAYS; i++) {
        struct call call = {.kind = k % 5 == 4 ? &halves
                                    : i % 2    ? &exact_floats
                                               : &exact_doubles,
                            .coll = (enum collective)(i % COLLECTIVES),
                            .form = (enum form)(i / COLLECTIVES % FORMS),
                            .place =
                                (enum place)(i / COLLECTIVES / FORMS % PLACES),
                            .count = counts[i / WAYS],
                            .root = (int)(k % (uint64_t)m->size),
                            .seed = k};

        if (!collectives[call.coll].reduces)
            continue;
        call.place = k % 3 ? call.place : MIXED;
        if (!m->brief || k % 3 == 0)
            job_call(m, &call);
        k++;
    }
    /* the truth is slow: a few of the long ones */
    for (int i = 0; i < (m->brief ? 1 : 4); i++) {
        static const enum collective colls[] = {ALLREDUCE, REDUCE_SCATTER, SCAN,
                                                ALLREDUCE_MANY};
        const struct call call = {.kind =
                                      i % 2 ? &exact_floats : &exact_doubles,
                                  .coll = colls[i],
                                  .form = (enum form)(i % FORMS),
                                  .place = MIXED,
                                  .count = LONG,
                                  .seed = (uint64_t)i};

        job_call(m, &call);
    }
    for (int i = 0; i < 4; i++) {
        const struct call call = {.kind = &halves,
                                  .coll = i % 2 ? ALLREDUCE : SCAN,
                                  .form = (enum form)(i % FORMS),
                                  .place = MIXED,
                                  .count = LONG,
                                  .seed = (uint64_t)i};

        job_call(m, &call);
    }
}
