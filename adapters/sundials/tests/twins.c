/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compare each operation of an RCX vector with that of SUNDIALS' own
 * nvector_parallel, which uses MPI, on the same elements: the results agree,
 * and have the same bits on all ranks. KINSOL finds the same solution in as
 * many steps. Run it under mpirun:
 *
 *   twins             TAP, on rank 0
 *   twins time [N]    microseconds of a dot product with RCX, with its exact
 *                     sums, and with MPI
 */
#include <kinsol/kinsol.h>
#include <math.h>
#include <mpi.h>
#include <nvector/nvector_parallel.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_spgmr.h>

#include <rcx/rcx_nvector.h>

#ifndef SUN_COMM_NULL /* before SUNDIALS 7 */
#define SUN_COMM_NULL NULL
#endif

enum { KINDS = 2, VECTORS = 4 };

static rcx_comm_t *comm;
static int rank, size, tests, failures;
static sunindextype mine; /* number of elements of this rank */

/* Rank 0 prints a TAP line: good on all ranks, or not. */
static void ok(int good, const char *what)
{
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    tests++;
    failures += !good;
    if (rank == 0)
        printf("%sok %d - %s\n", good ? "" : "not ", tests, what);
}

/* Whether a and b are equal, up to the rounding of sums in another order. */
static int close_to(double a, double b)
{
    return fabs(a - b) <= 1e-13 * fabs(b);
}

/* Whether a is close to b, and has the same bits on all ranks. */
static int alike(double a, double b)
{
    double mean = a;

    MPI_Bcast(&mean, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return close_to(a, b) && memcmp(&a, &mean, sizeof a) == 0;
}

/* x[kind][i]: the same elements in vectors of both kinds. */
static N_Vector x[KINDS][VECTORS];

static double element(int vector, long i)
{
    const unsigned long seed = (unsigned long)(i * 7 + vector * 1013 + 1);

    return (double)(seed * 2654435761UL % 10007) / 10007 * (vector ? 1 : 2) -
           (vector == 0);
}

static void make_vectors(sunindextype first, bool exactly, SUNContext sundials)
{
    int64_t all = mine;

    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    x[0][0] = N_VNew_Rcx(comm, mine, sundials);
    N_VSetExactSums_Rcx(x[0][0], exactly);
    x[1][0] = N_VNew_Parallel(MPI_COMM_WORLD, mine, all, sundials);
    for (int kind = 0; kind < KINDS; kind++)
        for (int v = 0; v < VECTORS; v++) {
            double *data;

            if (v > 0)
                x[kind][v] = N_VClone(x[kind][0]);
            data = N_VGetArrayPointer(x[kind][v]);
            for (long i = 0; i < mine; i++)
                data[i] = element(v, first + i);
        }
}

static void free_vectors(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int v = 0; v < VECTORS; v++)
            N_VDestroy(x[kind][v]);
}

/* ---- Operations ---------------------------------------------------------- */

static double dot(N_Vector *v)
{
    return N_VDotProd(v[0], v[1]);
}
static double most(N_Vector *v)
{
    return N_VMaxNorm(v[0]);
}
static double wrms(N_Vector *v)
{
    return N_VWrmsNorm(v[0], v[1]);
}
static double masked(N_Vector *v)
{
    return N_VWrmsNormMask(v[0], v[1], v[0]);
}
static double least(N_Vector *v)
{
    return N_VMin(v[0]);
}
static double wl2(N_Vector *v)
{
    return N_VWL2Norm(v[0], v[1]);
}
static double l1(N_Vector *v)
{
    return N_VL1Norm(v[0]);
}
static double quotient(N_Vector *v)
{
    return N_VMinQuotient(v[0], v[2]);
}
static double inverse(N_Vector *v)
{
    return N_VInvTest(v[1], v[3]);
}
static double length(N_Vector *v)
{
    return (double)N_VGetLength(v[0]);
}
static double sum_local(N_Vector *v)
{
    return N_VWSqrSumLocal(v[0], v[1]);
}

