/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SUNDIALS vectors that are distributed over the ranks of a communicator. Local
 * operations are those of nvector_serial; a reduction is local work, then one
 * rcx_allreduce(). Sums of a rank's part have a fixed order.
 */
#include <rcx/rcx_nvector.h>

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * The content begins with that of nvector_serial, so that its functions work on
 * this rank's part, and are in the table of operations as they are.
 */
struct content {
    struct _N_VectorContent_Serial part;
    sunindextype length; /* on all ranks */
    rcx_comm_t *comm;
};

static struct content *content_of(N_Vector v)
{
    return v->content;
}

/* ---- Local sums ---------------------------------------------------------- */

/*
 * A rank's part is summed as a binary tree down to LEAF elements, like ranks in
 * the canonical order: 2^k ranks with equal parts longer than LEAF / 2 then sum
 * in the same tree for any k. A tree also rounds less than a sequential sum.
 */
enum { LEAF = 32, OPERANDS = 3 };

struct terms {
    double (*sum)(N_Vector v[]);
    double *data[OPERANDS];
    struct _N_VectorContent_Serial part[OPERANDS];
    struct _generic_N_Vector vector[OPERANDS];
};

static double sum_leaf(struct terms *t, sunindextype first, sunindextype n)
{
    N_Vector v[OPERANDS];

    for (int i = 0; i < OPERANDS; i++) {
        t->part[i].length = n;
        t->part[i].data = t->data[i] + first;
        v[i] = &t->vector[i];
    }
    return t->sum(v);
}

static double sum_halves(struct terms *t, sunindextype first, sunindextype n)
{
    const sunindextype half = n / 2;

    return n <= LEAF ? sum_leaf(t, first, n)
                     : sum_halves(t, first, half) +
                           sum_halves(t, first + half, n - half);
}

static double sum_part(double (*sum)(N_Vector v[]), N_Vector x, N_Vector y,
                       N_Vector z)
{
    const N_Vector v[OPERANDS] = {x, y, z};
    struct terms t = {.sum = sum};

    for (int i = 0; i < OPERANDS; i++) {
        t.data[i] = NV_DATA_S(v[i]);
        t.vector[i] = *v[i];
        t.vector[i].content = &t.part[i];
    }
    return sum_halves(&t, 0, NV_LENGTH_S(x));
}

static double products(N_Vector v[])
{
    return N_VDotProd_Serial(v[0], v[1]);
}

static double squares(N_Vector v[])
{
    return N_VWSqrSumLocal_Serial(v[0], v[1]);
}

static double masked_squares(N_Vector v[])
{
    return N_VWSqrSumMaskLocal_Serial(v[0], v[1], v[2]);
}

static double magnitudes(N_Vector v[])
{
    return N_VL1Norm_Serial(v[0]);
}

static double dot_prod_local(N_Vector x, N_Vector y)
{
    return sum_part(products, x, y, x);
}

static double squares_local(N_Vector x, N_Vector w)
{
    return sum_part(squares, x, w, x);
}

static double masked_squares_local(N_Vector x, N_Vector w, N_Vector id)
{
    return sum_part(masked_squares, x, w, id);
}

static double l1_norm_local(N_Vector x)
{
    return sum_part(magnitudes, x, x, x);
}

static int dot_prod_multi_local(int n, N_Vector x, N_Vector *y, double *values)
{
    for (int i = 0; i < n; i++)
        values[i] = dot_prod_local(x, y[i]);
    return n < 1 ? -1 : 0;
}

/* ---- Reductions ---------------------------------------------------------- */

static bool reduce(N_Vector v, double values[], int n, rcx_op_t op)
{
    return rcx_allreduce(RCX_IN_PLACE, values, (size_t)n, RCX_FLOAT64, op,
                         content_of(v)->comm) == RCX_OK;
}

/* NAN if the reduction fails: it compares as false with any tolerance, so that
 * solvers stop. */
static double reduce_one(N_Vector v, double value, rcx_op_t op)
{
    return reduce(v, &value, 1, op) ? value : NAN;
}

