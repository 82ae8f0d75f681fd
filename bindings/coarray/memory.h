/* SPDX-License-Identifier: BSD-3-Clause */
/* Coarrays: what a token is, and where other images have theirs. */
#ifndef RCX_BINDINGS_COARRAY_MEMORY_H
#define RCX_BINDINGS_COARRAY_MEMORY_H

#include "caf.h"

struct caf_coarray {
    char *memory; /* NULL: none, now */
    size_t bytes;
    const struct caf_array
        *array;            /* this image's, of its shape; NULL: a scalar */
    struct caf_team *team; /* that has it; NULL: this image alone */
    uint64_t *addresses;   /* by ranks of the initial team; 0: none there */
};

/* All images of the current team's. What begins with zeros is that. Of an
 * error, the memory is there, and this image's alone. */
rcx_status_t caf_coarray_new(size_t bytes, bool is_zero,
                             struct caf_coarray *coarray);
/* Where bytes at an address of rank's can be reached by loads and stores; NULL:
 * ask for them (far.h). */
char *caf_near(int rank, uint64_t address, size_t bytes);

/* All pools go. */
void caf_memory_close(void);

#endif
