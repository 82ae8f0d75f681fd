/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of libcaf_rcx share: the job, errors as Fortran has them, descriptors. */
#ifndef RCX_CAF_H
#define RCX_CAF_H

#include <rcx/rcx.h>
#include <stdbool.h>
#include <stddef.h>

/* What gfortran 8 and later hand over for an array, or a scalar (rank 0). */
struct caf_array {
    void *base_addr;
    size_t offset;
    struct {
        size_t elem_len; /* bytes */
        int version;
        signed char rank;
        signed char type; /* enum caf_type */
        short attribute;
    } dtype;
    ptrdiff_t span; /* bytes of a stride of 1 */
    struct {
        ptrdiff_t stride;
        ptrdiff_t lower;
        ptrdiff_t upper;
    } dim[];
};

enum caf_type {
    CAF_INTEGER = 1,
    CAF_LOGICAL = 2,
    CAF_REAL = 3,
    CAF_COMPLEX = 4,
    CAF_DERIVED = 5,
    CAF_CHARACTER = 6
};

/* of ISO_FORTRAN_ENV, as gfortran has them */
enum {
    CAF_STAT_ERROR = 1,
    CAF_STAT_STOPPED_IMAGE = 6000,
    CAF_STAT_FAILED_IMAGE = 6001
};

/* Where a statement says what went wrong: stat=, errmsg=. */
struct caf_outcome {
    const char *statement;
    int *stat; /* NULL: the program ends there */
    char *errmsg;
    size_t errmsg_len;
    bool is_sync; /* sync all, images, memory */
};

/* All images. Starts RCX if need be: coarrays are there before main(). */
rcx_comm_t *caf_world(void);
rcx_context_t *caf_context(void);

/* Stores how a statement ended, or ends the program where nobody wants to know. */
void caf_end(const struct caf_outcome *outcome, rcx_status_t status);
/* The same for what RCX was not asked. */
void caf_refuse(const struct caf_outcome *outcome, const char *text);

#endif
