/* SPDX-License-Identifier: BSD-3-Clause */
/* Coarrays: what a token of gfortran's points to, and where other images have
 * their parts. */
#ifndef RCX_BINDINGS_COARRAY_MEMORY_H
#define RCX_BINDINGS_COARRAY_MEMORY_H

#include "caf.h"

struct caf_coarray {
    char *memory; /* NULL: not allocated now */
    size_t bytes;
    const struct caf_array
        *array; /* this image's descriptor, with the shape; NULL: a scalar */
    struct caf_team *team; /* that shares it; NULL: this image alone */
    uint64_t *addresses;   /* of each rank of the initial team; 0: none there */
};

/* Allocate a coarray on all images of the current team. is_zero: fill it with
 * zeros. After an error coarray->memory, if not NULL, is usable by this image
 * only. */
rcx_status_t caf_coarray_new(size_t bytes, bool is_zero,
                             struct caf_coarray *coarray);
/* Free what caf_coarray_new() has allocated, for this image. */
void caf_coarray_free(struct caf_coarray *coarray);
/* Where bytes at an address of rank can be accessed by loads and stores. NULL:
 * they cannot; use messages (far.h). */
char *caf_near(int rank, uint64_t address, size_t bytes);

/* Free all pools, at the end of the program. */
void caf_memory_close(void);

#endif
