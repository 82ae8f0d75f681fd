/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_exact: times local additions to exact sums beside plain sums, for
 * lengths from a few numbers to beyond the caches. Prints GB/s of operands, the
 * best of several runs, and the ratio to a sum in eight parts, which is as fast
 * as memory. Numbers: near (uniform in 0..1), and far (of 360 orders of
 * magnitude).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rcx/rcx.h"

enum { RUNS = 9, MOST = 1 << 24, BYTES_A_RUN = 1 << 26 };

typedef double vec_t __attribute__((vector_size(64), aligned(8), may_alias));

struct data {
    double *x, *y;
    float *single;
    size_t n;
    rcx_exact64_t sum;
    rcx_exact32_t sum32;
};

static volatile double sink;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- What is timed ------------------------------------------------------- */

/* In order: the compiler may not change it. */
static void plain(struct data *d)
{
    double sum = 0;

    for (size_t i = 0; i < d->n; i++)
        sum += d->x[i];
    sink = sum;
}

static void in_parts(struct data *d)
{
    vec_t a = {0}, b = {0};
    size_t i = 0;
    double sum = 0;

    for (; i + 16 <= d->n; i += 16) {
        a += *(const vec_t *)(d->x + i);
        b += *(const vec_t *)(d->x + i + 8);
    }
    for (; i < d->n; i++)
        sum += d->x[i];
    a += b;
    for (int k = 0; k < 8; k++)
        sum += a[k];
    sink = sum;
}

static void dot_in_parts(struct data *d)
{
    vec_t a = {0};
    size_t i = 0;
    double sum = 0;

    for (; i + 8 <= d->n; i += 8)
        a += *(const vec_t *)(d->x + i) * *(const vec_t *)(d->y + i);
    for (; i < d->n; i++)
        sum += d->x[i] * d->y[i];
    for (int k = 0; k < 8; k++)
        sum += a[k];
    sink = sum;
}

static void exact(struct data *d)
{
    rcx_exact64_add(&d->sum, d->x, d->n);
}

static void exact_dot(struct data *d)
{
    rcx_exact64_add_product(&d->sum, d->x, d->y, d->n);
}

static void exact_floats(struct data *d)
{
    rcx_exact32_add(&d->sum32, d->single, d->n);
}

static const struct {
    const char *name;
    void (*run)(struct data *d);
    size_t bytes; /* of a term's operands */
    int beside;   /* whose time the ratio is to; -1: none */
} loops[] = {
    {"sum in order", plain, 8, 1},
    {"sum in parts", in_parts, 8, -1},
    {"rcx_exact64_add", exact, 8, 1},
    {"dot in parts", dot_in_parts, 16, -1},
    {"..._add_product", exact_dot, 16, 3},
    {"rcx_exact32_add", exact_floats, 4, 1},
};
enum { LOOPS = sizeof(loops) / sizeof(*loops) };

/* ---- Timing -------------------------------------------------------------- */

/* Seconds of one call. */
static double time_of(struct data *d, void (*run)(struct data *d))
{
    const size_t calls = 1 + BYTES_A_RUN / 64 / (8 * d->n + 64);
    double best = 1e9;

    for (int r = 0; r < RUNS; r++) {
        const double start = now();
        double each;

        for (size_t i = 0; i < calls; i++)
            run(d);
        each = (now() - start) / (double)calls;
        best = each < best ? each : best;
    }
    return best;
}

static void time_all(struct data *d, const char *data)
{
    double seconds[LOOPS];

    for (int i = 0; i < LOOPS; i++)
        seconds[i] = time_of(d, loops[i].run);
    for (int i = 0; i < LOOPS; i++) {
        const double bandwidth =
            1e-9 * (double)(loops[i].bytes * d->n) / seconds[i];
        const int k = loops[i].beside;

        printf("%-5s %9zu  %-16s %10.1f ns %8.2f GB/s", data, d->n,
               loops[i].name, 1e9 * seconds[i], bandwidth);
        if (k >= 0)
            printf("  %5.2f", bandwidth * seconds[k] /
                                  (1e-9 * (double)(loops[k].bytes * d->n)));
        printf("\n");
    }
}

static void fill(struct data *d, int is_far)
{
    srand(1);
    for (size_t i = 0; i < MOST; i++) {
        const double u = (rand() + 0.5) / RAND_MAX;
        const int e = is_far ? rand() % 1200 - 600 : 0;

        d->x[i] = ldexp(u, e);
        d->y[i] = ldexp(1 - u, is_far ? rand() % 800 - 400 : 0);
        d->single[i] = (float)ldexp(u, e / 5);
    }
}

int main(void)
{
    static const size_t counts[] = {1, 8, 32, 128, 2048, 1 << 17, MOST};
    struct data d = {.x = malloc(MOST * sizeof *d.x),
                     .y = malloc(MOST * sizeof *d.y),
                     .single = malloc(MOST * sizeof *d.single)};

    if (!d.x || !d.y || !d.single)
        return 1;
    printf("data      terms  what                   time of a call   "
           "operands  ratio to a sum in parts\n");
    for (int is_far = 0; is_far < 2; is_far++) {
        fill(&d, is_far);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            d.n = counts[i];
            rcx_exact64_zero(&d.sum);
            rcx_exact32_zero(&d.sum32);
            time_all(&d, is_far ? "far" : "near");
        }
    }
    free(d.x);
    free(d.y);
    free(d.single);
    return 0;
}
