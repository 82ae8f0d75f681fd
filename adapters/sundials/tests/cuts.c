/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuts SEED
 *
 * Cuts the elements of vectors among the ranks in a random way, with empty
 * parts, and prints on rank 0, in hexadecimal, what must not depend on the cut:
 * all sums of vectors whose elements cancel, and solutions of a nonlinear
 * reaction in a flow by CVODE (BDF with a Krylov solver; Adams with an
 * accelerated fixed point) and KINSOL (the same, in each way to orthogonalize).
 * Its neighbours' cells reach a rank by an allgatherv, whatever their cut.
 */
#include <cvode/cvode.h>
#include <kinsol/kinsol.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include <rcx/rcx_nvector.h>

#ifndef SUN_COMM_NULL /* before SUNDIALS 7 */
#define SUN_COMM_NULL NULL
#endif

enum { CELLS = 300, VECTORS = 40, MOST_RANKS = 64 };

static struct {
    rcx_comm_t *comm;
    SUNContext sundials;
    int rank, size;
    size_t first, mine;
    size_t counts[MOST_RANKS];
} job;

static void must(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "cuts: rank %d: %s fails\n", job.rank, what);
        exit(1);
    }
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Ranks meet at random cells, a third of them at one that is taken. */
static void cut(uint64_t seed)
{
    size_t ends[MOST_RANKS + 1] = {0};

    for (int r = 1; r < job.size; r++)
        ends[r] = mix(seed + (uint64_t)r / 3 * 3) % (CELLS + 1);
    ends[job.size] = CELLS;
    for (int r = 1; r < job.size; r++) /* in order */
        for (int k = r; k > 1 && ends[k] < ends[k - 1]; k--) {
            const size_t end = ends[k];

            ends[k] = ends[k - 1];
            ends[k - 1] = end;
        }
    for (int r = 0; r < job.size; r++)
        job.counts[r] = ends[r + 1] - ends[r];
    job.first = ends[job.rank];
    job.mine = job.counts[job.rank];
}

static void print(const char *what, const double values[], int n)
{
    if (job.rank == 0) {
        printf("%s", what);
        for (int i = 0; i < n; i++)
            printf(" %a", values[i]);
        printf("\n");
    }
}

/* ---- Sums ---------------------------------------------------------------- */

/* Elements of 30 orders of magnitude, many of which cancel. */
static double element(int vector, size_t i)
{
    const uint64_t at = mix(1000 * (uint64_t)vector + i / 2 + 1);
    const double x = ldexp((double)(at >> 11), (int)(at % 101) - 100);

    return i % 2 ? -x * (1 + ldexp(1, -40)) : x;
}

static void print_sums(N_Vector like)
{
    N_Vector x[VECTORS], w[VECTORS];
    double values[VECTORS];

    for (int k = 0; k < VECTORS; k++) {
        double *data;

        w[k] = x[k] = N_VClone(like);
        must(x[k] != NULL, "N_VClone");
        data = N_VGetArrayPointer(x[k]);
        for (size_t i = 0; i < job.mine; i++)
            data[i] = element(k, job.first + i);
    }
    values[0] = N_VDotProd(x[0], x[1]);
    values[1] = N_VWrmsNorm(x[0], x[1]);
    values[2] = N_VWrmsNormMask(x[0], x[1], x[2]);
    values[3] = N_VWL2Norm(x[0], x[1]);
    values[4] = N_VL1Norm(x[0]);
    values[5] = N_VMaxNorm(x[0]);
    print("sums", values, 6);
    if (job.size == 1) /* what is local is all */
        must(N_VDotProdLocal(x[0], x[1]) == values[0] &&
                 sqrt(N_VWSqrSumLocal(x[0], x[1])) == values[3] &&
                 x[0]->ops->nvl1normlocal(x[0]) == values[4],
             "a local sum");
    must(N_VDotProdMulti(VECTORS, x[0], x, values) == 0, "dot products");
    print("dot products", values, VECTORS);
    must(N_VWrmsNormVectorArray(VECTORS, x, w, values) == 0, "norms");
    print("norms", values, VECTORS);
    must(N_VWrmsNormMaskVectorArray(VECTORS, x, w, x[3], values) == 0,
         "norms of a mask");
    print("norms of a mask", values, VECTORS);
    for (int k = 0; k < VECTORS; k++)
        N_VDestroy(x[k]);
}

/* ---- Solvers ------------------------------------------------------------- */

static int gather(N_Vector u, double all[CELLS])
{
    return rcx_allgatherv(N_VGetArrayPointer(u), all, job.counts, NULL,
                          RCX_FLOAT64, job.comm) == RCX_OK
               ? 0
               : -1;
}

/* Diffusion, a flow to the right, and a reaction. */
static double rate(const double all[CELLS], size_t i)
{
    const double left = i > 0 ? all[i - 1] : 1, u = all[i];
    const double right = i + 1 < CELLS ? all[i + 1] : 0;

    return 30 * (left - 2 * u + right) + 25 * (left - u) + u * (1 - u * u);
}

