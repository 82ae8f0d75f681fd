/* SPDX-License-Identifier: BSD-3-Clause */
/* Assignment between elements of two images: access to coarrays by x[i]. */
#ifndef RCX_BINDINGS_COARRAY_ACCESS_H
#define RCX_BINDINGS_COARRAY_ACCESS_H

#include "memory.h"
#include "section.h"

/* Elements, and the image that has them. */
struct caf_place {
    int rank; /* of that image, in the initial team */
    struct caf_section section;
    struct caf_element element;
};

/* Set p to all of a local array or scalar. */
void caf_place_set(struct caf_place *p, const struct caf_array *a, int kind);
/* to = from, with conversion; a scalar is assigned to all elements. Reports the
 * outcome. */
void caf_assign(const struct caf_place *to, const struct caf_place *from,
                const struct caf_outcome *outcome);
/* Copy bytes at an address of another image, such as a descriptor or a
 * pointer. */
rcx_status_t caf_fetch(int rank, uint64_t address, void *into, size_t bytes);

/* Offsets in bytes for a vector subscript with count indices of the given kind.
 * Free with caf_drop_offsets(). NULL: no memory. */
ptrdiff_t *caf_offsets(const void *indices, int kind, size_t count,
                       ptrdiff_t lower, ptrdiff_t step);
void caf_drop_offsets(const struct caf_section *s);

/* The rank of an image of the current team in the initial team. -1, and an
 * error in outcome: no such image, it has failed, or it does not have the
 * coarray. */
int caf_reach(const struct caf_coarray *c, int image,
              const struct caf_outcome *outcome);

#endif
