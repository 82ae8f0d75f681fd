/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * co_sum, co_min, co_max, co_reduce and co_broadcast. Each is one RCX
 * collective, whatever the shape; arrays that are not contiguous are packed
 * first. Types and functions that RCX does not have become user-defined types
 * and ops.
 */
#include <stdlib.h>
#include <string.h>

#include "section.h"

/* ---- Elements ------------------------------------------------------------ */

/* RCX's type of the elements of a; 0: none. A real of 16 bytes is taken for
 * kind 10: gfortran does not distinguish it from kind 16 here. */
static rcx_datatype_t datatype_of(const struct caf_array *a)
{
    static const struct {
        signed char type;
        size_t bytes;
        rcx_datatype_t datatype;
    } types[] = {
        {CAF_INTEGER, 1, RCX_INT8},
        {CAF_INTEGER, 2, RCX_INT16},
        {CAF_INTEGER, 4, RCX_INT32},
        {CAF_INTEGER, 8, RCX_INT64},
        {CAF_REAL, 4, RCX_FLOAT32},
        {CAF_REAL, 8, RCX_FLOAT64},
        {CAF_REAL, 16, RCX_LONG_DOUBLE},
        {CAF_COMPLEX, 8, RCX_COMPLEX_FLOAT},
        {CAF_COMPLEX, 16, RCX_COMPLEX_DOUBLE},
        {CAF_COMPLEX, 32, RCX_COMPLEX_LONG_DOUBLE},
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == a->dtype.type &&
            types[i].bytes == a->dtype.elem_len)
            return types[i].datatype;
    return 0;
}

/* ---- User-defined ops ---------------------------------------------------- */

enum { BY_VALUE = 4 }; /* a flag of co_reduce: its function takes values */

/* Argument of a user-defined op. by, flags: co_reduce's function and flags.
 * co_sum sets flags to 1. */
struct user {
    void (*by)(void);
    int flags;
    signed char type;
    size_t bytes, characters;
    bool is_max;
};

static int combine_int128(void *dst, const void *left, const void *right,
                          size_t count, rcx_datatype_t type, void *arg)
{
    const struct user *u = arg;
    const __int128 *a = left, *b = right;
    __int128 *c = dst;

    (void)type;
    for (size_t i = 0; i < count; i++)
        c[i] = u->flags                     ? a[i] + b[i]
               : (a[i] > b[i]) == u->is_max ? a[i]
                                            : b[i];
    return 0;
}