static int flow(sunrealtype t, N_Vector u, N_Vector du, void *arg)
{
    double all[CELLS], *out = N_VGetArrayPointer(du);

    (void)t, (void)arg;
    if (gather(u, all) != 0)
        return -1;
    for (size_t i = 0; i < job.mine; i++)
        out[i] = rate(all, job.first + i);
    return 0;
}

/* A fixed point of u = u + rate / 200. */
static int next_flow(N_Vector u, N_Vector next, void *arg)
{
    const int bad = flow(0, u, next, arg);

    N_VLinearSum(1, u, 0.005, next, next);
    return bad;
}

static void start_wave(N_Vector u)
{
    double *data = N_VGetArrayPointer(u);

    for (size_t i = 0; i < job.mine; i++)
        data[i] = sin((double)(job.first + i)) / 10;
}

/* Print norms of the solution and how often the solver has worked. */
static void print_solution(const char *what, N_Vector u, long steps)
{
    const double values[] = {N_VDotProd(u, u), N_VL1Norm(u), (double)steps};

    print(what, values, 3);
}

static void integrate(N_Vector u, int method, const char *what)
{
    SUNLinearSolver krylov = SUNLinSol_SPGMR(u, SUN_PREC_NONE, 5, job.sundials);
    SUNNonlinearSolver fixed = SUNNonlinSol_FixedPoint(u, 3, job.sundials);
    void *cvode = CVodeCreate(method, job.sundials);
    double t;
    long steps;

    start_wave(u);
    must(CVodeInit(cvode, flow, 0, u) == 0 &&
             CVodeSStolerances(cvode, 1e-6, 1e-8) == 0 &&
             CVodeSetMaxNumSteps(cvode, 100000) == 0 &&
             (method == CV_BDF ? CVodeSetLinearSolver(cvode, krylov, NULL)
                               : CVodeSetNonlinearSolver(cvode, fixed)) == 0,
         what);
    for (int i = 1; i <= 2; i++) {
        must(CVode(cvode, 0.1 * i, u, &t, CV_NORMAL) >= 0, what);
        must(CVodeGetNumRhsEvals(cvode, &steps) == 0, what);
        print_solution(what, u, steps);
    }
    CVodeFree(&cvode);
    SUNNonlinSolFree(fixed);
    SUNLinSolFree(krylov);
}

/* KINSOL would print that it has not converged within the iterations. */
static void silence(void *kinsol, const char *what)
{
#if SUNDIALS_VERSION_MAJOR < 7
    must(KINSetErrFile(kinsol, NULL) == 0, what);
#else
    must(kinsol && SUNContext_ClearErrHandlers(job.sundials) == 0, what);
#endif
}

static void find_fixed_point(N_Vector u, int orthogonalize, const char *what)
{
    void *kinsol = KINCreate(job.sundials);
    N_Vector ones = N_VClone(u);
    long steps;
    int status;

    N_VConst(1, ones);
    start_wave(u);
    silence(kinsol, what);
    must(KINSetMAA(kinsol, 20) == 0 &&
             KINSetOrthAA(kinsol, orthogonalize) == 0 &&
             KINInit(kinsol, next_flow, u) == 0 &&
             KINSetNumMaxIters(kinsol, 30) == 0,
         what);
    status = KINSol(kinsol, u, KIN_FP, ones, ones);
    must(status >= 0 || status == KIN_MAXITER_REACHED, what);
    must(KINGetNumNonlinSolvIters(kinsol, &steps) == 0, what);
    print_solution(what, u, steps);
    N_VDestroy(ones);
    KINFree(&kinsol);
}

static void solve(N_Vector u)
{
    static const char *const ways[] = {"KINSOL, modified Gram-Schmidt",
                                       "KINSOL, inverse compact WY",
                                       "KINSOL, classical Gram-Schmidt",
                                       "KINSOL, delayed reorthogonalization"};

    integrate(u, CV_BDF, "CVODE, BDF");
    integrate(u, CV_ADAMS, "CVODE, Adams");
    for (int i = KIN_ORTH_MGS; i <= KIN_ORTH_DCGS2; i++)
        find_fixed_point(u, i, ways[i - KIN_ORTH_MGS]);
}

int main(int argc, char **argv)
{
    rcx_context_t *context;
    N_Vector u;

    if (rcx_init(NULL, &context) != RCX_OK)
        return 1;
    job.comm = rcx_world(context);
    job.rank = rcx_comm_rank(job.comm);
    job.size = rcx_comm_size(job.comm);
    must(job.size <= MOST_RANKS &&
             SUNContext_Create(SUN_COMM_NULL, &job.sundials) == 0,
         "the start");
    cut(argc > 1 ? strtoull(argv[1], NULL, 0) : 0);
    u = N_VNew_Rcx(job.comm, (sunindextype)job.mine, job.sundials);
    must(u != NULL, "N_VNew_Rcx");
    for (int fused = 0; fused < 2; fused++) {
        must(N_VEnableFusedOps_Rcx(u, fused) == 0, "fused operations");
        print_sums(u);
    }
    solve(u);
    N_VDestroy(u);
    SUNContext_Free(&job.sundials);
    return rcx_finalize(&context) != RCX_OK;
}
