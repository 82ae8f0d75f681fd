/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SUNDIALS vectors that are distributed over the ranks of a communicator. Local
 * operations are those of nvector_serial; a reduction is local work, then one
 * rcx_allreduce(). sums.c has the sums.
 */
#include <rcx/rcx_nvector.h>

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sums.h"

/* ---- Reductions ---------------------------------------------------------- */

/* NAN if the reduction fails: it compares as false with any tolerance, so that
 * solvers stop. */
static double reduce_one(N_Vector v, double value, rcx_op_t op)
{
    return reduce_values(v, &value, 1, op) ? value : NAN;
}

static double sum_one(const struct terms *terms, N_Vector x, N_Vector y,
                      N_Vector z)
{
    const struct sums sums = {
        .terms = terms, .x = {&x, 0}, .y = {&y, 0}, .z = {&z, 0}};
    double value;

    return sum_all(&sums, 1, &value) ? value : NAN;
}

static sunbooleantype all_true(N_Vector v, sunbooleantype value)
{
    return reduce_one(v, value ? 1 : 0, RCX_MIN) == 1 ? SUNTRUE : SUNFALSE;
}

/* The minimum of this rank's part, which may be empty: nvector_serial reads its
 * first element. */
static double min_local(N_Vector x)
{
    return N_VGetLocalLength_Rcx(x) > 0 ? N_VMin_Serial(x) : SUN_BIG_REAL;
}

static double root_mean(N_Vector x, double sum)
{
    return sqrt(sum / (double)content_of(x)->length);
}

static double dot_prod(N_Vector x, N_Vector y)
{
    return sum_one(&products, x, y, x);
}

static double max_norm(N_Vector x)
{
    return reduce_one(x, N_VMaxNorm_Serial(x), RCX_MAX);
}

static double wrms_norm(N_Vector x, N_Vector w)
{
    return root_mean(x, sum_one(&squares, x, w, x));
}

static double wrms_norm_mask(N_Vector x, N_Vector w, N_Vector id)
{
    return root_mean(x, sum_one(&masked_squares, x, w, id));
}

static double min(N_Vector x)
{
    return reduce_one(x, min_local(x), RCX_MIN);
}

static double wl2_norm(N_Vector x, N_Vector w)
{
    return sqrt(sum_one(&squares, x, w, x));
}

static double l1_norm(N_Vector x)
{
    return sum_one(&magnitudes, x, x, x);
}

static sunbooleantype inv_test(N_Vector x, N_Vector z)
{
    return all_true(x, N_VInvTest_Serial(x, z));
}

static sunbooleantype constr_mask(N_Vector c, N_Vector x, N_Vector m)
{
    return all_true(x, N_VConstrMask_Serial(c, x, m));
}

static double min_quotient(N_Vector num, N_Vector denom)
{
    return reduce_one(num, N_VMinQuotient_Serial(num, denom), RCX_MIN);
}

/* ---- Local sums ---------------------------------------------------------- */

static double dot_prod_local(N_Vector x, N_Vector y)
{
    return sum_part(&products, x, y, x);
}

static double squares_local(N_Vector x, N_Vector w)
{
    return sum_part(&squares, x, w, x);
}

static double masked_squares_local(N_Vector x, N_Vector w, N_Vector id)
{
    return sum_part(&masked_squares, x, w, id);
}

static double l1_norm_local(N_Vector x)
{
    return sum_part(&magnitudes, x, x, x);
}

static int dot_prod_multi_local(int n, N_Vector x, N_Vector *y, double *values)
{
    for (int i = 0; i < n; i++)
        values[i] = dot_prod_local(x, y[i]);
    return n < 1 ? -1 : 0;
}

static int dot_prod_multi_all_reduce(int n, N_Vector x, double values[])
{
    return reduce_values(x, values, n, RCX_SUM) ? 0 : -1;
}

/* ---- Fused operations ---------------------------------------------------- */

static int dot_prod_multi(int n, N_Vector x, N_Vector *y, double *values)
{
    const struct sums sums = {
        .terms = &products, .x = {y, 1}, .y = {&x, 0}, .z = {&x, 0}};

    return n > 0 && sum_all(&sums, n, values) ? 0 : -1;
}

static int root_means(const struct sums *sums, int n, double *norms)
{
    if (n < 1 || !sum_all(sums, n, norms))
        return -1;
    for (int i = 0; i < n; i++)
        norms[i] = root_mean(sums->x.of[i], norms[i]);
    return 0;
}

