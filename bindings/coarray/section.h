/* SPDX-License-Identifier: BSD-3-Clause */
/* Which elements an access is to: at this image, at another one, or on their
 * way. */
#ifndef RCX_BINDINGS_COARRAY_SECTION_H
#define RCX_BINDINGS_COARRAY_SECTION_H

#include "caf.h"

enum { CAF_RANK_MOST = 15 };

struct caf_section {
    uint64_t base;  /* address of the first element, at the image that has it */
    size_t element; /* bytes */
    long rank;      /* no gap behind it: it is sent as it is */
    struct caf_dim {
        size_t count;
        ptrdiff_t step; /* bytes */
        const ptrdiff_t
            *offsets; /* bytes, of vector subscripts, instead; or NULL */
    } dim[CAF_RANK_MOST];
};

/* What an element is. */
struct caf_element {
    signed char type; /* enum caf_type */
    int kind;
    size_t bytes;
};

/* All of an array, or a scalar. */
void caf_section_set(struct caf_section *s, const struct caf_array *a,
                     uint64_t base);
/*
 * The operand of a collective. gfortran 12 gives elements, which are one span
 * apart where it says so; of a component of a derived type that co_broadcast
 * takes apart it leaves the span unset, and where that is not allocated the
 * bounds, too.
 */
void caf_section_set_operand(struct caf_section *s, const struct caf_array *a);
size_t caf_section_count(const struct caf_section *s);
/* One after the other, without gaps. */
bool caf_section_is_dense(const struct caf_section *s);
/* The stretch of memory that it lies in. */
void caf_section_span(const struct caf_section *s, uint64_t *from_p,
                      size_t *bytes_p);

/* Elements in Fortran's order, between where the section lies in this process
 * (its base is at at) and packed memory. */
void caf_pack(const struct caf_section *s, const char *at, char *packed);
void caf_unpack(const struct caf_section *s, char *at, const char *packed);

bool caf_is_same(const struct caf_element *a, const struct caf_element *b);
/* As an assignment would. False: it has no such conversion. */
bool caf_convert(char *to, const struct caf_element *to_type, const char *from,
                 const struct caf_element *from_type, size_t count);

#endif
