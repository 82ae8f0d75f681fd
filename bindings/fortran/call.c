/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls from Fortran: descriptors of arrays are checked and, where librcx needs
 * contiguous memory, copied. The functions that use this are made from rcx.h by
 * make_rcx_h.py.
 */
#include "call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The module variable RCX_IN_PLACE. */
extern int rcx_f_in_place;

/* Of rcx.f90: error stop with this text, of n characters. */
_Noreturn void rcx_f_stop(const char *text, size_t n);

/* ---- Errors -------------------------------------------------------------- */

static void *fail(struct rcx_f_call *call, rcx_status_t status,
                  const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (call->status == RCX_OK)
        fprintf(stderr, "rcx error: %s: %s\n", call->function, text);
    call->status = status;
    return NULL;
}

void rcx_f_finish(const char *function, rcx_status_t got, rcx_comm_t *comm,
                  int *status)
{
    rcx_error_info_t info = {.text = ""};
    char text[1024];
    int length;

    if (status) {
        *status = got;
        return;
    }
    if (got >= 0)
        return; /* RCX_IN_PROGRESS is no error */
    if (!comm || rcx_comm_error(comm, &info) != RCX_OK || info.status == RCX_OK)
        info.text = "";
    length =
        snprintf(text, sizeof text, "%s: %s%s%s", function,
                 rcx_status_string(got), *info.text ? ": " : "", info.text);
    if (length >= (int)sizeof text)
        length = (int)sizeof text - 1;
    rcx_f_stop(text, (size_t)length);
}

/* ---- Arrays -------------------------------------------------------------- */

/* An assumed-size array has no end. */
static bool has_size(const CFI_cdesc_t *array)
{
    return array->rank == 0 || array->dim[array->rank - 1].extent >= 0;
}

static size_t elements_of(const CFI_cdesc_t *array)
{
    size_t n = 1;

    for (int i = 0; i < array->rank; i++)
        n *= (size_t)array->dim[i].extent;
    return n;
}

/*
 * The number of dimensions, from the first one on, whose elements follow each
 * other without gaps, and the bytes of that run.
 */
static int contiguous_dimensions(const CFI_cdesc_t *array, size_t *run_p)
{
    int i;

    *run_p = array->elem_len;
    for (i = 0; i < array->rank; i++) {
        const CFI_dim_t *dim = &array->dim[i];

        if (dim->extent < 0)
            continue; /* the last dimension of an assumed-size array */
        if (dim->extent != 1 && dim->sm != (CFI_index_t)*run_p)
            break;
        *run_p *= (size_t)dim->extent;
    }
    return i;
}

static bool is_contiguous(const CFI_cdesc_t *array)
{
    size_t run;

    return contiguous_dimensions(array, &run) == array->rank || run == 0 ||
           (has_size(array) && elements_of(array) == 0);
}

/* Copy an array of at least one element to contiguous memory, or back. */
static void copy_runs(const CFI_cdesc_t *array, char *memory, bool back)
{
    CFI_index_t at[CFI_MAX_RANK] = {0};
    size_t run;
    const int first = contiguous_dimensions(array, &run);
    const size_t runs = elements_of(array) * array->elem_len / run;

    for (size_t r = 0; r < runs; r++, memory += run) {
        char *there = array->base_addr;

        for (int i = first; i < array->rank; i++)
            there += at[i] * array->dim[i].sm;
        if (back)
            memcpy(there, memory, run);
        else
            memcpy(memory, there, run);
        for (int i = first; i < array->rank; i++) {
            if (++at[i] < array->dim[i].extent)
                break;
            at[i] = 0;
        }
    }
}

/* Memory that lives until the end of the call. */
static void *allocate(struct rcx_f_call *call, const char *name, size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);

    if (!memory)
        return fail(call, RCX_ERR_NOMEM,
                    "%s: no memory for a copy of %zu bytes", name, bytes);
    call->copy[call->copies++] = (struct rcx_f_copy){.memory = memory};
    return memory;
}

/* A contiguous copy of an array. */
static void *copy_of(struct rcx_f_call *call, const char *name,
                     const CFI_cdesc_t *array, bool is_written, bool is_buffer)
{
    void *memory = allocate(call, name, elements_of(array) * array->elem_len);
    struct rcx_f_copy *copy = &call->copy[call->copies - 1];

    if (!memory)
        return NULL;
    copy->back_to = is_written ? array : NULL;
    copy->is_buffer = is_buffer;
    copy_runs(array, memory, false);
    return memory;
}

/* ---- Arguments ----------------------------------------------------------- */

void rcx_f_begin(struct rcx_f_call *call, const char *function,
                 rcx_context_t *context, rcx_comm_t *comm, bool blocks)
{
    call->function = function;
    call->comm = comm;
    call->context = comm ? rcx_comm_context(comm) : context;
    call->rank = comm ? rcx_comm_rank(comm) : 0;
    call->size = comm ? rcx_comm_size(comm) : 0;
    if (call->size < 0) /* librcx reports it */
        call->rank = call->size = 0;
    call->blocks = blocks;
    call->status = RCX_OK;
    call->copies = 0;
}

size_t rcx_f_count(struct rcx_f_call *call, const char *name, int64_t value)
{
    if (value < 0)
        fail(call, RCX_ERR_ARG, "%s=%lld: needs 0 or more", name,
             (long long)value);
    return value < 0 ? 0 : (size_t)value;
}

