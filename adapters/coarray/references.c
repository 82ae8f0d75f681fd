/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access to x[i]%a(:)%b: components of derived types, which may be allocatable
 * or pointers. Only the other image knows their memory and shape, so their
 * descriptors are fetched from there. Nothing is allocated on other images.
 */
#include <stdlib.h>
#include <string.h>

#include "access.h"

enum reference_type { COMPONENT, ARRAY, STATIC_ARRAY };
enum mode { END, VECTOR, FULL, RANGE, SINGLE, OPEN_END, OPEN_START };

/* gfortran's description of one part of a reference, such as %a or (:). */
struct caf_reference {
    struct caf_reference *next;
    int type;         /* enum reference_type */
    size_t item_size; /* bytes of an element */
    union {
        struct {
            ptrdiff_t offset;
            ptrdiff_t token_offset; /* not 0: allocatable or a pointer */
        } c;
        struct {
            unsigned char mode[CAF_RANK_MOST]; /* enum mode */
            int type;
            union {
                struct {
                    ptrdiff_t start, end, stride;
                } s;
                struct {
                    void *vector;
                    size_t count;
                    int kind;
                } v;
            } dim[CAF_RANK_MOST];
        } a;
    } u;
};

union descriptor {
    struct caf_array array;
    char room[sizeof(struct caf_array) +
              CAF_RANK_MOST * sizeof(((struct caf_array *)NULL)->dim[0])];
};

/* Position while the references are followed. */
struct way {
    int rank;
    struct caf_section section; /* base: current address; 0: not allocated */
    /* descriptor for the next reference, if that is (:); NULL: none */
    const struct caf_array *array;
    union descriptor fetched;
};

static rcx_status_t fetch_descriptor(struct way *w, uint64_t address)
{
    struct caf_array *a = &w->fetched.array;
    rcx_status_t status = caf_fetch(w->rank, address, a, sizeof *a);

    if (status == RCX_OK && a->dtype.rank > 0 && a->dtype.rank <= CAF_RANK_MOST)
        status = caf_fetch(w->rank, address + sizeof *a, a->dim,
                           (size_t)a->dtype.rank * sizeof a->dim[0]);
    w->array = a;
    w->section.base = (uint64_t)a->base_addr;
    return status;
}

static rcx_status_t follow_component(struct way *w,
                                     const struct caf_reference *r)
{
    const uint64_t address = w->section.base + (uint64_t)r->u.c.offset;

    w->array = NULL;
    w->section.base = address;
    if (r->next && r->next->type == ARRAY)
        return fetch_descriptor(w, address);
    if (r->u.c.token_offset == 0)
        return RCX_OK;
    /* the address is the pointer, or the first word of a descriptor */
    return caf_fetch(w->rank, address, &w->section.base,
                     sizeof w->section.base);
}

/* Indices of a section in a dimension, from the lower bound on. */
struct part {
    ptrdiff_t start, end, stride;
};

/* The section of r in dimension d. For a static array, indices are multiples of
 * its strides, and begin with 0. */
static struct part part_of(const struct way *w, const struct caf_reference *r,
                           int d)
{
    const bool is_static = r->type == STATIC_ARRAY;
    const ptrdiff_t lower = is_static ? 0 : w->array->dim[d].lower,
                    upper = is_static ? r->u.a.dim[d].s.end
                                      : w->array->dim[d].upper;
    struct part p = {r->u.a.dim[d].s.start, r->u.a.dim[d].s.end,
                     r->u.a.dim[d].s.stride};
    const int mode = r->u.a.mode[d];

    if (mode == FULL || mode == OPEN_START)
        p.start = lower;
    if (mode == FULL || mode == OPEN_END)
        p.end = upper;
    if (mode == SINGLE)
        p.end = p.start;
    if (mode == SINGLE || p.stride == 0)
        p.stride = 1;
    p.start -= lower;
    p.end -= lower;
    return p;
}

