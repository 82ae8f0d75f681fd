/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sections: setting them from gfortran's descriptors, packing and unpacking,
 * and conversion of elements between Fortran's types. Copies within this
 * process only; far.c sends sections to other images.
 */
#include "section.h"

#include <string.h>

/* ---- Shape --------------------------------------------------------------- */

static size_t extent(const struct caf_array *a, int dim)
{
    const ptrdiff_t n = a->dim[dim].upper - a->dim[dim].lower + 1;

    return n > 0 ? (size_t)n : 0;
}

static void set(struct caf_section *s, const struct caf_array *a, uint64_t base,
                ptrdiff_t span)
{
    s->base = base;
    s->element = a->dtype.elem_len;
    s->rank = a->dtype.rank;
    for (int d = 0; d < s->rank; d++)
        s->dim[d] = (struct caf_dim){.count = extent(a, d),
                                     .step = a->dim[d].stride * span};
}

/* For a component of an array's elements, the span is the size of the parent's
 * elements, and larger than elem_len. */
void caf_section_set(struct caf_section *s, const struct caf_array *a,
                     uint64_t base)
{
    set(s, a, base, a->span ? a->span : (ptrdiff_t)a->dtype.elem_len);
}

void caf_section_set_operand(struct caf_section *s, const struct caf_array *a)
{
    set(s, a, (uint64_t)a->base_addr, (ptrdiff_t)a->dtype.elem_len);
    if (a->base_addr)
        return;
    s->rank = 1;
    s->dim[0] = (struct caf_dim){.count = 0};
}

size_t caf_section_count(const struct caf_section *s)
{
    size_t count = 1;

    for (int d = 0; d < s->rank; d++)
        count *= s->dim[d].count;
    return count;
}

bool caf_section_is_dense(const struct caf_section *s)
{
    ptrdiff_t step = (ptrdiff_t)s->element;

    for (int d = 0; d < s->rank; d++) {
        if (s->dim[d].count != 1 &&
            (s->dim[d].offsets || s->dim[d].step != step))
            return false;
        step *= (ptrdiff_t)s->dim[d].count;
    }
    return true;
}

static ptrdiff_t offset_of(const struct caf_dim *dim, size_t i)
{
    return dim->offsets ? dim->offsets[i] : (ptrdiff_t)i * dim->step;
}

