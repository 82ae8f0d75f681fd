/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of one image to those of another. */
#ifndef RCX_BINDINGS_COARRAY_ACCESS_H
#define RCX_BINDINGS_COARRAY_ACCESS_H

#include "memory.h"
#include "section.h"

/* Elements, and whose they are. */
struct caf_place {
    int rank; /* of the initial team */
    struct caf_section section;
    struct caf_element element;
};

/* A local array, or scalar. */
void caf_place_set(struct caf_place *p, const struct caf_array *a, int kind);
/* to = from; a scalar goes to all elements. */
void caf_assign(const struct caf_place *to, const struct caf_place *from,
                const struct caf_outcome *outcome);
/* For bytes of another image's: a descriptor, a pointer. */
rcx_status_t caf_fetch(int rank, uint64_t address, void *into, size_t bytes);

/* Of vector subscripts, in bytes; NULL: no memory. */
ptrdiff_t *caf_offsets(const void *indices, int kind, size_t count,
                       ptrdiff_t lower, ptrdiff_t step);
void caf_drop_offsets(const struct caf_section *s);

/* An image's rank in the initial team; -1: there is none, it has failed, or has
 * no such coarray, which is told. */
int caf_reach(const struct caf_coarray *c, int image,
              const struct caf_outcome *outcome);

#endif
