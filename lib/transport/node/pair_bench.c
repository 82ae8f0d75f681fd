/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads on two cores pass a turn to each other: a line, blocks that one
 * writes and the other one reads, blocks that the kernel reads, and at last the
 * core itself. Each figure is the least of some short samples, as other tasks
 * only make them longer.
 */
#include "transport/node/pair_bench.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/clock.h"

#ifndef MADV_POPULATE_WRITE /* for headers before Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* LINES: two, as a core may fetch them together. BLOCK: as long as a usual
 * chunk. CALL: a page, most of whose time is that of the system call. */
enum {
    LINES = 128,
    BLOCK = 64 << 10,
    CALL = 4 << 10,
    LINE_SAMPLES = 6,
    LINE_PASSES = 32,
    BLOCK_SAMPLES = 6,
    TURN_SAMPLES = 4,
    TURN_PASSES = 8,
    RING_LAPS = 2,
    LARGE_PAGE = 2 << 20,
    TURNS_NS = 500 * 1000, /* at most; a third task keeps the core longer */
    RING_MOST = 4 << 20,
    PASSES_A_LOOK = 256 /* at the clock */
};

struct bench {
    _Alignas(LINES) _Atomic unsigned passes; /* so far, by both threads */
    _Alignas(LINES) _Atomic bool stops;
    bool has_far;
    _Atomic uint64_t until_ns;
    pthread_t thread;
    struct rcx_pair_figures pair; /* read: by the other thread */
    unsigned char *ring; /* in large pages, which take less time to get */
    size_t ring_bytes;   /* in blocks; twice as long as a core's own cache */
    /* Of this thread, and of the other one, in small pages: what the kernel
     * takes for each page counts. */
    _Alignas(LINES) unsigned char here[BLOCK], there[BLOCK];
};

/* One of the threads. passes: those that it expects. */
struct side {
    struct bench *bench;
    unsigned passes;
    unsigned char *own;
};

/* ---- Passing the turn ---------------------------------------------------- */

static void pass(struct side *s)
{
    atomic_store_explicit(&s->bench->passes, ++s->passes, memory_order_release);
}

static bool is_over(struct bench *b)
{
    return atomic_load_explicit(&b->stops, memory_order_relaxed) ||
           rcx_now_ns() > b->until_ns;
}

static bool has_turn(const struct side *s)
{
    return atomic_load_explicit(&s->bench->passes, memory_order_acquire) ==
           s->passes;
}

/* Wait for the other thread to pass. False: it did not in time. */
static bool await(struct side *s)
{
    s->passes++;
    for (unsigned polls = 1; !has_turn(s); polls++)
        if (polls % PASSES_A_LOOK == 0 && is_over(s->bench))
            return false;
    return true;
}

/* The same for a thread on this core. */
static bool await_core(struct side *s)
{
    s->passes++;
    while (!has_turn(s)) {
        if (is_over(s->bench))
            return false;
        sched_yield();
    }
    return true;
}

static void keep_least(double *least, uint64_t since_ns, double divisor)
{
    const double sample = (double)(rcx_now_ns() - since_ns) / divisor;

    if (sample < *least)
        *least = sample;
}

/* ---- What is measured ---------------------------------------------------- */

/* Each part has two sides, which must pass equally often. */
static bool lines_here(struct side *s)
{
    for (int i = 0; i < LINE_SAMPLES; i++) {
        const uint64_t start = rcx_now_ns();

        for (int j = 0; j < LINE_PASSES; j++) {
            pass(s);
            if (!await(s))
                return false;
        }
        keep_least(&s->bench->pair.line, start, 2 * LINE_PASSES);
    }
    return true;
}

static bool lines_there(struct side *s)
{
    for (int i = 0; i < LINE_SAMPLES * LINE_PASSES; i++) {
        if (!await(s))
            return false;
        pass(s);
    }
    return true;
}

/* Blocks of a ring. The other side has read one before this one writes it
 * again. Only the last laps count. */
static bool blocks_here(struct side *s, size_t bytes, int laps, double *least)
{
    unsigned char *const block = s->bench->ring;

    for (int lap = 0; lap < laps; lap++) {
        for (size_t at = 0; at < bytes; at += BLOCK) {
            const uint64_t start = rcx_now_ns();

            memcpy(block + at, s->own, BLOCK);
            if (lap > 0)
                keep_least(least, start, BLOCK);
            pass(s);
            if (!await(s))
                return false;
        }
    }
    return true;
}

static bool blocks_there(struct side *s, size_t bytes, int laps, double *least)
{
    const unsigned char *const block = s->bench->ring;

    for (int lap = 0; lap < laps; lap++) {
        for (size_t at = 0; at < bytes; at += BLOCK) {
            uint64_t start;

            if (!await(s))
                return false;
            start = rcx_now_ns();
            memcpy(s->own, block + at, BLOCK);
            if (lap > 0)
                keep_least(least, start, BLOCK);
            pass(s);
        }
    }
    return true;
}

