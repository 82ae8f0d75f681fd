/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sort integers. Each process gets a range of values: counts and positions are
 * exchanged by alltoall, keys are sent by put. Uses OpenSHMEM only;
 * librcx_shmem.so is preloaded:
 *
 *   oshcc sort.c -o sort
 *   oshrun -n 4 -x LD_PRELOAD=librcx_shmem.so ./sort 1000000
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_BITS = 24, MOST = 1024 /* maximum of processes */ };

static long sync_counts[SHMEM_ALLTOALL_SYNC_SIZE];
static long sync_places[SHMEM_ALLTOALL_SYNC_SIZE];
static long sync_sizes[SHMEM_COLLECT_SYNC_SIZE];
static long sync_lasts[SHMEM_COLLECT_SYNC_SIZE];
static long sync_sum[SHMEM_REDUCE_SYNC_SIZE], sync_bad[SHMEM_REDUCE_SYNC_SIZE];
static long work_bad[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long long work_sum[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

/* For each process: keys sent to it, keys received from it, where those begin
 * here, and where those sent begin there. */
static uint32_t counts[MOST], comes[MOST], begins[MOST], places[MOST];
static uint32_t size, sizes[MOST], last, lasts[MOST];
static long long sum, sum_of_all;
static long bad, bad_of_all;

static void clear(long *sync, int n)
{
    while (n > 0)
        sync[--n] = SHMEM_SYNC_VALUE;
}

static uint32_t key_of(uint32_t i)
{
    return (i * UINT32_C(2654435761)) >> (32 - KEY_BITS);
}

static int home_of(uint32_t key, int n)
{
    return (int)((uint64_t)key * (unsigned)n >> KEY_BITS);
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Send each of the keys first to end - 1 to the process that its value belongs
 * to. */
static void send_keys(uint32_t *keys, uint32_t first, uint32_t end, int n)
{
    uint32_t *mine = malloc((end - first + 1) * sizeof *mine), *next = mine;

    for (uint32_t i = first; i < end; i++)
        counts[home_of(key_of(i), n)]++;
    shmem_alltoall32(comes, counts, 1, 0, 0, n, sync_counts);
    for (int p = 0; p < n; p++) {
        begins[p] = size;
        size += comes[p];
    }
    shmem_alltoall32(places, begins, 1, 0, 0, n, sync_places);
    for (uint32_t i = first; i < end; i++)
        mine[i - first] = key_of(i);
    qsort(mine, end - first, sizeof *mine, ascending);
    for (int p = 0; p < n; next += counts[p++])
        if (counts[p] > 0)
            shmem_uint32_put(keys + places[p], next, counts[p], p);
    shmem_barrier_all(); /* all puts have arrived */
    free(mine);
}

/* Count the keys that are out of order, here and from process to process.
 * Compute a checksum: the sum of keys, weighted by position. */
static void judge(const uint32_t *keys, int me, int n)
{
    uint64_t place = 0;
    uint32_t before = 0;

    last = size > 0 ? keys[size - 1] : 0;
    shmem_fcollect32(sizes, &size, 1, 0, 0, n, sync_sizes);
    shmem_fcollect32(lasts, &last, 1, 0, 0, n, sync_lasts);
    for (int p = 0; p < me; p++) {
        place += sizes[p];
        before = sizes[p] > 0 ? lasts[p] : before;
    }
    for (uint32_t i = 0; i < size; before = keys[i++]) {
        bad += keys[i] < before;
        sum += (long long)((++place & 1023) * keys[i]);
    }
    shmem_longlong_sum_to_all(&sum_of_all, &sum, 1, 0, 0, n, work_sum,
                              sync_sum);
    shmem_long_sum_to_all(&bad_of_all, &bad, 1, 0, 0, n, work_bad, sync_bad);
}

/* sort [KEYS]: KEYS is the number of keys of all processes */
int main(int argc, char **argv)
{
    const uint32_t all = argc > 1 ? (uint32_t)atol(argv[1]) : 100000;

    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes();
    uint32_t *keys;

    if (n > MOST) {
        if (me == 0)
            fprintf(stderr, "sort: at most %d processes\n", MOST);
        shmem_global_exit(1);
    }
    clear(sync_counts, SHMEM_ALLTOALL_SYNC_SIZE);
    clear(sync_places, SHMEM_ALLTOALL_SYNC_SIZE);
    clear(sync_sizes, SHMEM_COLLECT_SYNC_SIZE);
    clear(sync_lasts, SHMEM_COLLECT_SYNC_SIZE);
    clear(sync_sum, SHMEM_REDUCE_SYNC_SIZE);
    clear(sync_bad, SHMEM_REDUCE_SYNC_SIZE);
    keys = shmem_malloc((all + 1) * sizeof *keys); /* any distribution fits */
    shmem_barrier_all();
    send_keys(keys, (uint32_t)((uint64_t)all * (unsigned)me / (unsigned)n),
              (uint32_t)((uint64_t)all * (unsigned)(me + 1) / (unsigned)n), n);
    qsort(keys, size, sizeof *keys, ascending);
    judge(keys, me, n);
    if (me == 0)
        printf("%u keys, %ld out of order, checksum %lld\n", (unsigned)all,
               bad_of_all, sum_of_all);
    shmem_free(keys);
    shmem_finalize();
    return bad_of_all != 0;
}