static double constrained(N_Vector *v)
{
    N_Vector limits = N_VClone(v[0]);
    double good;

    N_VConst(1, limits); /* requires elements >= 0; some are negative */
    good = N_VConstrMask(limits, v[0], v[3]) + 2 * N_VMaxNorm(v[3]);
    N_VDestroy(limits);
    return good;
}

/* All elementwise operations, one after the other. */
static double chain(N_Vector *v)
{
    N_VLinearSum(2, v[0], -3, v[1], v[3]);
    N_VProd(v[3], v[2], v[3]);
    N_VAbs(v[3], v[3]);
    N_VAddConst(v[3], 1, v[3]);
    N_VDiv(v[1], v[3], v[3]);
    N_VScale(0.5, v[3], v[3]);
    N_VInv(v[3], v[3]);
    N_VCompare(4, v[3], v[2]);
    return N_VDotProd(v[3], v[2]);
}

static double multi(N_Vector *v)
{
    double dots[3], norms[2];
    N_Vector w[] = {v[1], v[1]};

    if (N_VDotProdMulti(3, v[0], v, dots) != 0 ||
        N_VWrmsNormVectorArray(2, v, w, norms) != 0)
        return NAN;
    return dots[0] + 3 * dots[1] + 7 * dots[2] + norms[0] - 5 * norms[1];
}

static double multi_masked(N_Vector *v)
{
    double norms[2];
    N_Vector w[] = {v[1], v[1]};

    return N_VWrmsNormMaskVectorArray(2, v, w, v[0], norms) != 0
               ? NAN
               : norms[0] - 5 * norms[1];
}

static void compare_operations(const char *how)
{
    static const struct {
        const char *name;
        double (*of)(N_Vector *v);
    } operations[] = {{"dot product", dot},
                      {"maximum norm", most},
                      {"weighted root mean square", wrms},
                      {"the same of a mask", masked},
                      {"minimum", least},
                      {"weighted 2-norm", wl2},
                      {"1-norm", l1},
                      {"least quotient", quotient},
                      {"test of inverses", inverse},
                      {"constraints", constrained},
                      {"several dot products and norms", multi},
                      {"several norms of a mask", multi_masked},
                      {"length", length},
                      {"elementwise operations", chain}};

    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const double ours = operations[i].of(x[0]);
        const double theirs = operations[i].of(x[1]);
        char what[100];

        snprintf(what, sizeof what, "%s, %s", operations[i].name, how);
        ok(alike(ours, theirs), what);
    }
    ok(close_to(sum_local(x[0]), sum_local(x[1])), "sums of a rank alone");
}

/* ---- A nonlinear system -------------------------------------------------- */

/* u_i + sum of squares / n = 1 + i / n. Each equation depends on all elements,
 * by a reduction. */
static int system_of(N_Vector u, N_Vector f, void *first)
{
    const double n = (double)N_VGetLength(u), mean = N_VDotProd(u, u) / n;
    const double *data = N_VGetArrayPointer(u);
    double *out = N_VGetArrayPointer(f);

    for (long i = 0; i < mine; i++)
        out[i] = data[i] + mean - 1 - (double)(*(long *)first + i) / n;
    return 0;
}

static double solve(N_Vector like, long first, SUNContext sundials, long *steps)
{
    N_Vector u = N_VClone(like), scale = N_VClone(like);
    SUNLinearSolver solver = SUNLinSol_SPGMR(u, SUN_PREC_NONE, 10, sundials);
    void *kinsol = KINCreate(sundials);
    double norm = NAN;

    N_VConst(0.1, u);
    N_VConst(1, scale);
    if (KINInit(kinsol, system_of, u) == 0 &&
        KINSetUserData(kinsol, &first) == 0 &&
        KINSetLinearSolver(kinsol, solver, NULL) == 0 &&
        KINSol(kinsol, u, KIN_LINESEARCH, scale, scale) >= 0 &&
        KINGetNumNonlinSolvIters(kinsol, steps) == 0)
        norm = N_VDotProd(u, u);
    KINFree(&kinsol);
    SUNLinSolFree(solver);
    N_VDestroy(u);
    N_VDestroy(scale);
    return norm;
}