static rcx_status_t follow_dimension(struct way *w,
                                     const struct caf_reference *r, int d)
{
    const ptrdiff_t span = w->array && w->array->span ? w->array->span
                                                      : (ptrdiff_t)r->item_size,
                    step = r->type == STATIC_ARRAY
                               ? span
                               : span * w->array->dim[d].stride;
    struct caf_dim *dim = &w->section.dim[w->section.rank];
    struct part p;
    ptrdiff_t n;

    if (w->section.rank == CAF_RANK_MOST)
        return RCX_ERR_UNSUPPORTED;
    if (r->u.a.mode[d] == VECTOR) {
        *dim = (struct caf_dim){.count = r->u.a.dim[d].v.count};
        dim->offsets = caf_offsets(r->u.a.dim[d].v.vector, r->u.a.dim[d].v.kind,
                                   dim->count,
                                   w->array ? w->array->dim[d].lower : 0, step);
        w->section.rank++;
        return dim->offsets ? RCX_OK : RCX_ERR_NOMEM;
    }
    p = part_of(w, r, d);
    n = (p.end - p.start) / p.stride + 1;
    w->section.base += (uint64_t)(p.start * step);
    if (r->u.a.mode[d] == SINGLE)
        return RCX_OK;
    if (p.stride > 0 ? p.end < p.start : p.end > p.start)
        n = 0;
    *dim = (struct caf_dim){.count = (size_t)n, .step = p.stride * step};
    w->section.rank++;
    return RCX_OK;
}

static rcx_status_t follow_array(struct way *w, const struct caf_reference *r)
{
    rcx_status_t status = RCX_OK;

    if (r->type == STATIC_ARRAY)
        w->array = NULL;
    else if (!w->array)
        return RCX_ERR_UNSUPPORTED;
    for (int d = 0;
         status == RCX_OK && d < CAF_RANK_MOST && r->u.a.mode[d] != END; d++)
        status = follow_dimension(w, r, d);
    w->array = NULL;
    return status;
}

/* Follow references r from the part of c on rank. w->section.base is 0 if a
 * component on the way is not allocated. */
static rcx_status_t follow(struct way *w, const struct caf_coarray *c, int rank,
                           const struct caf_reference *r)
{
    rcx_status_t status = RCX_OK;

    *w = (struct way){.rank = rank, .array = c->array};
    w->section.base = c->addresses[rank];
    for (; r && status == RCX_OK && w->section.base; r = r->next) {
        w->section.element = r->item_size;
        status =
            r->type == COMPONENT ? follow_component(w, r) : follow_array(w, r);
    }
    return status;
}

/* ---- What gfortran calls ------------------------------------------------- */

/* Find the elements that refs describe on an image. The result's rank is -1
 * after an error, which is then in outcome. */
static struct caf_place find(const struct caf_coarray *c, int image,
                             const struct caf_reference *refs, int type,
                             int kind, const struct caf_outcome *outcome)
{
    struct caf_place p = {.rank = caf_reach(c, image, outcome)};
    struct way w;
    rcx_status_t status;

    if (p.rank < 0)
        return p;
    status = follow(&w, c, p.rank, refs);
    if (status != RCX_OK)
        caf_end(outcome, status);
    else if (!w.section.base)
        caf_refuse(outcome, "a component is not allocated on that image");
    if (status != RCX_OK || !w.section.base) {
        caf_drop_offsets(&w.section);
        p.rank = -1;
        return p;
    }
    p.section = w.section;
    p.element =
        (struct caf_element){(signed char)type, kind, w.section.element};
    return p;
}

static bool has_shape(const struct caf_array *a, const struct caf_section *s)
{
    struct caf_section mine;

    if (!a->base_addr || a->dtype.rank != s->rank)
        return false;
    caf_section_set(&mine, a, 0);
    for (int d = 0; d < s->rank; d++)
        if (mine.dim[d].count != s->dim[d].count)
            return false;
    return true;
}

/* Give an allocatable array the shape of s, which is assigned to it. False: no
 * memory, or a has another rank. */
