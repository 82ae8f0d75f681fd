/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat diffusion in a rod whose ends are kept cold, in explicit time steps.
 * Each rank has a part of the rod, and before each step it gets the adjacent
 * cells from its neighbours (a halo exchange). At the end a dot product of all
 * parts is compared with one that every rank computes alone. Exit status 0:
 * they agree.
 */
#include <rcx/rcx.h>
#include <stdio.h>

enum { CELLS = 1000, STEPS = 200, TO_THE_LEFT = 1, TO_THE_RIGHT = 2 };

static double start_at(int cell)
{
    return cell % 100 < 50 ? 1.0 + cell % 7 : 0.0;
}

/* One time step of cells 1..n; cells 0 and n + 1 belong to the neighbours. */
static void step(const double *old, double *new, int n)
{
    for (int i = 1; i <= n; i++)
        new[i] = old[i] + 0.25 * (old[i - 1] - 2 * old[i] + old[i + 1]);
}

static void swap(double **a, double **b)
{
    double *const other = *a;

    *a = *b;
    *b = other;
}

/*
 * Fill cells 0 and n + 1 with the neighbours' adjacent cells. All four messages
 * are in flight at once, so the exchanges do not wait for each other. At an end
 * of the rod there is no neighbour, and the cell stays 0.
 */
static rcx_status_t exchange(double *part, int n, rcx_comm_t *comm)
{
    const int left = rcx_comm_rank(comm) - 1, right = left + 2;
    rcx_request_t *requests[4] = {NULL};
    rcx_status_t status = RCX_OK;

    if (left >= 0)
        status = rcx_irecv(&part[0], 1, RCX_DOUBLE, left, TO_THE_RIGHT, comm,
                           &requests[0]);
    if (status == RCX_OK && right < rcx_comm_size(comm))
        status = rcx_irecv(&part[n + 1], 1, RCX_DOUBLE, right, TO_THE_LEFT,
                           comm, &requests[1]);
    if (status == RCX_OK && left >= 0)
        status = rcx_isend(&part[1], 1, RCX_DOUBLE, left, TO_THE_LEFT, comm,
                           &requests[2]);
    if (status == RCX_OK && right < rcx_comm_size(comm))
        status = rcx_isend(&part[n], 1, RCX_DOUBLE, right, TO_THE_RIGHT, comm,
                           &requests[3]);
    if (status == RCX_OK)
        status = rcx_wait_all(4, requests);
    for (int i = 0; i < 4; i++)
        if (requests[i])
            rcx_request_free(&requests[i]);
    return status;
}

static double square(const double *part, int n)
{
    double sum = 0;

    for (int i = 1; i <= n; i++)
        sum += part[i] * part[i];
    return sum;
}

/* The whole rod on one rank. */
static double solve_alone(void)
{
    static double a[CELLS + 2], b[CELLS + 2];
    double *old = a, *new = b;

    for (int i = 0; i < CELLS; i++)
        old[i + 1] = start_at(i);
    for (int k = 0; k < STEPS; k++) {
        step(old, new, CELLS);
        swap(&old, &new);
    }
    return square(old, CELLS);
}

static rcx_status_t solve_together(rcx_comm_t *comm, double *result)
{
    static double a[CELLS + 2], b[CELLS + 2];
    const int rank = rcx_comm_rank(comm), size = rcx_comm_size(comm);
    const int first = (int)((long)CELLS * rank / size);
    const int n = (int)((long)CELLS * (rank + 1) / size) - first;
    double *old = a, *new = b, mine;
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < n; i++)
        old[i + 1] = start_at(first + i);
    for (int k = 0; k < STEPS && status == RCX_OK; k++) {
        status = exchange(old, n, comm);
        step(old, new, n);
        swap(&old, &new);
    }
    if (status != RCX_OK)
        return status;
    mine = square(old, n);
    return rcx_allreduce(&mine, result, 1, RCX_DOUBLE, RCX_SUM, comm);
}

int main(void)
{
    const double alone = solve_alone();
    rcx_context_t *context;
    rcx_status_t status = rcx_init(NULL, &context);
    double together = 0, error;

    if (status != RCX_OK) {
        fprintf(stderr, "%s\n", rcx_status_string(status));
        return 1;
    }

    rcx_comm_t *world = rcx_world(context);

    status = solve_together(world, &together);
    error = (together - alone) / alone; /* the order of sums differs, so
                                           rounding does */
    if (status == RCX_OK && rcx_comm_rank(world) == 0)
        printf("%d ranks: %.15g, alone: %.15g\n", rcx_comm_size(world),
               together, alone);
    if (rcx_finalize(&context) != RCX_OK || status != RCX_OK)
        return 1;
    return !(error > -1e-12 && error < 1e-12);
}
