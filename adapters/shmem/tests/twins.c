/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compare every collective with its pshmem_ twin, on all processes and on
 * active sets with strides. With the library preloaded, shmem_ functions are
 * RCX's, and pshmem_ functions are OSHMEM's own.
 */
#include <complex.h>
#include <dlfcn.h>
#include <shmem.h>
#include <pshmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, ROOM = 1 << 16 };

static long syncs[8][SHMEM_SYNC_SIZE];
static char work[ROOM], source[ROOM], mine[ROOM], other[ROOM];
static int failures, compared;

struct set {
    int start, log_stride, size;
};

/* One of eight sync arrays, in turn: SHMEM forbids immediate reuse. */
static long *sync_array(void)
{
    static int next;

    return syncs[next++ % 8];
}

static bool is_member(const struct set *s)
{
    const int place = shmem_my_pe() - s->start;

    return place >= 0 && place % (1 << s->log_stride) == 0 &&
           place >> s->log_stride < s->size;
}

static void compare(const char *name, const struct set *s, size_t bytes)
{
    compared++;
    if (memcmp(mine, other, bytes) == 0)
        return;
    failures++;
    printf("PE %d: %s differs from its twin on %d, %d, %d\n", shmem_my_pe(),
           name, s->start, s->log_stride, s->size);
}

static void begin(size_t bytes)
{
    pshmem_barrier_all();
    memset(mine, 0x55, bytes);
    memset(other, 0x55, bytes);
    pshmem_barrier_all(); /* before other processes put there */
}

/* Values are small integers, so that each order of a sum has the same bits. */
#define REDUCTION(name, ctype, op)                                             \
    static void name##_##op(const struct set *s)                               \
    {                                                                          \
        const int count = 1 + 37 * (s->size % 3);                              \
                                                                               \
        for (int i = 0; i < count; i++)                                        \
            ((ctype *)source)[i] = (ctype)((shmem_my_pe() * 7 + i) % 3 + 1);   \
        begin(sizeof(ctype) * MOST * 2);                                       \
        if (!is_member(s))                                                     \
            return;                                                            \
        pshmem_##name##_##op##_to_all((ctype *)other, (ctype *)source, count,  \
                                      s->start, s->log_stride, s->size,        \
                                      (ctype *)work, sync_array());            \
        shmem_##name##_##op##_to_all((ctype *)mine, (ctype *)source, count,    \
                                     s->start, s->log_stride, s->size,         \
                                     (ctype *)work, sync_array());             \
        for (int i = 0; i < count; i++) /* padding is not compared */          \
            if (((ctype *)mine)[i] == ((ctype *)other)[i])                     \
                memcpy(&((ctype *)mine)[i], &((ctype *)other)[i],              \
                       sizeof(ctype));                                         \
        compare("shmem_" #name "_" #op "_to_all", s,                           \
                sizeof(ctype) * (size_t)count);                                \
    }
#define SUMS(name, ctype)                                                      \
    REDUCTION(name, ctype, sum) REDUCTION(name, ctype, prod)
#define REALS(name, ctype)                                                     \
    SUMS(name, ctype) REDUCTION(name, ctype, max) REDUCTION(name, ctype, min)
#define INTEGERS(name, ctype)                                                  \
    REALS(name, ctype)                                                         \
    REDUCTION(name, ctype, and)                                                \
    REDUCTION(name, ctype, or) REDUCTION(name, ctype, xor)

INTEGERS(short, short)
INTEGERS(int, int)
INTEGERS(long, long)
INTEGERS(longlong, long long)
REALS(float, float)
REALS(double, double)
REALS(longdouble, long double)
SUMS(complexf, float _Complex)
SUMS(complexd, double _Complex)

