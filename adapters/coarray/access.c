/* SPDX-License-Identifier: BSD-3-Clause */
/* Access to x[i] on one side of an assignment, or on both: gfortran's get, send
 * and sendget. Copies directly where both sides are contiguous and of the same
 * type, and through packed buffers otherwise. Allocatable components are in
 * references.c. */
#include "access.h"

#include <stdlib.h>
#include <string.h>

#include "far.h"

enum { BUFFER_BYTES = 1024 };

/* Packed elements between the two sides of an assignment. */
struct buffer {
    char *data, here[BUFFER_BYTES] __attribute__((aligned(16)));
};

static bool open_buffer(struct buffer *b, size_t bytes)
{
    b->data = bytes <= sizeof b->here ? b->here : malloc(bytes);
    return b->data;
}

static void close_buffer(struct buffer *b)
{
    if (b->data != b->here)
        free(b->data);
}

/* ---- One side ------------------------------------------------------------ */

void caf_place_set(struct caf_place *p, const struct caf_array *a, int kind)
{
    p->rank = caf_me();
    p->element = (struct caf_element){a->dtype.type, kind, a->dtype.elem_len};
    caf_section_set(&p->section, a, (uint64_t)a->base_addr);
}

/* Where the section's base is mapped in this process. NULL: it is not. */
static char *here(const struct caf_place *p)
{
    uint64_t from;
    size_t bytes;
    char *at;

    if (p->rank == caf_me())
        return (char *)p->section.base;
    caf_section_span(&p->section, &from, &bytes);
    at = caf_near(p->rank, from, bytes);
    return at ? at + (p->section.base - from) : NULL;
}

static rcx_status_t take(const struct caf_place *from, char *packed)
{
    const char *at = here(from);

    if (!at)
        return caf_far_get(from->rank, &from->section, packed);
    caf_pack(&from->section, at, packed);
    return RCX_OK;
}

static rcx_status_t put(const struct caf_place *to, const char *packed)
{
    char *at = here(to);

    if (!at)
        return caf_far_put(to->rank, &to->section, packed);
    caf_unpack(&to->section, at, packed);
    return RCX_OK;
}

rcx_status_t caf_fetch(int rank, uint64_t address, void *into, size_t bytes)
{
    struct caf_place from;

    from.rank = rank;
    from.section.base = address;
    from.section.element = bytes;
    from.section.rank = 0;
    return take(&from, into);
}

/* ---- Both sides ---------------------------------------------------------- */

/* Whether a copy suffices: both sides are contiguous, with elements of one
 * type. */
static bool is_plain(const struct caf_place *to, const struct caf_place *from)
{
    return caf_is_same(&to->element, &from->element) &&
           caf_section_is_dense(&to->section) &&
           caf_section_is_dense(&from->section);
}

/* RCX_IN_PROGRESS: both sides are remote, and a buffer is necessary. */
static rcx_status_t move(const struct caf_place *to,
                         const struct caf_place *from, size_t bytes)
{
    char *there = here(to);
    const char *at = here(from);

    if (there && at)
        memmove(there, at, bytes);
    else if (there)
        return caf_far_get(from->rank, &from->section, there);
    else if (at)
        return caf_far_put(to->rank, &to->section, at);
    return there || at ? RCX_OK : RCX_IN_PROGRESS;
}

static rcx_status_t convert(const struct caf_place *to,
                            const struct caf_place *from, size_t count,
                            const char *packed)
{
    struct buffer converted;
    rcx_status_t status;

    if (caf_is_same(&to->element, &from->element))
        return put(to, packed);
    if (!open_buffer(&converted, count * to->element.bytes))
        return RCX_ERR_NOMEM;
    status =
        caf_convert(converted.data, &to->element, packed, &from->element, count)
            ? put(to, converted.data)
            : RCX_ERR_UNSUPPORTED;
    close_buffer(&converted);
    return status;
}

/* A section of shape's extents whose elements are all the scalar from. */
static struct caf_place broadcast(const struct caf_place *from,
                                  const struct caf_section *shape)
{
    struct caf_place all = *from;

    all.section.rank = shape->rank;
    for (int d = 0; d < shape->rank; d++)
        all.section.dim[d] = (struct caf_dim){.count = shape->dim[d].count};
    return all;
}

/* Whether the shapes are equal, apart from extents of 1. gfortran 12 passes
 * other shapes for transpose(x(:, :)[i]). */
static bool has_shape_of(const struct caf_section *s,
                         const struct caf_section *other)
{
    int e = 0;

    for (int d = 0; d < s->rank; d++) {
        if (s->dim[d].count == 1)
            continue;
        while (e < other->rank && other->dim[e].count == 1)
            e++;
        if (e == other->rank || other->dim[e++].count != s->dim[d].count)
            return false;
    }
    while (e < other->rank && other->dim[e].count == 1)
        e++;
    return e == other->rank;
}