static void compare_solutions(long first, SUNContext sundials)
{
    long steps[KINDS] = {-1, -2};
    const double ours = solve(x[0][0], first, sundials, &steps[0]);
    const double theirs = solve(x[1][0], first, sundials, &steps[1]);

    ok(fabs(ours - theirs) <= 1e-9 * fabs(theirs) && steps[0] == steps[1],
       "KINSOL: the same solution in as many steps");
}

static void compare_all(long first, SUNContext sundials)
{
    const sunindextype all_mine = mine;

    for (int exactly = 0; exactly < 2; exactly++) {
        mine = all_mine;
        make_vectors(first, exactly, sundials);
        compare_operations(exactly ? "exact sums, fused off" : "fused off");
        free_vectors();
        if (rank == 1)
            mine = 0;
        make_vectors(first, exactly, sundials);
        N_VEnableFusedOps_Rcx(x[0][0], SUNTRUE);
        N_VEnableFusedOps_Parallel(x[1][0], SUNTRUE);
        compare_operations(exactly ? "exact sums, fused on, a part is empty"
                                   : "fused on, a part is empty");
        compare_solutions(first, sundials);
        free_vectors();
    }
}

/* ---- Time ---------------------------------------------------------------- */

static double time_of(N_Vector *v)
{
    enum { CALLS = 2000 };
    double start, sum = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < CALLS; i++)
        sum += N_VDotProd(v[0], v[1]);
    return sum == 0 ? NAN : 1e6 * (MPI_Wtime() - start) / CALLS;
}

static int ascending(const void *a, const void *b)
{
    const double u = *(const double *)a, v = *(const double *)b;

    return (u > v) - (u < v);
}

static double median(double times[], int n)
{
    qsort(times, (size_t)n, sizeof *times, ascending);
    return times[n / 2];
}

static void print_times(long first, SUNContext sundials)
{
    enum { ROUNDS = 21, WAYS = 3 };
    double times[WAYS][ROUNDS], to_mpi[ROUNDS], to_plain[ROUNDS];

    make_vectors(first, false, sundials);
    for (int i = 0; i < ROUNDS; i++) {
        N_VSetExactSums_Rcx(x[0][0], SUNFALSE);
        times[0][i] = time_of(x[0]);
        N_VSetExactSums_Rcx(x[0][0], SUNTRUE);
        times[1][i] = time_of(x[0]);
        times[2][i] = time_of(x[1]);
        to_mpi[i] = times[0][i] / times[2][i];
        to_plain[i] = times[1][i] / times[0][i];
    }
    if (rank == 0)
        printf("dot product of %ld a rank, %d ranks: RCX %.3f us, exact %.3f "
               "us, MPI %.3f us; in turns: RCX of MPI %.2f, exact of plain "
               "%.2f\n",
               (long)mine, size, median(times[0], ROUNDS),
               median(times[1], ROUNDS), median(times[2], ROUNDS),
               median(to_mpi, ROUNDS), median(to_plain, ROUNDS));
    free_vectors();
}

int main(int argc, char **argv)
{
    rcx_context_t *context;
    SUNContext sundials = NULL;
    long first;

    MPI_Init(&argc, &argv);
    if (rcx_init(NULL, &context) != RCX_OK ||
        SUNContext_Create(SUN_COMM_NULL, &sundials) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    comm = rcx_world(context);
    rank = rcx_comm_rank(comm);
    size = rcx_comm_size(comm);
    mine = argc > 2 ? atol(argv[2]) : 100 + 10 * rank;
    first = 100L * rank + 5L * rank * (rank - 1);
    if (argc > 1) {
        print_times(first, sundials);
    } else {
        compare_all(first, sundials);
        if (rank == 0)
            printf("1..%d\n", tests);
    }
    SUNContext_Free(&sundials);
    rcx_finalize(&context);
    MPI_Finalize();
    return failures > 0;
}
