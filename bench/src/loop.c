/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop that RCX and its peers share.
 *
 * For each size: a warm-up, a calibration that chooses how many iterations fill
 * the time, then the iterations in a few batches. Each batch starts with new
 * data and a barrier, and runs back to back. After another barrier every
 * element of its last result is checked. A rank's time per operation is the
 * average over all batches; the time reported is the maximum over ranks.
 *
 * All ranks must agree on the number of iterations and on the maximum. They use
 * an allreduce of the library under test: it sums a vector with one element per
 * rank, in which each rank sets only its own, and every rank takes the maximum
 * of the sum.
 *
 * Data are small integers, so sums are exact in any order and bracketing.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "colls.h"
#include "loop.h"
#include "options.h"
#include "pin.h"

enum {
    GAP = 16, /* elements between vectors of a list */
    MAX_BATCHES = 4,
    BATCH_MIN_ITERATIONS = 8, /* fewer would measure the barrier's skew */
    MIN_ITERATIONS = 3,
    MAX_ITERATIONS = 10000000
};

struct run {
    const struct loop_peer *peer;
    int rank, size;
    double seconds; /* to measure each size */
    size_t vectors;
    int uneven;
    struct loop_call call; /* of the current size */
    float *in, *out;
    size_t *counts, *displs; /* of blocks; displs has their sum as well */
    float *mine, *all;       /* scratch of maximum(), one element per rank */
    int batches;             /* number of batches so far; data depend on it */
    int wrong;               /* a result was wrong on this rank */
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

/* ---- Blocks -------------------------------------------------------------- */

static int partner_of(const struct run *r)
{
    return (r->rank + r->size / 2) % r->size;
}

/* Elements of block i of a rank. In alltoallv, two ranks' blocks for each other
 * have the same length. */
static size_t block_count(const struct run *r, size_t count, int rank, int i)
{
    const size_t more = count / 2;

    if (r->call.coll == LOOP_SENDRECV)
        return i == (rank + r->size / 2) % r->size ? count : 0;
    if (!r->uneven || !loop_colls[r->call.coll].has_counts)
        return count;
    if (loop_colls[r->call.coll].is_local)
        i += rank;
    return i % 2 ? count + more : count - more;
}

/* Elements of a vector, of all blocks, or of this rank's block. */
static size_t extent_count(const struct run *r, enum loop_extent extent,
                           size_t count)
{
    switch (extent) {
    case LOOP_BLOCKS: return r->displs[r->size];
    case LOOP_BLOCK: return r->counts[r->rank];
    default: return count;
    }
}

/* ---- Data ---------------------------------------------------------------- */

static float pattern(size_t i, int batch)
{
    return (float)(((uint32_t)i + 977u * (uint32_t)batch) * 2654435761u >> 24);
}

static void fill(struct run *r)
{
    r->batches++;
    for (size_t i = 0; i < r->call.in_count; i++)
        r->in[i] = pattern(i, r->batches) + (float)r->rank;
    for (size_t i = 0; i < r->call.out_count; i++)
        r->out[i] = -1;
}

/* The expected element i of the result. */
static float expected(const struct run *r, const struct loop_shape *s, size_t i)
{
    const struct loop_coll_row *row = &loop_colls[r->call.coll];
    const struct loop_expected e = row->expect(s, i);
    size_t own = 0;

    /* local counts: the index is within the sender's operand, so add its blocks
     * before this rank's */
    for (int k = 0; row->is_local && k < r->rank; k++)
        own += block_count(r, r->call.count, e.lo, k);

    const float n = (float)(e.hi - e.lo), ranks = n * (float)(e.lo + e.hi - 1);

    return n * pattern(e.index + own, r->batches) + ranks / 2;
}

/* Whether element i is in a gap between vectors of a list, which nothing
 * writes. */
static int is_gap(const struct run *r, size_t i)
{
    return r->call.n > 0 && i % (r->call.count + GAP) >= r->call.count;
}

static void check(struct run *r)
{
    const struct loop_shape s = {
        .rank = r->rank, .size = r->size, .displs = r->displs};
    const size_t count =
        loop_coll_gets(r->call.coll, r->rank) ? r->call.out_count : 0;

    for (size_t i = 0; i < count; i++) {
        const float want = is_gap(r, i) ? -1 : expected(r, &s, i);

        if (r->out[i] != want) {
            fprintf(stderr,
                    "bench: rank %d: %s: element %zu of %zu is %g, not %g\n",
                    r->rank, loop_colls[r->call.coll].name, i, count,
                    (double)r->out[i], (double)want);
            r->wrong = 1;
            return;
        }
    }
}

/* ---- Timing -------------------------------------------------------------- */

/* The maximum over the ranks, the same number on every rank. */
static double maximum(struct run *r, double value)
{
    float max;

    memset(r->mine, 0, (size_t)r->size * sizeof(float));
    r->mine[r->rank] = (float)value;
    if (r->peer->colls[LOOP_ALLREDUCE](
            &(struct loop_call){.coll = LOOP_ALLREDUCE,
                                .in = r->mine,
                                .out = r->all,
                                .count = (size_t)r->size,
                                .in_count = (size_t)r->size,
                                .out_count = (size_t)r->size}))
        die("allreduce");
    max = r->all[0];
    for (int i = 1; i < r->size; i++)
        if (r->all[i] > max)
            max = r->all[i];
    return (double)max;
}

static void meet(const struct run *r)
{
    if (r->peer->colls[LOOP_BARRIER](&(struct loop_call){.coll = LOOP_BARRIER}))
        die("barrier");
}

/* Run n operations back to back, and return the seconds that this rank spends.
 * Results are checked after a barrier, as another rank may still run its
 * operations on the same core. */
static double batch(struct run *r, long n)
{
    int (*const call)(const struct loop_call *) = r->peer->colls[r->call.coll];
    int failed = 0;
    double start, seconds;

    fill(r);
    meet(r);
    start = now();
    for (long i = 0; i < n; i++)
        failed |= call(&r->call);
    seconds = now() - start;
    if (failed)
        die(loop_colls[r->call.coll].name);
    meet(r);
    check(r);
    return seconds;
}

/*
 * Choose how many iterations fill the time. This takes an eighth of the time,
 * or one iteration if that is longer.
 */
static long calibrate(struct run *r)
{
    long n = 1;

    batch(r, 1);
    for (;;) {
        const double seconds = maximum(r, batch(r, n));
        double fits = MAX_ITERATIONS;

        if (seconds > 0 && r->seconds / seconds * (double)n < fits)
            fits = r->seconds / seconds * (double)n;
        if (seconds >= r->seconds / 8 || n >= MAX_ITERATIONS / 4)
            return fits > MIN_ITERATIONS ? (long)fits : MIN_ITERATIONS;
        n *= fits > 16.0 * (double)n ? 4 : 2;
    }
}

/* Measure the current size. Returns whether a result was wrong on any rank. */
static int measure(struct run *r)
{
    const long wanted = calibrate(r);
    long batches = wanted / BATCH_MIN_ITERATIONS, each, n;
    double seconds = 0;

    if (batches > MAX_BATCHES)
        batches = MAX_BATCHES;
    if (batches < 1)
        batches = 1;
    each = wanted / batches;
    n = each * batches;
    for (long i = 0; i < batches; i++)
        seconds += batch(r, each);
    if (r->call.coll == LOOP_SENDRECV)
        seconds /= 2;
    seconds = maximum(r, seconds / (double)n);
    if (maximum(r, r->wrong) > 0 || r->wrong)
        return 1;
    if (r->rank == 0) {
        printf("%zu %zu %ld %.6g\n", r->call.count * sizeof(float),
               r->call.count, n, seconds);
        fflush(stdout);
    }
    return 0;
}

/* The first call of all: buffers are filled, and ranks have not met. */
static void measure_first(struct run *r, size_t calls)
{
    int (*const call)(const struct loop_call *) = r->peer->colls[r->call.coll];
    double *seconds = calloc(calls, sizeof *seconds);
    int failed = 0;

    if (!seconds)
        die("memory");
    fill(r);
    for (size_t i = 0; i < calls; i++) {
        const double start = now();

        failed |= call(&r->call);
        seconds[i] = now() - start;
    }
    if (failed)
        die(loop_colls[r->call.coll].name);
    for (size_t i = 0; r->rank == 0 && i < calls; i++)
        printf("%zu %zu 1 %.6g\n", r->call.count * sizeof(float), i + 1,
               seconds[i]);
    free(seconds);
}

/* ---- Main ---------------------------------------------------------------- */

static void *allocate(size_t count, size_t bytes)
{
    void *memory;

    if (posix_memalign(&memory, 64, count * bytes + 64))
        die("memory");
    return memory;
}

/* Allocate a buffer that the library reads or writes. */
static void *buffer(const struct loop_peer *peer, size_t count, size_t bytes)
{
    void *memory = peer->memory ? peer->memory(count * bytes + 64)
                                : allocate(count, bytes);

    if (!memory)
        die("memory");
    return memory;
}

static void release(const struct run *r)
{
    if (!r->peer->memory) {
        free(r->in);
        free(r->out);
        free(r->mine);
        free(r->all);
    }
    free(r->counts);
    free(r->displs);
}

/* Set up the call for vectors, or blocks, of count elements. */
static void prepare(struct run *r, enum loop_coll coll, size_t count)
{
    const struct loop_coll_row *row = &loop_colls[coll];
    const size_t n = coll == LOOP_ALLREDUCE_MANY ? r->vectors : 0;
    const size_t vector = n ? n * (count + GAP) : count;
    const int partner = partner_of(r);

    r->call.coll = coll;
    r->displs[0] = 0;
    for (int i = 0; i < r->size; i++) {
        r->counts[i] = block_count(r, count, r->rank, i);
        r->displs[i + 1] = r->displs[i] + r->counts[i];
    }
    r->call =
        (struct loop_call){.coll = coll,
                           .in = r->in,
                           .out = r->out,
                           .count = count,
                           .in_count = extent_count(r, row->gives, vector),
                           .out_count = extent_count(r, row->gets, vector),
                           .counts = r->counts,
                           .displs = r->displs,
                           .n = n,
                           .partner = partner,
                           .sends_first = r->rank < partner};
    for (size_t i = 0; i < n; i++) {
        r->call.ins[i] = r->in + i * (count + GAP);
        r->call.outs[i] = r->out + i * (count + GAP);
    }
}

static void print_header(const struct run *r, const struct pin_cpus *cpus)
{
    const char *version = r->peer->version();

    printf("# version %.*s\n# ranks %d\n# cores %d of %d threads\n",
           (int)strcspn(version, "\n"), version, r->size, cpus->cores,
           cpus->threads);
    fflush(stdout);
}

static int lacks(const struct run *r, enum loop_coll coll)
{
    return !r->peer->colls[coll] || (coll == LOOP_SENDRECV && r->size % 2 != 0);
}

/* Bytes that a buffer of the collective takes at a size; 0: the size is left
 * out. */
static size_t buffer_bytes(const struct run *r, const struct loop_options *o,
                           enum loop_coll coll, size_t bytes)
{
    const size_t ranks = (size_t)r->size;

