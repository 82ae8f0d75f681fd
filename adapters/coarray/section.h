/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections: the elements that an access is to. A section may describe memory of
 * this image or of another one, and is sent in requests (far.h). */
#ifndef RCX_BINDINGS_COARRAY_SECTION_H
#define RCX_BINDINGS_COARRAY_SECTION_H

#include "caf.h"

enum { CAF_RANK_MOST = 15 };

struct caf_section {
    uint64_t base;  /* address of the first element, in the image that has it */
    size_t element; /* bytes */
    long rank;      /* long, so that no padding follows: sent as raw bytes */
    struct caf_dim {
        size_t count;
        ptrdiff_t step; /* bytes */
        /* of a vector subscript, in bytes, instead of step; or NULL */
        const ptrdiff_t *offsets;
    } dim[CAF_RANK_MOST];
};

/* Type of an element. */
struct caf_element {
    signed char type; /* enum caf_type */
    int kind;
    size_t bytes;
};

/* Set s to all of an array, or to a scalar, whose first element is at base. */
void caf_section_set(struct caf_section *s, const struct caf_array *a,
                     uint64_t base);
/*
 * Set s to the operand of a collective, all of a. The unit of strides is
 * elem_len: gfortran 12 leaves the span unset for a component of a derived type
 * that co_broadcast takes apart. If that component is not allocated, gfortran
 * leaves its bounds unset, too: s is then empty.
 */
void caf_section_set_operand(struct caf_section *s, const struct caf_array *a);
size_t caf_section_count(const struct caf_section *s);
/* Whether the elements are contiguous, in order. */
bool caf_section_is_dense(const struct caf_section *s);
/* The range of addresses that contains all elements of s. */
void caf_section_span(const struct caf_section *s, uint64_t *from_p,
                      size_t *bytes_p);

/* Copy elements between a section and packed memory, in Fortran's order. at:
 * where the section's base is mapped in this process. */
void caf_pack(const struct caf_section *s, const char *at, char *packed);
void caf_unpack(const struct caf_section *s, char *at, const char *packed);

bool caf_is_same(const struct caf_element *a, const struct caf_element *b);
/* Convert count elements as a Fortran assignment does. False: there is no such
 * conversion. */
bool caf_convert(char *to, const struct caf_element *to_type, const char *from,
                 const struct caf_element *from_type, size_t count);

#endif