/* Compare texts of equal length by their character codes. */
static int compare_text(const void *a, const void *b, const struct user *u)
{
    const size_t kind = u->characters ? u->bytes / u->characters : 1;
    const uint32_t *x = a, *y = b;

    if (kind != sizeof *x)
        return memcmp(a, b, u->bytes);
    for (size_t i = 0; i < u->characters; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int combine_text(void *dst, const void *left, const void *right,
                        size_t count, rcx_datatype_t type, void *arg)
{
    const struct user *u = arg;

    (void)type;
    for (size_t i = 0; i < count; i++) {
        const char *a = (const char *)left + i * u->bytes;
        const char *b = (const char *)right + i * u->bytes;
        const bool takes_left = (compare_text(a, b, u) > 0) == u->is_max;

        memmove((char *)dst + i * u->bytes, takes_left ? a : b, u->bytes);
    }
    return 0;
}

/* Define call_NAME(), which calls co_reduce's function on two elements.
 * There is one for each C type, which determines how arguments and result
 * are passed. */
#define CALLS(name, ctype)                                                     \
    static void call_##name(const struct user *u, void *dst, const void *a,    \
                            const void *b)                                     \
    {                                                                          \
        ctype x, y;                                                            \
                                                                               \
        memcpy(&x, a, sizeof x);                                               \
        memcpy(&y, b, sizeof y);                                               \
        if (u->flags & BY_VALUE)                                               \
            x = ((ctype(*)(ctype, ctype))u->by)(x, y);                         \
        else                                                                   \
            x = ((ctype(*)(ctype *, ctype *))u->by)(&x, &y);                   \
        memcpy(dst, &x, sizeof x);                                             \
    }
CALLS(int8, int8_t)
CALLS(int16, int16_t)
CALLS(int32, int32_t)
CALLS(int64, int64_t)
CALLS(int128, __int128)
CALLS(float, float)
CALLS(double, double)
CALLS(long_double, long double)
CALLS(complex_float, float _Complex)
CALLS(complex_double, double _Complex)
CALLS(complex_long_double, long double _Complex)

static void call_text(const struct user *u, void *dst, const void *a,
                      const void *b)
{
    char result[u->bytes];

    ((void (*)(char *, size_t, const char *, const char *, size_t,
               size_t))u->by)(result, u->characters, a, b, u->characters,
                              u->characters);
    memcpy(dst, result, u->bytes);
}

static void call_derived(const struct user *u, void *dst, const void *a,
                         const void *b)
{
    char result[u->bytes] __attribute__((aligned(16)));

    ((void (*)(void *, const void *, const void *))u->by)(result, a, b);
    memcpy(dst, result, u->bytes);
}

typedef void (*call_fn_t)(const struct user *u, void *dst, const void *a,
                          const void *b);

/* The function that calls u->by for elements of u's type. NULL: there is none.
 * A derived type of 16 bytes or less is returned in registers, which depend on
 * its components. */
static call_fn_t call_of(const struct user *u)
{
    static const struct {
        signed char type;
        size_t bytes;
        call_fn_t call;
    } calls[] = {
        {CAF_INTEGER, 1, call_int8},
        {CAF_INTEGER, 2, call_int16},
        {CAF_INTEGER, 4, call_int32},
        {CAF_INTEGER, 8, call_int64},
        {CAF_INTEGER, 16, call_int128},
        {CAF_LOGICAL, 1, call_int8},
        {CAF_LOGICAL, 2, call_int16},
        {CAF_LOGICAL, 4, call_int32},
        {CAF_LOGICAL, 8, call_int64},
        {CAF_REAL, 4, call_float},
        {CAF_REAL, 8, call_double},
        {CAF_REAL, 16, call_long_double},
        {CAF_COMPLEX, 8, call_complex_float},
        {CAF_COMPLEX, 16, call_complex_double},
        {CAF_COMPLEX, 32, call_complex_long_double},
    };

    if (u->type == CAF_CHARACTER)
        return call_text;
    if (u->type == CAF_DERIVED)
        return u->bytes > 16 ? call_derived : NULL;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].type == u->type && calls[i].bytes == u->bytes)
            return calls[i].call;
    return NULL;
}

static int combine_by_function(void *dst, const void *left, const void *right,
                               size_t count, rcx_datatype_t type, void *arg)
{
    const struct user *u = arg;
    const call_fn_t call = call_of(u);

    (void)type;
    for (size_t i = 0; i < count; i++)
        call(u, (char *)dst + i * u->bytes, (const char *)left + i * u->bytes,
             (const char *)right + i * u->bytes);
    return 0;
}

/* ---- One operation ------------------------------------------------------- */

/* Reduce data in place. image: where the result is; 0: on all. */
static rcx_status_t reduce(void *data, size_t count, rcx_datatype_t type,
                           rcx_op_t op, int image)
{
    rcx_comm_t *comm = caf_enter();

    if (image == 0)
        return CAF_CALL(allreduce, RCX_IN_PLACE, data, count, type, op, comm);
    return rcx_comm_rank(comm) == image - 1
               ? CAF_CALL(reduce, RCX_IN_PLACE, data, count, type, op,
                          image - 1, comm)
               : CAF_CALL(reduce, data, NULL, count, type, op, image - 1, comm);
}

static rcx_status_t reduce_by_user(void *data, size_t count, rcx_op_fn_t fn,
                                   struct user *u, int image)
{
    rcx_context_t *context = caf_context();
    rcx_datatype_t type = 0;
    rcx_op_t op = 0;
    rcx_status_t status = rcx_type_create(context, u->bytes, &type);

    if (status == RCX_OK)
        status = rcx_op_create(context, fn, RCX_OP_NO_FAIL, u, &op);
    if (status == RCX_OK)
        status = reduce(data, count, type, op, image);
    if (op)
        rcx_op_free(context, &op);
    if (type)
        rcx_type_free(context, &type);
    return status;
}

/* A collective on packed elements. */
struct operation {
    rcx_op_t op;    /* predefined, on a type of RCX's; 0: use fn */
    rcx_op_fn_t fn; /* user-defined; NULL, with op 0: a broadcast */
    struct user user;
    int image; /* result_image (0: all), source_image */
};