static int wrms_norms(int n, N_Vector *x, N_Vector *w, double *norms)
{
    const struct sums sums = {
        .terms = &squares, .x = {x, 1}, .y = {w, 1}, .z = {x, 1}};

    return root_means(&sums, n, norms);
}

static int wrms_norms_mask(int n, N_Vector *x, N_Vector *w, N_Vector id,
                           double *norms)
{
    const struct sums sums = {
        .terms = &masked_squares, .x = {x, 1}, .y = {w, 1}, .z = {&id, 0}};

    return root_means(&sums, n, norms);
}

int N_VEnableFusedOps_Rcx(N_Vector v, sunbooleantype on)
{
    const N_Vector_Ops ops = v ? v->ops : NULL;

    if (!ops)
        return -1;
    ops->nvlinearcombination = on ? N_VLinearCombination_Serial : NULL;
    ops->nvscaleaddmulti = on ? N_VScaleAddMulti_Serial : NULL;
    ops->nvdotprodmulti = on ? dot_prod_multi : NULL;
    ops->nvlinearsumvectorarray = on ? N_VLinearSumVectorArray_Serial : NULL;
    ops->nvscalevectorarray = on ? N_VScaleVectorArray_Serial : NULL;
    ops->nvconstvectorarray = on ? N_VConstVectorArray_Serial : NULL;
    ops->nvwrmsnormvectorarray = on ? wrms_norms : NULL;
    ops->nvwrmsnormmaskvectorarray = on ? wrms_norms_mask : NULL;
    ops->nvscaleaddmultivectorarray =
        on ? N_VScaleAddMultiVectorArray_Serial : NULL;
    ops->nvlinearcombinationvectorarray =
        on ? N_VLinearCombinationVectorArray_Serial : NULL;
    return 0;
}

/* ---- Vectors: creation and destruction ----------------------------------- */

static N_Vector_ID id_of(N_Vector v)
{
    (void)v;
    return SUNDIALS_NVEC_CUSTOM;
}

static sunindextype length_of(N_Vector v)
{
    return content_of(v)->length;
}

/* Numbers of reals and of other words on all ranks, as nvector_parallel
 * counts. */
static void space(N_Vector v, sunindextype *reals, sunindextype *words)
{
    *reals = content_of(v)->length;
    *words = 2 * (sunindextype)rcx_comm_size(content_of(v)->comm);
}

static void destroy(N_Vector v)
{
    if (!v)
        return;
    if (v->content && NV_OWN_DATA_S(v))
        free(NV_DATA_S(v));
    free(v->content);
    v->content = NULL;
    N_VFreeEmpty(v);
}

/* Give v a copy of the content like, without data. NULL: no memory, and v is
 * freed. */
static N_Vector with_content(N_Vector v, const struct content *like)
{
    struct content *c = v ? malloc(sizeof *c) : NULL;

    if (!c) {
        N_VFreeEmpty(v);
        return NULL;
    }
    *c = *like;
    c->part.own_data = SUNFALSE;
    c->part.data = NULL;
    v->content = c;
    return v;
}

static N_Vector clone_empty(N_Vector w)
{
    N_Vector v = N_VNewEmpty(w->sunctx);

    if (v && N_VCopyOps(w, v) != 0) {
        N_VFreeEmpty(v);
        return NULL;
    }
    return with_content(v, content_of(w));
}

/* Allocate the data of v, set to zero. NULL: no memory, and v is freed. */
static N_Vector with_data(N_Vector v)
{
    const size_t n = v ? (size_t)NV_LENGTH_S(v) : 0;

    if (!v)
        return NULL;
    NV_DATA_S(v) = calloc(n ? n : 1, sizeof(double));
    NV_OWN_DATA_S(v) = SUNTRUE;
    if (NV_DATA_S(v))
        return v;
    destroy(v);
    return NULL;
}

static N_Vector clone(N_Vector w)
{
    return with_data(clone_empty(w));
}