    if (coll == LOOP_ALLREDUCE_MANY)
        return o->vectors * (bytes + GAP * sizeof(float));
    if (!loop_coll_has_blocks(coll))
        return bytes;
    /* a block of each rank, up to 1.5 times as long */
    return o->total && bytes * ranks > o->total ? 0 : bytes * 2 * ranks;
}

static void allocate_all(struct run *r, const struct loop_options *o)
{
    const size_t ranks = (size_t)r->size;
    size_t max = 0;

    for (int k = 0; k < o->n_colls; k++)
        for (int i = 0; i < o->n_sizes; i++) {
            const size_t bytes = buffer_bytes(r, o, o->colls[k], o->bytes[i]);

            if (bytes > max)
                max = bytes;
        }
    r->in = buffer(r->peer, max, 1);
    r->out = buffer(r->peer, max, 1);
    r->mine = buffer(r->peer, ranks, sizeof(float));
    r->all = buffer(r->peer, ranks, sizeof(float));
    r->counts = allocate(ranks, sizeof(size_t));
    r->displs = allocate(ranks + 1, sizeof(size_t));
}

/* Measure a collective at all sizes. Returns whether a result was wrong. */
static int measure_coll(struct run *r, const struct loop_options *o,
                        enum loop_coll coll)
{
    const int has_data = loop_colls[coll].gives != LOOP_NONE;
    int wrong = 0;

