/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_probe: how far the cores of ranks 0 and 1 are from each other now, in
 * nanoseconds that handing over a line takes; "busy" if they do not say. A
 * virtual machine's cores may change between near and far ones for seconds at a
 * time.
 *
 * Two threads on the two cores pass a turn to each other. The time is the least
 * of some short samples, as other tasks only make them longer.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "pin.h"

/* LINES: two, as a core may fetch them together. */
enum {
    LINES = 128,
    SAMPLES = 6,
    PASSES = 32,
    PASSES_A_LOOK = 256, /* at the clock */
    LIMIT_NS = 20000000
};

static struct {
    _Alignas(LINES) _Atomic unsigned passes; /* so far, by both threads */
    _Alignas(LINES) _Atomic bool stops;
    struct pin_cpus cpus;
    int64_t until_ns;
} shared;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* passes: those that this thread expects. */
static void pass(unsigned *passes)
{
    atomic_store_explicit(&shared.passes, ++*passes, memory_order_release);
}

static bool has_turn(unsigned passes)
{
    return atomic_load_explicit(&shared.passes, memory_order_acquire) == passes;
}

static bool is_over(void)
{
    return atomic_load_explicit(&shared.stops, memory_order_relaxed) ||
           now_ns() > shared.until_ns;
}

/* Wait for the other thread to pass. False: it did not in time. */
static bool await(unsigned *passes)
{
    ++*passes;
    for (unsigned polls = 1; !has_turn(*passes); polls++)
        if (polls % PASSES_A_LOOK == 0 && is_over())
            return false;
    return true;
}

static void *other_thread(void *arg)
{
    unsigned passes = 0;

    (void)arg;
    pin_to(&shared.cpus, 1);
    /* one pass more, with which it says that it runs */
    for (int i = 0; i < 1 + SAMPLES * PASSES; i++) {
        if (!await(&passes))
            break;
        pass(&passes);
    }
    return NULL;
}

/* Nanoseconds of a pass; INFINITY: time was over. */
static double measure(void)
{
    unsigned passes = 0;
    double least = INFINITY;

    pass(&passes);
    if (!await(&passes))
        return INFINITY;
    for (int i = 0; i < SAMPLES; i++) {
        const int64_t start = now_ns();
        double sample;

        for (int j = 0; j < PASSES; j++) {
            pass(&passes);
            if (!await(&passes))
                return INFINITY;
        }
        sample = (double)(now_ns() - start) / (2 * PASSES);
        least = sample < least ? sample : least;
    }
    return least;
}

int main(void)
{
    pthread_t thread;
    double ns;

    pin_cpus_find(&shared.cpus);
    if (shared.cpus.threads < 2) {
        fprintf(stderr, "bench_probe: there is one core\n");
        return 1;
    }
    shared.until_ns = now_ns() + LIMIT_NS;
    if (pthread_create(&thread, NULL, other_thread, NULL) != 0) {
        fprintf(stderr, "bench_probe: there is no thread\n");
        return 1;
    }
    pin_to(&shared.cpus, 0);
    ns = measure();
    atomic_store(&shared.stops, true);
    pthread_join(thread, NULL);
    if (ns < INFINITY)
        printf("%.1f\n", ns);
    else
        puts("busy");
    return 0;
}