static void fill_local_ops(N_Vector_Ops ops)
{
    ops->nvlinearsum = N_VLinearSum_Serial;
    ops->nvconst = N_VConst_Serial;
    ops->nvprod = N_VProd_Serial;
    ops->nvdiv = N_VDiv_Serial;
    ops->nvscale = N_VScale_Serial;
    ops->nvabs = N_VAbs_Serial;
    ops->nvinv = N_VInv_Serial;
    ops->nvaddconst = N_VAddConst_Serial;
    ops->nvcompare = N_VCompare_Serial;
    ops->nvdotprodlocal = dot_prod_local;
    ops->nvmaxnormlocal = N_VMaxNorm_Serial;
    ops->nvminlocal = min_local;
    ops->nvl1normlocal = l1_norm_local;
    ops->nvinvtestlocal = N_VInvTest_Serial;
    ops->nvconstrmasklocal = N_VConstrMask_Serial;
    ops->nvminquotientlocal = N_VMinQuotient_Serial;
    ops->nvwsqrsumlocal = squares_local;
    ops->nvwsqrsummasklocal = masked_squares_local;
    ops->nvdotprodmultilocal = dot_prod_multi_local;
    ops->nvbufsize = N_VBufSize_Serial;
    ops->nvbufpack = N_VBufPack_Serial;
    ops->nvbufunpack = N_VBufUnpack_Serial;
    ops->nvprint = N_VPrint_Serial;
    ops->nvprintfile = N_VPrintFile_Serial;
}

static void fill_ops(N_Vector_Ops ops)
{
    fill_local_ops(ops);
    ops->nvgetvectorid = id_of;
    ops->nvclone = clone;
    ops->nvcloneempty = clone_empty;
    ops->nvdestroy = destroy;
    ops->nvspace = space;
    ops->nvgetarraypointer = N_VGetArrayPointer_Serial;
    ops->nvsetarraypointer = N_VSetArrayPointer_Serial;
    ops->nvgetlength = length_of;
#if SUNDIALS_VERSION_MAJOR > 6 || SUNDIALS_VERSION_MINOR >= 4
    ops->nvgetlocallength = N_VGetLocalLength_Rcx;
#endif
    ops->nvdotprod = dot_prod;
    ops->nvmaxnorm = max_norm;
    ops->nvwrmsnorm = wrms_norm;
    ops->nvwrmsnormmask = wrms_norm_mask;
    ops->nvmin = min;
    ops->nvwl2norm = wl2_norm;
    ops->nvl1norm = l1_norm;
    ops->nvinvtest = inv_test;
    ops->nvconstrmask = constr_mask;
    ops->nvminquotient = min_quotient;
    ops->nvdotprodmultiallreduce = dot_prod_multi_all_reduce;
}

int N_VSetExactSums_Rcx(N_Vector v, sunbooleantype on)
{
    if (!v || !v->ops)
        return -1;
    content_of(v)->sums_exactly = on;
    /* sums of what local sums have rounded would depend on the cut */
    v->ops->nvdotprodmultiallreduce = on ? NULL : dot_prod_multi_all_reduce;
    return 0;
}

/* rcx_init() has checked the value. */
static bool is_exact_wanted(void)
{
    const char *value = getenv("RCX_SUM");

    return value && strcmp(value, "exact") == 0;
}

N_Vector N_VNewEmpty_Rcx(rcx_comm_t *comm, sunindextype local_length,
                         SUNContext sunctx)
{
    struct content c = {.part = {.length = local_length}, .comm = comm};
    int64_t sums[] = {local_length, is_exact_wanted()};
    N_Vector v = N_VNewEmpty(sunctx);

    /* first, as later failures may be on this rank only */
    if (rcx_allreduce(RCX_IN_PLACE, sums, 2, RCX_INT64, RCX_SUM, comm) !=
        RCX_OK) {
        N_VFreeEmpty(v);
        return NULL;
    }
    if (v)
        fill_ops(v->ops);
    c.length = sums[0];
    v = with_content(v, &c);
    if (sums[1] > 0) /* on any rank: all ranks must do the same */
        N_VSetExactSums_Rcx(v, SUNTRUE);
    return v;
}

N_Vector N_VNew_Rcx(rcx_comm_t *comm, sunindextype local_length,
                    SUNContext sunctx)
{
    return with_data(N_VNewEmpty_Rcx(comm, local_length, sunctx));
}

N_Vector N_VMake_Rcx(rcx_comm_t *comm, sunindextype local_length, double *data,
                     SUNContext sunctx)
{
    N_Vector v = N_VNewEmpty_Rcx(comm, local_length, sunctx);

    if (v)
        NV_DATA_S(v) = data;
    return v;
}

sunindextype N_VGetLocalLength_Rcx(N_Vector v)
{
    return NV_LENGTH_S(v);
}

rcx_comm_t *N_VGetComm_Rcx(N_Vector v)
{
    return content_of(v)->comm;
}
