/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop that RCX and its peers share.
 *
 * For each size: a warm-up, a calibration that chooses how many iterations fill
 * the time, then the iterations in a few batches. Each batch starts with new
 * data and a barrier, runs back to back, and has its last result checked
 * element by element. A rank's time per operation is the average over all
 * batches; the time reported is the maximum over the ranks.
 *
 * All ranks must agree on the number of iterations and on the maximum. They do
 * so through the library under test: a vector with one element per rank, zero
 * but for one's own, is summed, and every rank picks the maximum of the sum.
 *
 * Data are small integers, so the sums are exact in any order and bracketing.
 */

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

enum {
    MAX_SIZES = 64,
    MAX_BATCHES = 4,
    BATCH_MIN_ITERATIONS = 8, /* fewer would measure the barrier's skew */
    MIN_ITERATIONS = 3,
    MAX_ITERATIONS = 10000000
};

struct options {
    size_t bytes[MAX_SIZES];
    int n_sizes;
    double seconds;
    unsigned limit;
    int pin;
};

struct run {
    const struct loop_peer *peer;
    int rank, size;
    double seconds; /* to measure each size */
    float *in, *out;
    float *mine, *all; /* one element per rank */
    int batches;       /* filled so far: tells the data of batches apart */
    int wrong;         /* a result was wrong on this rank */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench: %s failed\n", what);
    exit(1);
}

/* ---- Arguments ---------------------------------------------------------- */

static int parse_sizes(const char *text, struct options *o)
{
    o->n_sizes = 0;
    while (*text) {
        char *end;
        const unsigned long long bytes = strtoull(text, &end, 10);

        if (end == text || (*end && *end != ',') || bytes < sizeof(float) ||
            bytes % sizeof(float) || bytes > PTRDIFF_MAX ||
            o->n_sizes == MAX_SIZES)
            return -1;
        o->bytes[o->n_sizes++] = (size_t)bytes;
        text = *end ? end + 1 : end;
    }
    return o->n_sizes ? 0 : -1;
}

static int parse_seconds(const char *text, double *seconds_p)
{
    char *end;
    const double seconds = strtod(text, &end);

    if (end == text || *end || !(seconds > 0 && seconds < 1e6))
        return -1;
    *seconds_p = seconds;
    return 0;
}

/* Unknown words are left to the library. */
static int parse(int argc, char **argv, struct options *o)
{
    double limit = 0;

    *o = (struct options){.seconds = 0.2, .pin = 1};
    parse_sizes("8,64,512,4096,16384,65536,262144,1048576,4194304,16777216", o);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        int bad = 0;

        if (!strcmp(argv[i], "--sizes"))
            bad = parse_sizes(value, o);
        else if (!strcmp(argv[i], "--time"))
            bad = parse_seconds(value, &o->seconds);
        else if (!strcmp(argv[i], "--limit"))
            bad = parse_seconds(value, &limit);
        else if (!strcmp(argv[i], "--no-pin"))
            o->pin = 0;
        if (bad) {
            fprintf(stderr, "bench: %s '%s' is not valid\n", argv[i], value);
            return -1;
        }
    }
    o->limit = limit > 0 && limit < 1 ? 1 : (unsigned)limit;
    return 0;
}

/* ---- Pinning ------------------------------------------------------------ */

/* What the launchers call the rank on this machine; -1 if nothing does. */
static int rank_from_environment(void)
{
    static const char *const names[] = {
        "BENCH_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
        "PMI_RANK", "PMIX_RANK"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);

        if (text)
            return atoi(text);
    }
    return -1;
}

/* Whether cpu is the first hardware thread of its core. */
static int is_core(int cpu)
{
    char path[96];
    int first = cpu;
    FILE *file;

    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             cpu);
    file = fopen(path, "r");
    if (!file)
        return 1;
    if (fscanf(file, "%d", &first) != 1)
        first = cpu;
    fclose(file);
    return first == cpu;
}

/* Round robin over the cores of mask, one hardware thread of each. */
static void pin(const cpu_set_t *mask, int rank)
{
    int cores[CPU_SETSIZE], n = 0;
    cpu_set_t one;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, mask) && is_core(cpu))
            cores[n++] = cpu;
    if (n == 0 || rank < 0)
        return;
    CPU_ZERO(&one);
    CPU_SET(cores[rank % n], &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        perror("bench: sched_setaffinity");
}

/* ---- Data --------------------------------------------------------------- */

static float pattern(size_t i, int batch)
{
    return (float)(((uint32_t)i + 977u * (uint32_t)batch) * 2654435761u >> 24);
}

static void fill(struct run *r, size_t count)
{
    r->batches++;
    for (size_t i = 0; i < count; i++) {
        r->in[i] = pattern(i, r->batches) + (float)r->rank;
        r->out[i] = -1;
    }
}