    if (r->rank == 0)
        printf("# %s %s\n", lacks(r, coll) ? "lacks" : "coll",
               loop_colls[coll].name);
    if (lacks(r, coll))
        return 0;
    for (int i = 0; i < (has_data ? o->n_sizes : 1) && !wrong; i++) {
        const size_t bytes = has_data ? o->bytes[i] : 0;

        if (has_data && buffer_bytes(r, o, coll, bytes) == 0)
            continue;
        prepare(r, coll, bytes / sizeof(float));
        if (o->first)
            measure_first(r, o->first);
        else
            wrong = measure(r);
    }
    return wrong;
}

/* Returns the exit status. */
static int measure_all(struct run *r, const struct loop_options *o)
{
    int lacking = 0, wrong = 0;

    allocate_all(r, o);
    for (int k = 0; k < o->n_colls && !wrong; k++) {
        lacking += lacks(r, o->colls[k]);
        wrong = measure_coll(r, o, o->colls[k]);
    }
    return wrong ? 1 : lacking == o->n_colls ? LOOP_LACKS : 0;
}

static int has_any(const struct loop_peer *peer, const struct loop_options *o)
{
    for (int k = 0; k < o->n_colls; k++)
        if (peer->colls[o->colls[k]])
            return 1;
    return 0;
}

int loop_main(int argc, char **argv, const struct loop_peer *peer)
{
    struct loop_options o;
    struct run r = {.peer = peer};
    struct pin_cpus cpus;
    const int early = pin_rank();
    int status;

    if (loop_options_parse(argc, argv, &o))
        return 2;
    if (!has_any(peer, &o))
        return LOOP_LACKS;
    alarm(o.limit);
    pin_cpus_find(&cpus);
    /* before init(), so that threads and memory of the library are placed
     * there */
    if (o.pin)
        pin_to(&cpus, early);
    if (peer->init(&argc, &argv))
        die("init");
    r.rank = peer->rank();
    r.size = peer->size();
    r.seconds = o.seconds;
    r.vectors = o.vectors;
    r.uneven = o.uneven;
    if (r.rank < 0 || r.size <= r.rank)
        die("rank");
    if (o.pin && r.rank != early)
        pin_to(&cpus, r.rank);
    if (r.rank == 0)
        print_header(&r, &cpus);
    status = measure_all(&r, &o);
    if (peer->finalize())
        die("finalize");
    release(&r);
    return status;
}
