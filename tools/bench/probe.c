/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_probe: how far the cores of ranks 0 and 1 are from each other now, in
 * nanoseconds that handing over a line takes. A virtual machine's cores may
 * change between near and far ones for seconds at a time.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "pin.h"

enum { WARM = 2000, HAND_OVERS = 20000 };

static _Alignas(128) _Atomic int line;
static struct pin_cpus cpus;

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Waits for the numbers of its turn, and passes the next one on. Returns when
 * it was warm. */
static double hand_over(int turn)
{
    double begin = 0;

    for (int i = turn; i < 2 * (WARM + HAND_OVERS); i += 2) {
        while (atomic_load_explicit(&line, memory_order_acquire) != i)
            continue;
        if (i == 2 * WARM)
            begin = now_ns();
        atomic_store_explicit(&line, i + 1, memory_order_release);
    }
    return begin;
}

static void *answer(void *arg)
{
    pin_to(&cpus, 1);
    hand_over(1);
    return arg;
}

int main(void)
{
    pthread_t other;
    double begin;

    pin_cpus_find(&cpus);
    if (cpus.threads < 2) {
        fprintf(stderr, "bench_probe: there is one core\n");
        return 1;
    }
    pin_to(&cpus, 0);
    if (pthread_create(&other, NULL, answer, NULL) != 0) {
        fprintf(stderr, "bench_probe: no thread\n");
        return 1;
    }
    begin = hand_over(0);
    pthread_join(other, NULL);
    printf("%.1f\n", (now_ns() - begin) / (2 * HAND_OVERS));
    return 0;
}