static void check(struct run *r, size_t count)
{
    const float p = (float)r->size, ranks = p * (p - 1) / 2;

    for (size_t i = 0; i < count; i++) {
        const float want = p * pattern(i, r->batches) + ranks;

        if (r->out[i] != want) {
            fprintf(stderr,
                    "bench: rank %d: element %zu of %zu is %g, not %g\n",
                    r->rank, i, count, (double)r->out[i], (double)want);
            r->wrong = 1;
            return;
        }
    }
}

/* ---- Timing ------------------------------------------------------------- */

/* The maximum over the ranks, the same number on every rank. */
static double maximum(struct run *r, double value)
{
    float max;

    memset(r->mine, 0, (size_t)r->size * sizeof(float));
    r->mine[r->rank] = (float)value;
    if (r->peer->allreduce(r->mine, r->all, (size_t)r->size))
        die("allreduce");
    max = r->all[0];
    for (int i = 1; i < r->size; i++)
        if (r->all[i] > max)
            max = r->all[i];
    return (double)max;
}

/* Seconds that this rank spends in n operations back to back. */
static double batch(struct run *r, size_t count, long n)
{
    int failed = 0;
    double start, seconds;

    fill(r, count);
    if (r->peer->barrier())
        die("barrier");
    start = now();
    for (long i = 0; i < n; i++)
        failed |= r->peer->allreduce(r->in, r->out, count);
    seconds = now() - start;
    if (failed)
        die("allreduce");
    check(r, count);
    return seconds;
}

/*
 * How many iterations fill the time. Ends after an eighth of the time, or one
 * iteration where that takes longer.
 */
static long calibrate(struct run *r, size_t count)
{
    long n = 1;

    batch(r, count, 1);
    for (;;) {
        const double seconds = maximum(r, batch(r, count, n));
        double fits = MAX_ITERATIONS;

        if (seconds > 0 && r->seconds / seconds * (double)n < fits)
            fits = r->seconds / seconds * (double)n;
        if (seconds >= r->seconds / 8 || n >= MAX_ITERATIONS / 4)
            return fits > MIN_ITERATIONS ? (long)fits : MIN_ITERATIONS;
        n *= fits > 16.0 * (double)n ? 4 : 2;
    }
}

/* Returns whether a result was wrong on any rank. */
static int measure(struct run *r, size_t count)
{
    const long wanted = calibrate(r, count);
    long batches = wanted / BATCH_MIN_ITERATIONS, each, n;
    double seconds = 0;

    if (batches > MAX_BATCHES)
        batches = MAX_BATCHES;
    if (batches < 1)
        batches = 1;
    each = wanted / batches;
    n = each * batches;
    for (long i = 0; i < batches; i++)
        seconds += batch(r, count, each);
    seconds = maximum(r, seconds / (double)n);
    if (maximum(r, r->wrong) > 0 || r->wrong)
        return 1;
    if (r->rank == 0) {
        printf("%zu %zu %ld %.6g\n", count * sizeof(float), count, n, seconds);
        fflush(stdout);
    }
    return 0;
}

/* ---- Main --------------------------------------------------------------- */

static float *allocate(size_t count)
{
    void *memory;

    if (posix_memalign(&memory, 64, count * sizeof(float)))
        die("memory");
    return memory;
}

static void print_header(const struct run *r)
{
    const char *version = r->peer->version();

    printf("# version %.*s\n# ranks %d\n", (int)strcspn(version, "\n"), version,
           r->size);
    fflush(stdout);
}

static int measure_all(struct run *r, const struct options *o)
{
    size_t max = 0;
    int wrong = 0;

    for (int i = 0; i < o->n_sizes; i++)
        if (o->bytes[i] > max)
            max = o->bytes[i];
    r->in = allocate(max / sizeof(float));
    r->out = allocate(max / sizeof(float));
    r->mine = allocate((size_t)r->size);
    r->all = allocate((size_t)r->size);
    if (r->rank == 0)
        print_header(r);
    for (int i = 0; i < o->n_sizes && !wrong; i++)
        wrong = measure(r, o->bytes[i] / sizeof(float));
    return wrong;
}

int loop_main(int argc, char **argv, const struct loop_peer *peer)
{
    struct options o;
    struct run r = {.peer = peer};
    const int early = rank_from_environment();
    cpu_set_t mask;
    int wrong;

    if (parse(argc, argv, &o))
        return 2;
    alarm(o.limit);
    /* before init, so that threads and memory of the library follow */
    o.pin = o.pin && sched_getaffinity(0, sizeof(mask), &mask) == 0;
    if (o.pin)
        pin(&mask, early);
    if (peer->init(&argc, &argv))
        die("init");
    r.rank = peer->rank();
    r.size = peer->size();
    r.seconds = o.seconds;
    if (r.rank < 0 || r.size <= r.rank)
        die("rank");
    if (o.pin && r.rank != early)
        pin(&mask, r.rank);
    wrong = measure_all(&r, &o);
    if (peer->finalize())
        die("finalize");
    free(r.in);
    free(r.out);
    free(r.mine);
    free(r.all);
    return wrong ? 1 : 0;
}