/* All have 13 elements, except collect: its number depends on the process. */
#define MOVEMENT(bits, name, count, root_argument, strides)                    \
    static void name##bits(const struct set *s)                                \
    {                                                                          \
        for (int i = 0; i < ROOM / 8; i++)                                     \
            ((uint##bits##_t *)source)[i] =                                    \
                (uint##bits##_t)(shmem_my_pe() * 4096 + i);                    \
        begin(ROOM);                                                           \
        if (!is_member(s))                                                     \
            return;                                                            \
        pshmem_##name##bits(other, source, strides count,                      \
                            root_argument s->start, s->log_stride, s->size,    \
                            sync_array());                                     \
        shmem_##name##bits(mine, source, strides count,                        \
                           root_argument s->start, s->log_stride, s->size,     \
                           sync_array());                                      \
        compare("shmem_" #name #bits, s, ROOM);                                \
    }
#define NONE
#define ROOT s->size - 1,
#define STRIDES 2, 3,
#define MOVEMENTS(bits)                                                        \
    MOVEMENT(bits, broadcast, 13, ROOT, NONE)                                  \
    MOVEMENT(bits, fcollect, 13, NONE, NONE)                                   \
    MOVEMENT(bits, collect, (size_t)shmem_my_pe() % 5 + (s->size == 1), NONE,  \
             NONE)                                                             \
    MOVEMENT(bits, alltoall, 13, NONE, NONE)                                   \
    MOVEMENT(bits, alltoalls, 13, NONE, STRIDES)

MOVEMENTS(32)
MOVEMENTS(64)

#define SUM_TESTS(name) name##_sum, name##_prod
#define REAL_TESTS(name) SUM_TESTS(name), name##_max, name##_min
#define INTEGER_TESTS(name) REAL_TESTS(name), name##_and, name##_or, name##_xor

static void (*const tests[])(const struct set *s) = {
    INTEGER_TESTS(short),
    INTEGER_TESTS(int),
    INTEGER_TESTS(long),
    INTEGER_TESTS(longlong),
    REAL_TESTS(float),
    REAL_TESTS(double),
    REAL_TESTS(longdouble),
    SUM_TESTS(complexf),
    SUM_TESTS(complexd),
    broadcast32,
    fcollect32,
    collect32,
    alltoall32,
    alltoalls32,
    broadcast64,
    fcollect64,
    collect64,
    alltoall64,
    alltoalls64,
};

/* Check that a barrier completes puts, and that no process leaves it before the
 * last one has entered. Calls sync, too. */
static void barriers(const struct set *s, bool of_all)
{
    static long flags[MOST];
    const int n = shmem_n_pes();

    pshmem_barrier_all();
    memset(flags, 0, sizeof flags);
    pshmem_barrier_all();
    if (!is_member(s))
        return;
    for (int i = 0; i < s->size; i++)
        shmem_long_p(&flags[shmem_my_pe()], 1, s->start + (i << s->log_stride));
    if (of_all)
        shmem_barrier_all();
    else
        shmem_barrier(s->start, s->log_stride, s->size, sync_array());
    for (int i = 0; i < s->size; i++)
        failures += flags[s->start + (i << s->log_stride)] != 1;
    compared++;
    if (of_all && n > 0)
        shmem_sync_all();
    else
        shmem_sync(s->start, s->log_stride, s->size, sync_array());
}

int main(void)
{
    Dl_info where;
    int total[2];

    shmem_init();
    const int n = shmem_n_pes();
    const struct set sets[] = {
        {0, 0, n},
        {n - 1, 0, 1},
        {0, 1, (n + 1) / 2},
        {n > 1, 1, n > 1 ? n / 2 : 1},
        {n > 2, 0, n > 2 ? n - 2 : 1},
        {0, 1, (n + 1) / 2},
    };

    if (!dladdr(dlsym(RTLD_DEFAULT, "shmem_barrier_all"), &where) ||
        !strstr(where.dli_fname, "rcx_shmem"))
        failures++;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < SHMEM_SYNC_SIZE; j++)
            syncs[i][j] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        for (size_t t = 0; t < sizeof tests / sizeof *tests; t++)
            tests[t](&sets[i]);
        barriers(&sets[i], i == 0);
    }
    /* in place */
    ((int *)mine)[0] = shmem_my_pe();
    shmem_int_sum_to_all((int *)mine, (int *)mine, 1, 0, 0, n, (int *)work,
                         sync_array());
    failures += ((int *)mine)[0] != n * (n - 1) / 2;
    shmem_barrier_all();
    ((int *)source)[0] = failures;
    shmem_int_sum_to_all(total, (int *)source, 1, 0, 0, n, (int *)work,
                         sync_array());
    if (shmem_my_pe() == 0)
        printf("%d functions, %d comparisons, %d failures\n",
               (int)(sizeof tests / sizeof *tests) + 4, compared, total[0]);
    shmem_finalize();
    return total[0] != 0;
}