static rcx_status_t perform(struct operation *o, void *data, size_t count,
                            const struct caf_array *a)
{
    if (o->op)
        return reduce(data, count, datatype_of(a), o->op, o->image);
    if (o->fn)
        return reduce_by_user(data, count, o->fn, &o->user, o->image);
    return CAF_CALL(bcast, data, count * a->dtype.elem_len, RCX_BYTE,
                    o->image - 1, caf_enter());
}

static void run(struct operation *o, struct caf_array *a,
                const struct caf_outcome *outcome)
{
    const int me = rcx_comm_rank(caf_team()->comm) + 1,
              least = o->op || o->fn ? 0 : 1;
    struct caf_section s;
    size_t count;
    char *packed;
    rcx_status_t status;

    if (o->image < least || o->image > rcx_comm_size(caf_team()->comm)) {
        caf_refuse(outcome, "no such image");
        return;
    }
    caf_section_set_operand(&s, a);
    count = caf_section_count(&s);
    if (caf_section_is_dense(&s)) {
        caf_end(outcome, perform(o, a->base_addr, count, a));
        return;
    }
    packed = malloc(count * s.element + 1);
    if (!packed) {
        caf_end(outcome, RCX_ERR_NOMEM);
        return;
    }
    caf_pack(&s, a->base_addr, packed);
    status = perform(o, packed, count, a);
    if (status == RCX_OK && (o->image == 0 || o->image == me || least == 1))
        caf_unpack(&s, a->base_addr, packed);
    free(packed);
    caf_end(outcome, status);
}

/* ---- What gfortran calls ------------------------------------------------- */

static void combine(rcx_op_t op, struct caf_array *a, int image,
                    size_t characters, const struct caf_outcome *outcome)
{
    struct operation o = {.image = image,
                          .user = {.type = a->dtype.type,
                                   .bytes = a->dtype.elem_len,
                                   .characters = characters,
                                   .flags = op == RCX_SUM,
                                   .is_max = op == RCX_MAX}};

    if (rcx_op_supported(op, datatype_of(a)))
        o.op = op;
    else if (a->dtype.type == CAF_CHARACTER && op != RCX_SUM)
        o.fn = combine_text;
    else if (a->dtype.type == CAF_INTEGER && a->dtype.elem_len == 16)
        o.fn = combine_int128;
    if (!o.op && !o.fn)
        /* also for a component of a section: gfortran 12 passes its parent's
         * type */
        caf_refuse(outcome, "not defined on this type");
    else
        run(&o, a, outcome);
}

void _gfortran_caf_co_sum(struct caf_array *a, int image, int *stat,
                          char *errmsg, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"co_sum", stat, errmsg, errmsg_len,
                                        false};

    combine(RCX_SUM, a, image, 0, &outcome);
}

void _gfortran_caf_co_min(struct caf_array *a, int image, int *stat,
                          char *errmsg, int characters, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"co_min", stat, errmsg, errmsg_len,
                                        false};

    combine(RCX_MIN, a, image, (size_t)characters, &outcome);
}

void _gfortran_caf_co_max(struct caf_array *a, int image, int *stat,
                          char *errmsg, int characters, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"co_max", stat, errmsg, errmsg_len,
                                        false};

    combine(RCX_MAX, a, image, (size_t)characters, &outcome);
}

void _gfortran_caf_co_reduce(struct caf_array *a, void (*function)(void),
                             int flags, int image, int *stat, char *errmsg,
                             int characters, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"co_reduce", stat, errmsg, errmsg_len,
                                        false};
    struct operation o = {.fn = combine_by_function,
                          .image = image,
                          .user = {.by = function,
                                   .flags = flags,
                                   .type = a->dtype.type,
                                   .bytes = a->dtype.elem_len,
                                   .characters = (size_t)characters}};

    if (call_of(&o.user))
        run(&o, a, &outcome);
    else
        caf_refuse(&outcome,
                   "a function of a derived type of 16 bytes or less cannot be"
                   " called");
}

void _gfortran_caf_co_broadcast(struct caf_array *a, int image, int *stat,
                                char *errmsg, size_t errmsg_len)
{
    const struct caf_outcome outcome = {"co_broadcast", stat, errmsg,
                                        errmsg_len, false};
    struct operation o = {.image = image};

    run(&o, a, &outcome);
}
