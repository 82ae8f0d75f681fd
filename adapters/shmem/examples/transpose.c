/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * B += A', A += 1, repeatedly: the transpose of the Parallel Research Kernels.
 * Rows of both matrices are distributed over the processes, and each process
 * sends a square block of its A to each other one. Uses OpenSHMEM only;
 * librcx_shmem.so is preloaded:
 *
 *   oshcc transpose.c -o transpose
 *   oshrun -n 4 -x LD_PRELOAD=librcx_shmem.so ./transpose 480 100
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static long sync_squares[SHMEM_ALLTOALL_SYNC_SIZE];
static long sync_wrong[SHMEM_REDUCE_SYNC_SIZE];
static long work_wrong[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long wrong, wrong_of_all;

/* Transpose the rows a into square blocks, one for each process. */
static void pack(double *squares, const double *a, int order, int rows)
{
    for (int column = 0; column < order; column++)
        for (int row = 0; row < rows; row++)
            *squares++ = a[row * order + column];
}

static void add(double *b, const double *squares, int order, int rows)
{
    for (int from = 0; from < order / rows; from++)
        for (int row = 0; row < rows; row++)
            for (int i = 0; i < rows; i++)
                b[row * order + from * rows + i] += *squares++;
}

/* transpose [ORDER [TIMES]] */
int main(int argc, char **argv)
{
    const int order = argc > 1 ? atoi(argv[1]) : 240;
    const int times = argc > 2 ? atoi(argv[2]) : 10;

    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes(), rows = order / n;
    if (rows < 1 || order % n != 0) {
        if (me == 0)
            fprintf(stderr, "transpose: %d rows are not %d equal parts\n",
                    order, n);
        shmem_global_exit(1);
    }
    const size_t elements = (size_t)rows * (size_t)order;
    double *a = calloc(elements, sizeof *a), *b = calloc(elements, sizeof *b);
    double *out = shmem_malloc(elements * sizeof *out);
    double *in = shmem_malloc(elements * sizeof *in);

    for (int i = 0; i < SHMEM_ALLTOALL_SYNC_SIZE; i++)
        sync_squares[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync_wrong[i] = SHMEM_SYNC_VALUE;
    for (size_t i = 0; i < elements; i++)
        a[i] = (double)((size_t)me * elements + i);
    for (int t = 0; t < times; t++) {
        shmem_barrier_all(); /* all have read the data of the last iteration */
        pack(out, a, order, rows);
        shmem_alltoall64(in, out, (size_t)rows * (size_t)rows, 0, 0, n,
                         sync_squares);
        add(b, in, order, rows);
        for (size_t i = 0; i < elements; i++)
            a[i] += 1;
    }
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < order; column++) {
            const double first = (double)column * order + me * rows + row;

            wrong += b[row * order + column] !=
                     first * times + times * (times - 1) / 2.;
        }
    shmem_long_sum_to_all(&wrong_of_all, &wrong, 1, 0, 0, n, work_wrong,
                          sync_wrong);
    if (me == 0)
        printf("order %d, %d times, %ld wrong elements\n", order, times,
               wrong_of_all);
    shmem_free(in);
    shmem_free(out);
    free(b);
    free(a);
    shmem_finalize();
    return wrong_of_all != 0;
}