/* Have the kernel read what the other side has just written. */
static bool kernel_here(struct side *s, size_t bytes, double *least)
{
    for (int i = 0; i < BLOCK_SAMPLES; i++) {
        const struct iovec to = {s->own, bytes};
        const struct iovec from = {s->bench->there, bytes};
        uint64_t start;
        ssize_t done;

        pass(s);
        if (!await(s))
            return false;
        start = rcx_now_ns();
        done = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        if (done == (ssize_t)bytes)
            keep_least(least, start, 1);
    }
    return true;
}

static bool kernel_there(struct side *s)
{
    for (int i = 0; i < 2 * BLOCK_SAMPLES; i++) {
        if (!await(s))
            return false;
        memcpy(s->own, s->bench->ring, BLOCK);
        pass(s);
    }
    return true;
}

static bool kernel_call(struct side *s, struct rcx_node_figures *f)
{
    double block = INFINITY, call = INFINITY;

    if (!kernel_here(s, BLOCK, &block) || !kernel_here(s, CALL, &call))
        return false;
    if (block < INFINITY && call < INFINITY) {
        f->cma_byte = (block - call) / (BLOCK - CALL);
        f->cma_call = call - f->cma_byte * CALL;
    }
    return true;
}

static bool turns_here(struct side *s, double *least)
{
    const uint64_t most_ns = rcx_now_ns() + TURNS_NS;

    if (s->bench->until_ns > most_ns)
        s->bench->until_ns = most_ns;
    for (int i = 0; i < TURN_SAMPLES; i++) {
        const uint64_t start = rcx_now_ns();

        for (int j = 0; j < TURN_PASSES; j++) {
            pass(s);
            if (!await_core(s))
                return false;
        }
        keep_least(least, start, TURN_PASSES);
    }
    return true;
}

static bool turns_there(struct side *s)
{
    for (int i = 0; i < TURN_SAMPLES * TURN_PASSES; i++) {
        if (!await_core(s))
            return false;
        pass(s);
    }
    return true;
}

/* ---- The threads --------------------------------------------------------- */

static bool pair_there(struct side *s)
{
    struct bench *b = s->bench;

    return lines_there(s) &&
           blocks_there(s, BLOCK, BLOCK_SAMPLES, &b->pair.read) &&
           blocks_there(s, b->ring_bytes, RING_LAPS, &b->pair.read_out);
}

static void *other_thread(void *arg)
{
    struct bench *b = arg;
    struct side s = {.bench = b, .own = b->there};
    bool good = await(&s);

    if (good)
        pass(&s); /* it runs */
    good = good && pair_there(&s) && kernel_there(&s) &&
           (!b->has_far || pair_there(&s));
    if (good)
        turns_there(&s);
    return NULL;
}

static void only(cpu_set_t *cpus, int cpu)
{
    CPU_ZERO(cpus);
    CPU_SET((size_t)cpu, cpus);
}

static bool move(pthread_t thread, int cpu)
{
    cpu_set_t cpus;

    only(&cpus, cpu);
    return pthread_setaffinity_np(thread, sizeof cpus, &cpus) == 0;
}

/* Signals belong to the host's threads. */
static bool start(struct bench *b, int cpu)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    cpu_set_t cpus;
    bool good;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    only(&cpus, cpu);
    pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    good = pthread_create(&b->thread, &attributes, other_thread, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return good;
}

/* A thread that does not get its core could be waited for without end. It is
 * moved here, where this thread lets it run by waiting for it. */
static void stop(struct bench *b, int here)
{
    atomic_store(&b->stops, true);
    move(b->thread, here);
    pthread_join(b->thread, NULL);
}

static bool pair_here(struct side *s, struct rcx_pair_figures *pair)
{
    struct bench *b = s->bench;

    b->pair = (struct rcx_pair_figures){INFINITY, INFINITY, INFINITY, INFINITY,
                                        INFINITY};
    if (!lines_here(s) ||
        !blocks_here(s, BLOCK, BLOCK_SAMPLES, &b->pair.write) ||
        !blocks_here(s, b->ring_bytes, RING_LAPS, &b->pair.write_out))
        return false;
    *pair = b->pair;
    return true;
}

/* Figures are stored as they come, so what is there when time is over stays. */
static bool measure(struct bench *b, const struct rcx_bench_cores *cores,
                    struct rcx_node_figures *f)
{
    struct side s = {.bench = b, .own = b->here};
    double turn = INFINITY;

