/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process 0 gets data from processes that already wait for it in a collective:
 * the first one of an active set, and shmem_finalize(). Over networks where
 * OSHMEM emulates get, the waiting processes must make OSHMEM's progress.
 */
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>

static long x;
static long set_sync[SHMEM_BARRIER_SYNC_SIZE];

static long read_from(int pe)
{
    long y = -1;

    shmem_long_get(&y, &x, 1, pe);
    return y;
}

int main(void)
{
    long sum = 0;
    int me, n;

    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    x = 10 + me;
    for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
        set_sync[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    if (me == 0 && n > 1) {
        usleep(300000); /* until process 1 waits in the barrier */
        sum += read_from(1);
    }
    if (me < 2)
        shmem_barrier(0, 0, n < 2 ? n : 2, set_sync);
    shmem_barrier_all();
    if (me == 0) {
        usleep(300000); /* until the others are in shmem_finalize() */
        for (int i = 1; i < n; i++)
            sum += read_from(i);
        printf("%ld\n", sum);
    }
    shmem_finalize();
    return 0;
}
