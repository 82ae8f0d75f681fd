/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The temperature of a square plate whose edges are kept at x + y, by Jacobi
 * iteration. Rows are distributed over the processes, which put their edge rows
 * to their neighbours and reduce the change to decide when to stop. Uses
 * OpenSHMEM only; librcx_shmem.so is preloaded:
 *
 *   oshcc plate.c -o plate
 *   oshrun -n 4 -x LD_PRELOAD=librcx_shmem.so ./plate
 */
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* N: rows and columns of inner points. EACH: steps between reductions. */
enum { N = 64, EACH = 10 };

static long sync_max[SHMEM_REDUCE_SYNC_SIZE], sync_sum[SHMEM_REDUCE_SYNC_SIZE];
static double work_max[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static double work_sum[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static double change, most, error, total;

static double exact(int row, int column)
{
    return (double)(row + column) / (N + 1);
}

/* plate [CHANGE]: iterate until no value changes by more than CHANGE */
int main(int argc, char **argv)
{
    const double enough = argc > 1 ? atof(argv[1]) : 1e-9;

    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes();
    const int first = N * me / n, rows = N * (me + 1) / n - first;
    const size_t row_bytes = sizeof(double[N + 2]);
    const size_t bytes = (size_t)(N / n + 3) * row_bytes;
    double(*old)[N + 2] = shmem_malloc(bytes),
                     (*new)[N + 2] = shmem_malloc(bytes);
    int steps = 0;

    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync_max[i] = sync_sum[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < rows + 2; i++)
        for (int j = 0; j < N + 2; j++) {
            const int row = first + i;
            const int is_edge =
                row == 0 || row == N + 1 || j == 0 || j == N + 1;
            old[i][j] = new[i][j] = is_edge ? exact(row, j) : 0;
        }
    shmem_barrier_all();
    do {
        change = 0;
        for (int i = 1; i <= rows; i++)
            for (int j = 1; j <= N; j++) {
                new[i][j] = (old[i - 1][j] + old[i + 1][j] + old[i][j - 1] +
                             old[i][j + 1]) /
                            4;
                change = fmax(change, fabs(new[i][j] - old[i][j]));
            }
        if (me > 0) {
            const int theirs = first - N * (me - 1) / n;
            shmem_double_put(new[theirs + 1], new[1], N + 2, me - 1);
        }
        if (me < n - 1)
            shmem_double_put(new[0], new[rows], N + 2, me + 1);
        shmem_barrier_all(); /* all puts have arrived */
        void *swap = old;
        old = new;
        new = swap;
        if (++steps % EACH == 0)
            shmem_double_max_to_all(&most, &change, 1, 0, 0, n, work_max,
                                    sync_max);
    } while (steps % EACH || most > enough);

    for (int i = 1; i <= rows; i++)
        for (int j = 1; j <= N; j++)
            error += fabs(old[i][j] - exact(first + i, j));
    shmem_double_sum_to_all(&total, &error, 1, 0, 0, n, work_sum, sync_sum);
    if (me == 0)
        printf("%d steps, off by %.1e on average\n", steps, total / N / N);
    shmem_finalize();
    return 0;
}