    pass(&s);
    if (!await(&s) || !pair_here(&s, &f->near))
        return false;
    f->origin = RCX_FIGURES_MEASURED;
    f->far_is_near = true;
    if (!kernel_call(&s, f))
        return false;
    if (cores->far >= 0) {
        if (!move(b->thread, cores->far) || !pair_here(&s, &f->far))
            return false;
        f->far_is_near = false;
    }
    if (!move(b->thread, cores->here) || !turns_here(&s, &turn))
        return false;
    f->turn = turn;
    return true;
}

static size_t ring_for(uint64_t own)
{
    const size_t ring = 2 * own < RING_MOST ? 2 * (size_t)own : RING_MOST;

    return ring < BLOCK ? BLOCK : ring - ring % BLOCK;
}

/* Touching all pages at once takes a part of the time of one at a time. */
static void *get_pages(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* *all_p: to be unmapped, of bytes + LARGE_PAGE. */
static unsigned char *get_large_pages(size_t bytes, void **all_p)
{
    const uintptr_t part = LARGE_PAGE - 1;
    void *all = mmap(NULL, bytes + LARGE_PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned char *at;

    if (all == MAP_FAILED)
        return NULL;
    *all_p = all;
    at = (unsigned char *)(((uintptr_t)all + part) & ~part);
    madvise(at, bytes, MADV_HUGEPAGE);
    if (madvise(at, bytes, MADV_POPULATE_WRITE) != 0)
        memset(at, 0, bytes);
    return at;
}

static enum rcx_figures_reason run(struct bench *b,
                                   const struct rcx_bench_cores *cores,
                                   struct rcx_node_figures *f)
{
    enum rcx_figures_reason reason;

    if (!start(b, cores->near))
        return RCX_FIGURES_NO_THREAD;
    reason = measure(b, cores, f) ? RCX_FIGURES_GOOD : RCX_FIGURES_LATE;
    stop(b, cores->here);
    return reason;
}

enum rcx_figures_reason rcx_bench_run(const struct rcx_bench_cores *cores,
                                      uint64_t until_ns,
                                      struct rcx_node_figures *f)
{
    enum rcx_figures_reason reason = RCX_FIGURES_NO_MEMORY;
    const size_t bytes = ring_for(f->own);
    struct bench *b = get_pages(sizeof *b);
    void *all;

    if (!b)
        return reason;
    b->ring_bytes = bytes;
    b->has_far = cores->far >= 0;
    b->until_ns = until_ns;
    b->ring = get_large_pages(bytes, &all);
    if (b->ring) {
        reason = run(b, cores, f);
        munmap(all, bytes + LARGE_PAGE);
    }
    munmap(b, sizeof *b);
    return reason;
}

/* ---- Cores --------------------------------------------------------------- */

/* The next cpu of a set behind cpu, in a circle; -1: it is empty. */
static int next_of(const cpu_set_t *cpus, int cpu)
{
    for (int i = 1; i <= CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)((cpu + i) % CPU_SETSIZE), cpus))
            return (cpu + i) % CPU_SETSIZE;
    return -1;
}

/* The next allowed cpu that is in a level, or that is not; preferred ones come
 * first. -1: none, or the level is not known. */
static int choose(int here, const cpu_set_t *allowed,
                  const cpu_set_t *preferred, const cpu_set_t *level,
                  bool is_in_level)
{
    cpu_set_t both, first;

    if (CPU_COUNT(level) == 0)
        return -1;
    CPU_AND(&both, allowed, level);
    if (!is_in_level)
        CPU_XOR(&both, &both, allowed);
    CPU_AND(&first, &both, preferred);
    return next_of(CPU_COUNT(&first) > 0 ? &first : &both, here);
}

struct rcx_bench_cores rcx_bench_choose(int here,
                                        const struct rcx_cpu_levels *l,
                                        const cpu_set_t *allowed,
                                        const cpu_set_t *preferred)
{
    const cpu_set_t *const inwards[] = {&l->socket, &l->numa, &l->cache};
    struct rcx_bench_cores cores = {.here = here, .near = -1, .far = -1};
    cpu_set_t others, core = l->core;

    CPU_SET((size_t)here, &core);
    CPU_AND(&others, allowed, &core);
    CPU_XOR(&others, &others, allowed); /* allowed, on other cores */
    for (int i = 2; i >= 0 && cores.near < 0; i--)
        cores.near = choose(here, &others, preferred, inwards[i], true);
    if (cores.near < 0)
        cores.near = choose(here, &others, preferred, &others, true);
    for (int i = 0; i < 3 && cores.far < 0; i++)
        cores.far = choose(here, &others, preferred, inwards[i], false);
    if (cores.far == cores.near)
        cores.far = -1;
    return cores;
}
