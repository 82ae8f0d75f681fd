/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of vectors that are reduced as one vector.
 */
#include "core/run/request/veclist.h"

#include <string.h>

#include "core/run/object/context.h"

/* A size that a repeated call finds again. */
static size_t bytes_of(size_t n)
{
    return sizeof(struct rcx_veclist) + n * sizeof(struct rcx_part);
}

struct rcx_veclist *rcx_veclist_create(struct rcx_context *context, size_t n)
{
    struct rcx_veclist *b =
        rcx_scratch_get(&context->scratch, &context->heap, bytes_of(n));

    if (b)
        *b = (struct rcx_veclist){.room = n};
    return b;
}

static bool are_in_row(const struct rcx_veclist *b, bool in)
{
    for (size_t i = 1; i < b->n; i++) {
        const struct rcx_part *last = &b->parts[i - 1], *p = &b->parts[i];

        if (in ? last->in + last->bytes != p->in
               : last->out + last->bytes != p->out)
            return false;
    }
    return true;
}

void rcx_veclist_finish(struct rcx_veclist *b)
{
    b->packs = !are_in_row(b, true);
    b->unpacks = !are_in_row(b, false);
    b->bytes = 0;
    for (size_t i = 0; i < b->n; i++) {
        b->parts[i].at = b->bytes;
        b->bytes += b->parts[i].bytes;
    }
}

bool rcx_veclist_reserve(struct rcx_context *context, struct rcx_veclist *b,
                         unsigned segments, size_t segment_bytes)
{
    b->segments = segments;
    b->segment_bytes = segment_bytes;
    if (!b->unpacks)
        return true;
    b->scratch_bytes = segments * segment_bytes;
    b->scratch =
        rcx_scratch_get(&context->scratch, &context->heap, b->scratch_bytes);
    return b->scratch != NULL;
}

/* The part that contains byte at. */
static const struct rcx_part *part_of(const struct rcx_veclist *b, size_t at)
{
    size_t lo = 0, hi = b->n;

    while (hi - lo > 1) {
        const size_t middle = lo + (hi - lo) / 2;

        if (b->parts[middle].at <= at)
            lo = middle;
        else
            hi = middle;
    }
    return &b->parts[lo];
}

/* How many of the bytes from at on belong to p. */
static size_t share(const struct rcx_part *p, size_t at, size_t bytes)
{
    const size_t left = p->at + p->bytes - at;

    return left < bytes ? left : bytes;
}

/* Operands may be packed to where the results will be. */
void rcx_veclist_gather(const struct rcx_veclist *b, char *to, size_t at,
                        size_t bytes)
{
    for (const struct rcx_part *p = part_of(b, at); bytes > 0; p++) {
        const size_t n = share(p, at, bytes);
        const char *from = p->in + (at - p->at);

        if (from != to) /* else it is in place */
            memcpy(to, from, n);
        to += n;
        at += n;
        bytes -= n;
    }
}

void rcx_veclist_pack(const struct rcx_veclist *b, uint64_t n, size_t at,
                      size_t bytes, char **in_p, char **out_p)
{
    const struct rcx_part *p = part_of(b, at);
    const bool is_apart = b->unpacks && share(p, at, bytes) < bytes;

    *out_p = is_apart ? b->scratch + n % b->segments * b->segment_bytes
                      : p->out + (at - p->at);
    if (b->packs)
        rcx_veclist_gather(b, *out_p, at, bytes);
    *in_p = b->packs ? *out_p : (char *)p->in + (at - p->at);
}

void rcx_veclist_unpack(const struct rcx_veclist *b, const char *out, size_t at,
                        size_t bytes)
{
    for (const struct rcx_part *p = part_of(b, at); bytes > 0; p++) {
        const size_t n = share(p, at, bytes);
        char *to = p->out + (at - p->at);

        if (to == out) /* so is the rest */
            return;
        memcpy(to, out, n);
        out += n;
        at += n;
        bytes -= n;
    }
}

void rcx_veclist_destroy(struct rcx_context *context, struct rcx_veclist *b)
{
    rcx_scratch_put(&context->scratch, b->scratch, b->scratch_bytes);
    rcx_scratch_put(&context->scratch, b, bytes_of(b->room));
}

void rcx_veclist_defer_destroy(struct rcx_context *context,
                               struct rcx_veclist *b)
{
    b->next = context->veclists.kept;
    context->veclists.kept = b;
}

void rcx_veclists_close(struct rcx_context *context)
{
    while (context->veclists.kept) {
        struct rcx_veclist *b = context->veclists.kept;

        context->veclists.kept = b->next;
        rcx_veclist_destroy(context, b);
    }
}
