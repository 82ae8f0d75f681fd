/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency of RCX's collectives and of OSHMEM's own, measured in turns, as OSU's
 * oshm benchmarks do. Prints the medians of ROUNDS rounds in microseconds:
 *
 *   oshrun -n 2 -x LD_PRELOAD=librcx_shmem.so latency [ROUNDS]
 */
#include <pshmem.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 101, LONGEST = 1 << 20, SYNCS = 4 };

static long syncs[SYNCS][SHMEM_SYNC_SIZE];
static float *source, *target, *work;
static int size; /* bytes */

#define PAIR(name, ours, twin)                                                 \
    static void name##_ours(long *sync)                                        \
    {                                                                          \
        (void)sync;                                                            \
        ours;                                                                  \
    }                                                                          \
    static void name##_twin(long *sync)                                        \
    {                                                                          \
        (void)sync;                                                            \
        twin;                                                                  \
    }

PAIR(barrier, shmem_barrier_all(), pshmem_barrier_all())
PAIR(broadcast,
     shmem_broadcast32(target, source, (size_t)size / 4, 0, 0, 0, shmem_n_pes(),
                       sync),
     pshmem_broadcast32(target, source, (size_t)size / 4, 0, 0, 0,
                        shmem_n_pes(), sync))
PAIR(fcollect,
     shmem_fcollect32(target, source, (size_t)size / 4, 0, 0, shmem_n_pes(),
                      sync),
     pshmem_fcollect32(target, source, (size_t)size / 4, 0, 0, shmem_n_pes(),
                       sync))
PAIR(sum,
     shmem_float_sum_to_all(target, source, size / 4, 0, 0, shmem_n_pes(), work,
                            sync),
     pshmem_float_sum_to_all(target, source, size / 4, 0, 0, shmem_n_pes(),
                             work, sync))

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Microseconds of a call, as the mean of so many calls in a row. */
static double measure(void (*call)(long *sync), int times)
{
    double begin;

    pshmem_barrier_all();
    begin = now();
    for (int i = 0; i < times; i++)
        call(syncs[i % SYNCS]);
    return (now() - begin) / times;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void compare(const char *name, void (*ours)(long *),
                    void (*twin)(long *), int rounds)
{
    const int times = size > 65536 ? 5 : 200;
    double a[ROUNDS], b[ROUNDS];

    for (int i = 0; i < rounds; i++) {
        a[i] = measure(ours, times);
        b[i] = measure(twin, times);
    }
    qsort(a, (size_t)rounds, sizeof *a, by_value);
    qsort(b, (size_t)rounds, sizeof *b, by_value);
    if (shmem_my_pe() == 0)
        printf("%-10s %8d %10.2f %10.2f %6.2f\n", name, size, a[rounds / 2],
               b[rounds / 2], a[rounds / 2] / b[rounds / 2]);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 11;

    shmem_init();
    if (rounds < 1 || rounds > ROUNDS)
        return 2;
    source = shmem_malloc(LONGEST);
    work = shmem_malloc(LONGEST);
    target = shmem_malloc((size_t)LONGEST * (size_t)shmem_n_pes());
    memset(source, 0, LONGEST);
    for (int i = 0; i < SYNCS; i++)
        for (int j = 0; j < SHMEM_SYNC_SIZE; j++)
            syncs[i][j] = SHMEM_SYNC_VALUE;
    if (shmem_my_pe() == 0)
        printf("%-10s %8s %10s %10s %6s\n", "us", "bytes", "RCX", "OSHMEM",
               "ratio");
    shmem_barrier_all();
    compare("barrier", barrier_ours, barrier_twin, rounds);
    for (size = 8; size <= LONGEST; size *= size < 4096 ? 512 : 16) {
        compare("broadcast", broadcast_ours, broadcast_twin, rounds);
        compare("fcollect", fcollect_ours, fcollect_twin, rounds);
        compare("sum", sum_ours, sum_twin, rounds);
    }
    shmem_finalize();
    return 0;
}