void caf_section_span(const struct caf_section *s, uint64_t *from_p,
                      size_t *bytes_p)
{
    ptrdiff_t lowest = 0, highest = 0;

    for (int d = 0; d < s->rank && s->dim[d].count > 0; d++) {
        const struct caf_dim *dim = &s->dim[d];
        ptrdiff_t low = offset_of(dim, 0), high = low;

        for (size_t i = dim->offsets ? 0 : dim->count - 1; i < dim->count;
             i++) {
            const ptrdiff_t at = offset_of(dim, i);

            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        lowest += low;
        highest += high;
    }
    *from_p = s->base + (uint64_t)lowest;
    *bytes_p = (size_t)(highest - lowest) + s->element;
}

/* ---- Packing ------------------------------------------------------------- */

static void copy_element(char *to, const char *from, size_t bytes)
{
    switch (bytes) {
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memmove(to, from, bytes);
    }
}

/* Copy a line of the first dimension, which starts at at. Returns the end of
 * the packed elements. */
static char *copy_line(const struct caf_section *s, char *at, char *packed,
                       bool is_packing)
{
    const struct caf_dim *dim = &s->dim[0];
    const size_t bytes = s->element;

    if (!dim->offsets && dim->step == (ptrdiff_t)bytes) {
        memmove(is_packing ? packed : at, is_packing ? at : packed,
                dim->count * bytes);
        return packed + dim->count * bytes;
    }
    for (size_t i = 0; i < dim->count; i++, packed += bytes) {
        char *element = at + offset_of(dim, i);

        copy_element(is_packing ? packed : element,
                     is_packing ? element : packed, bytes);
    }
    return packed;
}

static void copy(const struct caf_section *s, char *at, char *packed,
                 bool is_packing)
{
    size_t index[CAF_RANK_MOST] = {0};
    int d = 0;

    if (s->rank == 0) {
        copy_element(is_packing ? packed : at, is_packing ? at : packed,
                     s->element);
        return;
    }
    if (caf_section_count(s) == 0)
        return;
    while (d < s->rank) {
        char *line = at;

        for (d = 1; d < s->rank; d++)
            line += offset_of(&s->dim[d], index[d]);
        packed = copy_line(s, line, packed, is_packing);
        for (d = 1; d < s->rank && ++index[d] == s->dim[d].count; d++)
            index[d] = 0;
    }
}

void caf_pack(const struct caf_section *s, const char *at, char *packed)
{
    copy(s, (char *)at, packed, true);
}

void caf_unpack(const struct caf_section *s, char *at, const char *packed)
{
    copy(s, at, (char *)packed, false);
}

/* ---- Conversion ---------------------------------------------------------- */

bool caf_is_same(const struct caf_element *a, const struct caf_element *b)
{
    return a->type == b->type && a->kind == b->kind && a->bytes == b->bytes;
}

typedef _Complex float quad_complex __attribute__((mode(TC)));

/* Holds a number of any Fortran type and kind without loss. */
struct number {
    bool is_integer;
    __int128 integer;
    quad_complex other;
};

/* Lists of kinds and C types. The kind of a complex is that of its parts. */
#define INTEGERS(X)                                                            \
    X(1, int8_t)                                                               \
    X(2, int16_t)                                                              \
    X(4, int32_t)                                                              \
    X(8, int64_t)                                                              \
    X(16, __int128)
#define OTHERS(X)                                                              \
    X(CAF_REAL, 4, float)                                                      \
    X(CAF_REAL, 8, double)                                                     \
    X(CAF_REAL, 10, long double)                                               \
    X(CAF_REAL, 16, __float128)                                                \
    X(CAF_COMPLEX, 4, float _Complex)                                          \
    X(CAF_COMPLEX, 8, double _Complex)                                         \
    X(CAF_COMPLEX, 10, long double _Complex)                                   \
    X(CAF_COMPLEX, 16, quad_complex)

enum { KINDS = 32 }; /* larger than any kind */

#define LOAD_INTEGER(kind, ctype)                                              \
    case CAF_INTEGER *KINDS + (kind):                                          \
    case CAF_LOGICAL *KINDS + (kind): {                                        \
        ctype x;                                                               \
        memcpy(&x, from, sizeof x);                                            \
        *n = (struct number){true, x, (__float128)x};                          \
        return true;                                                           \
    }
#define LOAD_OTHER(type, kind, ctype)                                          \
    case (type)*KINDS + (kind): {                                              \
        ctype x;                                                               \
        memcpy(&x, from, sizeof x);                                            \
        *n = (struct number){false, 0, (quad_complex)x};                       \
        return true;                                                           \
    }

static bool load(struct number *n, const char *from,
                 const struct caf_element *e)
{
    switch (e->type * KINDS + e->kind) {
        INTEGERS(LOAD_INTEGER)
        OTHERS(LOAD_OTHER)
    default: return false;
    }
}

#define STORE_INTEGER(kind, ctype)                                             \
    case CAF_INTEGER *KINDS + (kind):                                          \
    case CAF_LOGICAL *KINDS + (kind): {                                        \
        const ctype x = n->is_integer ? (ctype)n->integer                      \
                                      : (ctype)(__int128)__real__ n->other;    \
        memcpy(to, &x, sizeof x);                                              \
        return true;                                                           \
    }
#define STORE_OTHER(type, kind, ctype)                                         \
    case (type)*KINDS + (kind): {                                              \
        const ctype x = (ctype)n->other;                                       \
        memcpy(to, &x, sizeof x);                                              \
        return true;                                                           \
    }

static bool store(const struct number *n, char *to, const struct caf_element *e)
{
    switch (e->type * KINDS + e->kind) {
        INTEGERS(STORE_INTEGER)
        OTHERS(STORE_OTHER)
    default: return false;
    }
}

/* Assign text of kind 1 or 4: truncate, or pad with blanks. A character above
 * 255 becomes '?' in kind 1. */
static void convert_text(char *to, const struct caf_element *to_type,
                         const char *from, const struct caf_element *from_type)
{
    const size_t to_length = to_type->bytes / (size_t)to_type->kind,
                 from_length = from_type->bytes / (size_t)from_type->kind;

    for (size_t i = 0; i < to_length; i++) {
        uint32_t wide = ' ';
        unsigned char narrow = ' ';

        if (i < from_length && from_type->kind == 4)
            memcpy(&wide, from + 4 * i, 4);
        else if (i < from_length)
            wide = (unsigned char)from[i];
        narrow = wide > 255 ? '?' : (unsigned char)wide;
        if (to_type->kind == 4)
            memcpy(to + 4 * i, &wide, 4);
        else
            to[i] = (char)narrow;
    }
}

bool caf_convert(char *to, const struct caf_element *to_type, const char *from,
                 const struct caf_element *from_type, size_t count)
{
    const bool is_text = to_type->type == CAF_CHARACTER;
    struct number n;

    if (is_text != (from_type->type == CAF_CHARACTER))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (is_text)
            convert_text(to, to_type, from, from_type);
        else if (!load(&n, from, from_type) || !store(&n, to, to_type))
            return false;
        to += to_type->bytes;
        from += from_type->bytes;
    }
    return true;
}