static rcx_status_t assign_by_buffer(const struct caf_place *to,
                                     const struct caf_place *from, size_t count)
{
    struct buffer packed;
    rcx_status_t status;

    if (!open_buffer(&packed, count * from->section.element))
        return RCX_ERR_NOMEM;
    status = take(from, packed.data);
    if (status == RCX_OK)
        status = convert(to, from, count, packed.data);
    close_buffer(&packed);
    return status;
}

static rcx_status_t assign(const struct caf_place *to,
                           const struct caf_place *from)
{
    const size_t count = caf_section_count(&to->section);
    rcx_status_t status = RCX_IN_PROGRESS;

    if (!has_shape_of(&from->section, &to->section))
        return RCX_ERR_ARG;
    if (count == 0)
        return RCX_OK;
    if (is_plain(to, from))
        status = move(to, from, count * to->element.bytes);
    return status == RCX_IN_PROGRESS ? assign_by_buffer(to, from, count)
                                     : status;
}

void caf_assign(const struct caf_place *to, const struct caf_place *from,
                const struct caf_outcome *outcome)
{
    rcx_status_t status;

    if (from->section.rank == 0 && to->section.rank > 0) {
        const struct caf_place all = broadcast(from, &to->section);

        status = assign(to, &all);
    } else {
        status = assign(to, from);
    }
    if (status == RCX_ERR_UNSUPPORTED)
        caf_refuse(outcome, "no conversion between these types");
    else if (status == RCX_ERR_ARG)
        caf_refuse(outcome, "arrays of different shapes");
    else
        caf_end(outcome, status);
}

/* ---- Vector subscripts --------------------------------------------------- */

/* gfortran's description of the subscripts in a dimension of the whole
 * array. */
struct caf_vector {
    size_t count; /* of a vector subscript; 0: a triplet */
    union {
        struct {
            void *indices;
            int kind;
        } v;
        struct {
            ptrdiff_t lower, upper, stride;
        } triplet;
    } u;
};

static ptrdiff_t index_of(const void *indices, int kind, size_t i)
{
    switch (kind) {
    case 1: return ((const int8_t *)indices)[i];
    case 2: return ((const int16_t *)indices)[i];
    case 4: return ((const int32_t *)indices)[i];
    default: return (ptrdiff_t)((const int64_t *)indices)[i];
    }
}

ptrdiff_t *caf_offsets(const void *indices, int kind, size_t count,
                       ptrdiff_t lower, ptrdiff_t step)
{
    ptrdiff_t *offsets = malloc((count ? count : 1) * sizeof *offsets);

    for (size_t i = 0; offsets && i < count; i++)
        offsets[i] = (index_of(indices, kind, i) - lower) * step;
    return offsets;
}

void caf_drop_offsets(const struct caf_section *s)
{
    for (int d = 0; d < s->rank; d++)
        free((void *)s->dim[d].offsets);
}

/* Restrict s, which is all of array, to the subscripts. False: no memory. */
static bool narrow(struct caf_section *s, const struct caf_array *array,
                   const struct caf_vector *vectors)
{
    for (int d = 0; vectors && d < s->rank; d++) {
        const struct caf_vector *v = &vectors[d];
        struct caf_dim *dim = &s->dim[d];
        const ptrdiff_t lower = array->dim[d].lower, step = dim->step;

        if (v->count > 0) {
            dim->count = v->count;
            dim->offsets =
                caf_offsets(v->u.v.indices, v->u.v.kind, v->count, lower, step);
            if (!dim->offsets)
                return false;
        } else {
            const ptrdiff_t stride = v->u.triplet.stride;
            const ptrdiff_t n =
                (v->u.triplet.upper - v->u.triplet.lower + stride) / stride;

            s->base += (uint64_t)((v->u.triplet.lower - lower) * step);
            dim->count = n > 0 ? (size_t)n : 0;
            dim->step = step * stride;
        }
    }
    return true;
}

/* ---- What gfortran calls ------------------------------------------------- */

int caf_reach(const struct caf_coarray *c, int image,
              const struct caf_outcome *outcome)
{
    const int rank = caf_rank_of(caf_team(), image);

    caf_far_progress(); /* a program may wait in a loop of accesses */
    if (rank < 0)
        caf_refuse(outcome, "no such image");
    else if (caf_has_failed(rank))
        caf_end(outcome, RCX_ERR_PEER_FAILED);
    else if (!c->addresses || !c->addresses[rank])
        caf_refuse(outcome, "the coarray is not allocated on that image");
    else
        return rank;
    return -1;
}

/* The offset of array in c. For a complex scalar gfortran 12 passes an offset
 * computed from the address of a copy; an array as long as the coarray begins
 * at 0. */
static size_t right_offset(const struct caf_coarray *c, size_t offset,
                           const struct caf_array *array)
{
    return array->dtype.rank == 0 && array->dtype.elem_len == c->bytes ? 0
                                                                       : offset;
}

/* Bytes of an element of array. For a substring gfortran 12 passes where it
 * begins, but the length of the whole variable, so limit it to the coarray's
 * end. That suffices for a read, as the target has the substring's length. */
