/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call from Fortran: turns descriptors of arrays into what librcx takes.
 *
 * Errors latch: after the first one the following functions do nothing, and
 * librcx is not called. An error that is found here is printed to stderr, in
 * the form that lines of librcx have there.
 */
#ifndef RCX_BINDINGS_FORTRAN_CALL_H
#define RCX_BINDINGS_FORTRAN_CALL_H

#include <ISO_Fortran_binding.h>
#include <rcx/rcx.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The handles, as module rcx defines them. */
struct rcx_f_context {
    rcx_context_t *handle;
};
struct rcx_f_comm {
    rcx_comm_t *handle;
};
struct rcx_f_request {
    rcx_request_t *handle;
};
struct rcx_f_datatype {
    rcx_datatype_t number;
};
struct rcx_f_op {
    rcx_op_t number;
};

enum { RCX_F_COPIES = 6 }; /* at most in one call: those of alltoallv */

struct rcx_f_call {
    const char *function;
    rcx_context_t *context;
    rcx_comm_t *comm;
    int rank, size; /* in comm; 0 if there is none, or it is not valid */
    bool blocks;    /* the buffers are not needed after the call */
    rcx_status_t status;
    int copies;
    struct rcx_f_copy {
        void *memory;
        const CFI_cdesc_t *back_to; /* NULL: it is not written */
        bool is_buffer;             /* else librcx copies it */
    } copy[RCX_F_COPIES];
};

/* context and comm may be NULL. */
void rcx_f_begin(struct rcx_f_call *call, const char *function,
                 rcx_context_t *context, rcx_comm_t *comm, bool blocks);

/* A number of elements or bytes. RCX_ERR_ARG: it is negative. */
size_t rcx_f_count(struct rcx_f_call *call, const char *name, int64_t value);

/*
 * The first n elements of an array of counts or displacements, of 32 or 64
 * bits. array may be NULL, and then so is the result. RCX_ERR_ARG: it has less
 * elements, or a negative one. RCX_ERR_NOMEM.
 */
const size_t *rcx_f_counts(struct rcx_f_call *call, const char *name,
                           const CFI_cdesc_t *array, size_t n);

/*
 * The first n elements of an array of numbers, handles or addresses; the array
 * itself, or a copy if it is not contiguous. RCX_IN_PLACE if it is that of
 * Fortran. RCX_ERR_ARG: it has less elements, or other ones. RCX_ERR_NOMEM.
 */
void *rcx_f_array(struct rcx_f_call *call, const char *name,
                  const CFI_cdesc_t *array, size_t n, size_t bytes,
                  bool is_written);

/*
 * A buffer of which the call accesses count elements of datatype. An array that
 * is not contiguous is copied, if the call blocks. RCX_IN_PLACE if it is that
 * of Fortran.
 *
 * RCX_ERR_ARG          the array is shorter
 * RCX_ERR_UNSUPPORTED  it is not contiguous, and the call does not block
 * RCX_ERR_NOMEM
 */
void *rcx_f_buffer(struct rcx_f_call *call, const char *name,
                   const CFI_cdesc_t *array, size_t count,
                   rcx_datatype_t datatype, bool is_written);
bool rcx_f_is_in_place(const CFI_cdesc_t *array);

/* Copy results back, and end the call as rcx_f_finish() does. */
void rcx_f_end(struct rcx_f_call *call, int *status);

/*
 * Store got in *status. If status is NULL, the Fortran argument is absent: an
 * error then ends the program (error stop) with a text that names the function,
 * the error, and why comm has failed. comm may be NULL.
 */
void rcx_f_finish(const char *function, rcx_status_t got, rcx_comm_t *comm,
                  int *status);

/* Numbers of elements. All saturate; counts may be NULL after an error, or if
 * they are ignored, and displs if blocks are contiguous. */
size_t rcx_f_times(size_t count, int n);
size_t rcx_f_at(const size_t *counts, int i);
size_t rcx_f_sum(const size_t *counts, int n);
/* The end of the last block. */
size_t rcx_f_reach(const size_t *counts, const size_t *displs, int n);

#endif