static bool reshape(struct caf_array *a, const struct caf_section *s)
{
    ptrdiff_t stride = 1;

    if (has_shape(a, s))
        return true;
    if (s->rank != a->dtype.rank)
        return false;
    free(a->base_addr);
    a->base_addr = malloc(caf_section_count(s) * a->dtype.elem_len + 1);
    a->span = (ptrdiff_t)a->dtype.elem_len;
    a->offset = 0;
    for (int d = 0; d < s->rank; d++) {
        a->dim[d].lower = 1;
        a->dim[d].upper = (ptrdiff_t)s->dim[d].count;
        a->dim[d].stride = stride;
        a->offset -= (size_t)stride;
        stride *= a->dim[d].upper;
    }
    return a->base_addr;
}

void _gfortran_caf_get_by_ref(struct caf_coarray *c, int image,
                              struct caf_array *to, struct caf_reference *refs,
                              int to_kind, int from_kind, bool may_overlap,
                              bool may_allocate, int *stat, int from_type)
{
    const struct caf_outcome outcome = {"x[i]%a", stat, NULL, 0, false};
    const struct caf_place from =
        find(c, image, refs, from_type, from_kind, &outcome);
    struct caf_place target;

    (void)may_overlap;
    if (from.rank < 0)
        return;
    if (may_allocate && !reshape(to, &from.section)) {
        caf_refuse(&outcome, "no memory, or the arrays have different ranks");
    } else {
        caf_place_set(&target, to, to_kind);
        caf_assign(&target, &from, &outcome);
    }
    caf_drop_offsets(&from.section);
}

/* Ignores may_allocate: by the standard, the shapes conform on assignment to
 * another image. */
void _gfortran_caf_send_by_ref(struct caf_coarray *c, int image,
                               struct caf_array *from,
                               struct caf_reference *refs, int to_kind,
                               int from_kind, bool may_overlap,
                               bool may_allocate, int *stat, int to_type)
{
    const struct caf_outcome outcome = {"x[i]%a =", stat, NULL, 0, false};
    const struct caf_place to =
        find(c, image, refs, to_type, to_kind, &outcome);
    struct caf_place source;

    (void)may_overlap, (void)may_allocate;
    if (to.rank < 0)
        return;
    caf_place_set(&source, from, from_kind);
    caf_assign(&to, &source, &outcome);
    caf_drop_offsets(&to.section);
}

void _gfortran_caf_sendget_by_ref(struct caf_coarray *to_c, int to_image,
                                  struct caf_reference *to_refs,
                                  struct caf_coarray *from_c, int from_image,
                                  struct caf_reference *from_refs, int to_kind,
                                  int from_kind, bool may_overlap, int *to_stat,
                                  int *from_stat, int to_type, int from_type)
{
    const struct caf_outcome to_outcome = {"x[i]%a = y[j]%b", to_stat, NULL, 0,
                                           false},
                             from_outcome = {"x[i]%a = y[j]%b", from_stat, NULL,
                                             0, false};
    const struct caf_place to =
        find(to_c, to_image, to_refs, to_type, to_kind, &to_outcome);
    struct caf_place from = {.rank = -1};

    (void)may_overlap;
    if (to.rank >= 0)
        from = find(from_c, from_image, from_refs, from_type, from_kind,
                    &from_outcome);
    if (from.rank >= 0) {
        caf_assign(&to, &from, &to_outcome);
        caf_drop_offsets(&from.section);
    }
    if (to.rank >= 0)
        caf_drop_offsets(&to.section);
}

/* allocated(x[i]%a) */
int _gfortran_caf_is_present(struct caf_coarray *c, int image,
                             struct caf_reference *refs)
{
    const struct caf_outcome outcome = {"allocated(x[i]%a)", NULL, NULL, 0,
                                        false};
    const int rank = caf_reach(c, image, &outcome);
    struct way w;

    if (rank < 0 || follow(&w, c, rank, refs) != RCX_OK)
        return 0;
    caf_drop_offsets(&w.section);
    return w.section.base != 0;
}