const size_t *rcx_f_counts(struct rcx_f_call *call, const char *name,
                           const CFI_cdesc_t *array, size_t n)
{
    size_t *counts;

    if (!array || n == 0 || call->status != RCX_OK)
        return NULL;
    if ((size_t)array->dim[0].extent < n)
        return fail(call, RCX_ERR_ARG, "%s has %lld elements: needs %zu", name,
                    (long long)array->dim[0].extent, n);
    counts = allocate(call, name, n * sizeof *counts);
    for (size_t i = 0; counts && i < n; i++) {
        const char *at =
            (const char *)array->base_addr + (CFI_index_t)i * array->dim[0].sm;
        const int64_t value = array->elem_len == sizeof(int32_t)
                                  ? *(const int32_t *)at
                                  : *(const int64_t *)at;

        if (value < 0)
            return fail(call, RCX_ERR_ARG, "%s(%zu)=%lld: needs 0 or more",
                        name, i + 1, (long long)value);
        counts[i] = (size_t)value;
    }
    return counts;
}

bool rcx_f_is_in_place(const CFI_cdesc_t *array)
{
    return array->base_addr == &rcx_f_in_place;
}

void *rcx_f_array(struct rcx_f_call *call, const char *name,
                  const CFI_cdesc_t *array, size_t n, size_t bytes,
                  bool is_written)
{
    if (call->status != RCX_OK)
        return NULL;
    if (rcx_f_is_in_place(array))
        return RCX_IN_PLACE;
    if (array->elem_len != bytes)
        return fail(call, RCX_ERR_ARG,
                    "%s has elements of %zu bytes: needs type(c_ptr)", name,
                    array->elem_len);
    if (has_size(array) && elements_of(array) < n)
        return fail(call, RCX_ERR_ARG, "%s has %zu elements: needs %zu", name,
                    elements_of(array), n);
    return is_contiguous(array) ? array->base_addr
                                : copy_of(call, name, array, is_written, false);
}

/* The bytes that an argument must have; 0 if librcx refuses the call. */
static size_t bytes_of(struct rcx_f_call *call, size_t count,
                       rcx_datatype_t datatype)
{
    size_t bytes;

    if (!call->context)
        return 0;
    call->status = rcx_type_size(call->context, datatype, &bytes);
    if (call->status != RCX_OK)
        return 0;
    return __builtin_mul_overflow(bytes, count, &bytes) ? SIZE_MAX : bytes;
}

void *rcx_f_buffer(struct rcx_f_call *call, const char *name,
                   const CFI_cdesc_t *array, size_t count,
                   rcx_datatype_t datatype, bool is_written)
{
    size_t needed;

    if (call->status != RCX_OK)
        return NULL;
    if (rcx_f_is_in_place(array))
        return RCX_IN_PLACE;
    needed = bytes_of(call, count, datatype);
    if (needed == 0)
        return array->base_addr; /* it is not accessed */
    if (has_size(array) && elements_of(array) * array->elem_len < needed)
        return fail(call, RCX_ERR_ARG,
                    "%s has %zu elements of %zu bytes: needs %zu of datatype "
                    "%d, which are %zu bytes",
                    name, elements_of(array), array->elem_len, count, datatype,
                    needed);
    if (is_contiguous(array))
        return array->base_addr;
    if (!call->blocks)
        return fail(call, RCX_ERR_UNSUPPORTED,
                    "%s is not contiguous, which a call that does not block "
                    "needs: pass a contiguous copy that lives until completion",
                    name);
    return copy_of(call, name, array, is_written, true);
}

/*
 * After an error that the communicator has, peers may still access a buffer, so
 * that its copy must live on: it is not freed.
 */
static bool is_over(const struct rcx_f_call *call)
{
    return call->status == RCX_OK || call->status == RCX_ERR_ARG ||
           call->status == RCX_ERR_UNSUPPORTED || call->status == RCX_ERR_NOMEM;
}

void rcx_f_end(struct rcx_f_call *call, int *status)
{
    for (int i = 0; i < call->copies; i++) {
        const struct rcx_f_copy *copy = &call->copy[i];

        if (call->status == RCX_OK && copy->back_to)
            copy_runs(copy->back_to, copy->memory, true);
        if (!copy->is_buffer || is_over(call))
            free(copy->memory);
    }
    rcx_f_finish(call->function, call->status, call->comm, status);
}

/* ---- Numbers of elements ------------------------------------------------- */

static size_t add(size_t a, size_t b)
{
    return __builtin_add_overflow(a, b, &a) ? SIZE_MAX : a;
}

size_t rcx_f_times(size_t count, int n)
{
    return __builtin_mul_overflow(count, (size_t)n, &count) ? SIZE_MAX : count;
}

size_t rcx_f_at(const size_t *counts, int i)
{
    return counts ? counts[i] : 0;
}

size_t rcx_f_sum(const size_t *counts, int n)
{
    return rcx_f_reach(counts, NULL, n);
}

size_t rcx_f_reach(const size_t *counts, const size_t *displs, int n)
{
    size_t reach = 0;

    for (int i = 0; counts && i < n; i++) {
        const size_t end = add(displs ? displs[i] : reach, counts[i]);

        if (end > reach && counts[i] > 0)
            reach = end;
    }
    return reach;
}