static booleantype all_true(N_Vector v, booleantype value)
{
    return reduce_one(v, value ? 1 : 0, RCX_MIN) == 1 ? SUNTRUE : SUNFALSE;
}

/* The minimum of this rank's part, which may be empty: nvector_serial reads its
 * first element. */
static double min_local(N_Vector x)
{
    return N_VGetLocalLength_Rcx(x) > 0 ? N_VMin_Serial(x) : BIG_REAL;
}

static double root_mean(N_Vector x, double sum)
{
    return sqrt(sum / (double)content_of(x)->length);
}

static double dot_prod(N_Vector x, N_Vector y)
{
    return reduce_one(x, dot_prod_local(x, y), RCX_SUM);
}

static double max_norm(N_Vector x)
{
    return reduce_one(x, N_VMaxNorm_Serial(x), RCX_MAX);
}

static double wrms_norm(N_Vector x, N_Vector w)
{
    const double sum = squares_local(x, w);

    return root_mean(x, reduce_one(x, sum, RCX_SUM));
}

static double wrms_norm_mask(N_Vector x, N_Vector w, N_Vector id)
{
    const double sum = masked_squares_local(x, w, id);

    return root_mean(x, reduce_one(x, sum, RCX_SUM));
}

static double min(N_Vector x)
{
    return reduce_one(x, min_local(x), RCX_MIN);
}

static double wl2_norm(N_Vector x, N_Vector w)
{
    return sqrt(reduce_one(x, squares_local(x, w), RCX_SUM));
}

static double l1_norm(N_Vector x)
{
    return reduce_one(x, l1_norm_local(x), RCX_SUM);
}

static booleantype inv_test(N_Vector x, N_Vector z)
{
    return all_true(x, N_VInvTest_Serial(x, z));
}

static booleantype constr_mask(N_Vector c, N_Vector x, N_Vector m)
{
    return all_true(x, N_VConstrMask_Serial(c, x, m));
}

static double min_quotient(N_Vector num, N_Vector denom)
{
    return reduce_one(num, N_VMinQuotient_Serial(num, denom), RCX_MIN);
}

/* ---- Fused operations ---------------------------------------------------- */

static int sum_all(int n, N_Vector x, double values[])
{
    return reduce(x, values, n, RCX_SUM) ? 0 : -1;
}

static int dot_prod_multi(int n, N_Vector x, N_Vector *y, double *values)
{
    const int bad = dot_prod_multi_local(n, x, y, values);

    return bad ? bad : sum_all(n, x, values);
}

static int root_means(int n, N_Vector *x, double *norms)
{
    if (sum_all(n, x[0], norms) != 0)
        return -1;
    for (int i = 0; i < n; i++)
        norms[i] = root_mean(x[i], norms[i]);
    return 0;
}

static int wrms_norms(int n, N_Vector *x, N_Vector *w, double *norms)
{
    if (n < 1)
        return -1;
    for (int i = 0; i < n; i++)
        norms[i] = squares_local(x[i], w[i]);
    return root_means(n, x, norms);
}

static int wrms_norms_mask(int n, N_Vector *x, N_Vector *w, N_Vector id,
                           double *norms)
{
    if (n < 1)
        return -1;
    for (int i = 0; i < n; i++)
        norms[i] = masked_squares_local(x[i], w[i], id);
    return root_means(n, x, norms);
}

int N_VEnableFusedOps_Rcx(N_Vector v, booleantype on)
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
    ops->nvdotprodmultiallreduce = sum_all;
}

N_Vector N_VNewEmpty_Rcx(rcx_comm_t *comm, sunindextype local_length,
                         SUNContext sunctx)
{
    struct content c = {.part = {.length = local_length}, .comm = comm};
    int64_t length = local_length;
    N_Vector v = N_VNewEmpty(sunctx);

    /* first, as later failures may be on this rank only */
    if (rcx_allreduce(RCX_IN_PLACE, &length, 1, RCX_INT64, RCX_SUM, comm) !=
        RCX_OK) {
        N_VFreeEmpty(v);
        return NULL;
    }
    if (v)
        fill_ops(v->ops);
    c.length = length;
    return with_content(v, &c);
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
