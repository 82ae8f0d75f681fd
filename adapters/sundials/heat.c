/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heat [CELLS [END]]
 *
 * The temperature of a rod with cold ends, u_t = u_xx: CVODE with BDF and a
 * matrix-free Krylov solver. The vectors are distributed over the ranks of a
 * job:
 *
 *   rcxrun -n 4 heat
 *
 * Rank 0 prints steps and norms. They have the same bits in each run, and agree
 * within the tolerance for any number of ranks up to CELLS. Exit status 0:
 * success; 1: failure, with a line that tells why.
 */
#include <cvode/cvode.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sunlinsol/sunlinsol_spgmr.h>

#include <rcx/rcx_nvector.h>

#ifndef SUN_COMM_NULL /* before SUNDIALS 7 */
#define SUN_COMM_NULL NULL
#endif

struct rod {
    rcx_comm_t *comm;
    long cells, first, mine; /* cells: of all ranks; mine: of this rank */
};

/* Get the neighbours' cells that are adjacent to this rank's part; 0 at the
 * ends of the rod. */
static rcx_status_t exchange(const struct rod *rod, const double *u,
                             double *before, double *behind)
{
    const int rank = rcx_comm_rank(rod->comm), left = rank - 1;
    const int right = rank + 1 < rcx_comm_size(rod->comm) ? rank + 1 : -1;
    rcx_request_t *requests[4] = {NULL};
    rcx_status_t status = RCX_OK;
    int n = 0;

    *before = *behind = 0;
    if (left >= 0)
        status = rcx_irecv(before, 1, RCX_FLOAT64, left, 0, rod->comm,
                           &requests[n++]);
    if (status == RCX_OK && right >= 0)
        status = rcx_irecv(behind, 1, RCX_FLOAT64, right, 0, rod->comm,
                           &requests[n++]);
    if (status == RCX_OK && left >= 0)
        status = rcx_isend(&u[0], 1, RCX_FLOAT64, left, 0, rod->comm,
                           &requests[n++]);
    if (status == RCX_OK && right >= 0)
        status = rcx_isend(&u[rod->mine - 1], 1, RCX_FLOAT64, right, 0,
                           rod->comm, &requests[n++]);
    if (status == RCX_OK)
        status = rcx_wait_all(n, requests);
    for (int i = 0; i < n; i++) {
        if (!requests[i])
            continue;
        rcx_wait(requests[i]); /* complete all after one has failed */
        rcx_request_free(&requests[i]);
    }
    return status;
}

/* du = u_xx. A negative result is final for CVODE: a smaller step does not cure
 * an error of RCX. */
static int heat(sunrealtype t, N_Vector u_vector, N_Vector du_vector, void *arg)
{
    const struct rod *rod = arg;
    const double *u = N_VGetArrayPointer(u_vector);
    const double width = 1.0 / (double)(rod->cells + 1);
    double *du = N_VGetArrayPointer(du_vector), before, behind;

    (void)t;
    if (exchange(rod, u, &before, &behind) != RCX_OK)
        return -1;
    for (long i = 0; i < rod->mine; i++) {
        const double left = i > 0 ? u[i - 1] : before;
        const double right = i + 1 < rod->mine ? u[i + 1] : behind;

        du[i] = (left - 2 * u[i] + right) / (width * width);
    }
    return 0;
}

static void warm_up(const struct rod *rod, N_Vector u_vector)
{
    double *u = N_VGetArrayPointer(u_vector);

    for (long i = 0; i < rod->mine; i++) {
        const double x =
            (double)(rod->first + i + 1) / (double)(rod->cells + 1);

        u[i] = sin(M_PI * x) + (x > 0.3 && x < 0.6);
    }
}

/* Integrate to end, and print a line for each of ten times. Returns CVODE's
 * status, negative for an error. */
static int integrate(void *cvode, const struct rod *rod, N_Vector u, double end)
{
    double t;
    long steps;
    int status = 0;

    for (int i = 1; i <= 10 && status >= 0; i++) {
        double norm, most;

        status = CVode(cvode, end * i / 10, u, &t, CV_NORMAL);
        norm = sqrt(N_VDotProd(u, u) / (double)rod->cells);
        most = N_VMaxNorm(u);
        CVodeGetNumSteps(cvode, &steps);
        if (status >= 0 && rcx_comm_rank(rod->comm) == 0)
            printf("t %.4f steps %4ld norm %.16e max %.16e\n", t, steps, norm,
                   most);
    }
    return status;
}

static int solve(struct rod *rod, double end)
{
    SUNContext sundials;
    N_Vector u = NULL;
    SUNLinearSolver solver = NULL;
    void *cvode = NULL;
    int status = -1;

    if (SUNContext_Create(SUN_COMM_NULL, &sundials) != 0)
        return -1;
    u = N_VNew_Rcx(rod->comm, rod->mine, sundials);
    if (u) {
        warm_up(rod, u);
        solver = SUNLinSol_SPGMR(u, SUN_PREC_NONE, 20, sundials);
        cvode = CVodeCreate(CV_BDF, sundials);
    }
    if (cvode && solver && CVodeInit(cvode, heat, 0, u) == 0 &&
        CVodeSStolerances(cvode, 1e-6, 1e-9) == 0 &&
        CVodeSetUserData(cvode, rod) == 0 &&
        CVodeSetMaxNumSteps(cvode, 100000) == 0 &&
        CVodeSetLinearSolver(cvode, solver, NULL) == 0)
        status = integrate(cvode, rod, u, end);
    if (cvode)
        CVodeFree(&cvode);
    if (solver)
        SUNLinSolFree(solver);
    if (u)
        N_VDestroy(u);
    SUNContext_Free(&sundials);
    return status;
}

int main(int argc, char **argv)
{
    struct rod rod = {.cells = argc > 1 ? atol(argv[1]) : 400};
    const double end = argc > 2 ? atof(argv[2]) : 0.1;
    rcx_context_t *context;
    rcx_error_info_t why;
    int status, rank, size;

    if (rcx_init(NULL, &context) != RCX_OK)
        return 1; /* RCX has logged the error */
    rod.comm = rcx_world(context);
    rank = rcx_comm_rank(rod.comm);
    size = rcx_comm_size(rod.comm);
    if (rod.cells < size) {
        if (rank == 0)
            fprintf(stderr, "heat: needs at least one cell for each rank\n");
        rcx_finalize(&context);
        return 1;
    }
    rod.first = rod.cells * rank / size;
    rod.mine = rod.cells * (rank + 1) / size - rod.first;
    status = solve(&rod, end);
    if (status < 0 && rcx_comm_error(rod.comm, &why) == RCX_OK)
        fprintf(stderr, "rank %d: CVODE ends with %d: %s\n", rank, status,
                why.status != RCX_OK ? why.text : "no error of RCX");
    rcx_finalize(&context);
    return status < 0;
}