static size_t right_bytes(const struct caf_coarray *c, size_t offset,
                          const struct caf_array *array)
{
    const bool is_text =
        array->dtype.type == CAF_CHARACTER && array->dtype.rank == 0;

    return is_text && offset < c->bytes &&
                   array->dtype.elem_len > c->bytes - offset
               ? c->bytes - offset
               : array->dtype.elem_len;
}

/* Why gfortran 12's description of the two sides is not reliable; NULL: it is.
 * The length of a text that is neither a variable nor a constant is 0. The
 * address of a component of a section is its parent's. */
static const char *doubt(const struct caf_array *to, size_t to_offset,
                         const struct caf_array *from)
{
    const struct caf_array *const sides[] = {to, from};

    for (int i = 0; i < 2; i++) {
        const struct caf_array *a = sides[i];

        if (a->dtype.rank > 0 && a->span &&
            a->span != (ptrdiff_t)a->dtype.elem_len)
            return "gfortran does not pass which component this is: use a "
                   "variable of the derived type";
        if (a->dtype.type == CAF_CHARACTER && a->dtype.rank == 0 &&
            (a->dtype.elem_len == 0 ||
             (a == to && to_offset % a->dtype.elem_len > 0)))
            return "gfortran does not pass the length of this text: use a "
                   "variable of that length";
    }
    return NULL;
}

/* Set p to a part of a coarray. p->rank is -1 after an error, which is then in
 * outcome. */
static void set_part(struct caf_place *p, const struct caf_coarray *c,
                     size_t offset, int image, const struct caf_array *array,
                     const struct caf_vector *vectors, int kind,
                     const struct caf_outcome *outcome)
{
    uint64_t from;
    size_t bytes;

    p->rank = caf_reach(c, image, outcome);
    p->element = (struct caf_element){array->dtype.type, kind,
                                      right_bytes(c, offset, array)};
    if (p->rank < 0)
        return;
    caf_section_set(&p->section, array,
                    c->addresses[p->rank] + right_offset(c, offset, array));
    p->section.element = p->element.bytes;
    if (!narrow(&p->section, array, vectors)) {
        caf_end(outcome, RCX_ERR_NOMEM);
        p->rank = -1;
        return;
    }
    caf_section_span(&p->section, &from, &bytes);
    from -= c->addresses[p->rank];
    if (caf_section_count(&p->section) > 0 &&
        (from > c->bytes || bytes > c->bytes - from)) {
        caf_refuse(outcome, "not a part of the coarray");
        caf_drop_offsets(&p->section);
        p->rank = -1;
    }
}

static void assign_known(const struct caf_place *to,
                         const struct caf_place *from, const char *doubt_of_it,
                         const struct caf_outcome *outcome)
{
    if (to->rank >= 0 && from->rank >= 0 && doubt_of_it)
        caf_refuse(outcome, doubt_of_it);
    else if (to->rank >= 0 && from->rank >= 0)
        caf_assign(to, from, outcome);
    if (to->rank >= 0)
        caf_drop_offsets(&to->section);
    if (from->rank >= 0)
        caf_drop_offsets(&from->section);
}

void _gfortran_caf_get(struct caf_coarray *c, size_t offset, int image,
                       struct caf_array *from, struct caf_vector *vectors,
                       struct caf_array *to, int from_kind, int to_kind,
                       bool may_overlap, int *stat)
{
    const struct caf_outcome outcome = {"x[i]", stat, NULL, 0, false};
    struct caf_place source, target;

    (void)may_overlap;
    set_part(&source, c, offset, image, from, vectors, from_kind, &outcome);
    caf_place_set(&target, to, to_kind);
    assign_known(&target, &source, doubt(to, 0, from), &outcome);
}

void _gfortran_caf_send(struct caf_coarray *c, size_t offset, int image,
                        struct caf_array *to, struct caf_vector *vectors,
                        struct caf_array *from, int to_kind, int from_kind,
                        bool may_overlap, int *stat, void **team)
{
    const struct caf_outcome outcome = {"x[i] =", stat, NULL, 0, false};
    struct caf_place source, target;

    (void)may_overlap, (void)team;
    caf_place_set(&source, from, from_kind);
    set_part(&target, c, offset, image, to, vectors, to_kind, &outcome);
    assign_known(&target, &source, doubt(to, offset, from), &outcome);
}

void _gfortran_caf_sendget(struct caf_coarray *to_c, size_t to_offset,
                           int to_image, struct caf_array *to,
                           struct caf_vector *to_vectors,
                           struct caf_coarray *from_c, size_t from_offset,
                           int from_image, struct caf_array *from,
                           struct caf_vector *from_vectors, int to_kind,
                           int from_kind, bool may_overlap, int *stat)
{
    const struct caf_outcome outcome = {"x[i] = y[j]", stat, NULL, 0, false};
    struct caf_place source, target;

    (void)may_overlap;
    source.rank = -1;
    set_part(&target, to_c, to_offset, to_image, to, to_vectors, to_kind,
             &outcome);
    if (target.rank >= 0)
        set_part(&source, from_c, from_offset, from_image, from, from_vectors,
                 from_kind, &outcome);
    assign_known(&target, &source, doubt(to, to_offset, from), &outcome);
}
