/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/bundle.h"

#include <string.h>

#include "core/run/context.h"

/* Memory that a repeated call finds again. */
static size_t bytes_of(size_t n)
{
    return sizeof(struct rcx_bundle) + n * sizeof(struct rcx_part);
}

struct rcx_bundle *rcx_bundle_new(struct rcx_context *context, size_t n)
{
    struct rcx_bundle *b =
        rcx_scratch_get(&context->scratch, &context->heap, bytes_of(n));

    if (b)
        *b = (struct rcx_bundle){.room = n};
    return b;
}

static bool are_in_row(const struct rcx_bundle *b, bool in)
{
    for (size_t i = 1; i < b->n; i++) {
        const struct rcx_part *last = &b->parts[i - 1], *p = &b->parts[i];

        if (in ? last->in + last->bytes != p->in
               : last->out + last->bytes != p->out)
            return false;
    }
    return true;
}

/* Operands may be packed where the results are to be. */
bool rcx_bundle_settle(struct rcx_context *context, struct rcx_bundle *b)
{
    b->packs = !are_in_row(b, true);
    b->unpacks = !are_in_row(b, false);
    b->bytes = 0;
    for (size_t i = 0; i < b->n; i++)
        b->bytes += b->parts[i].bytes;
    if (b->n == 0)
        return true;
    b->out = b->parts[0].out;
    if (b->unpacks)
        b->out = b->scratch =
            rcx_scratch_get(&context->scratch, &context->heap, b->bytes);
    b->in = b->packs ? b->out : b->parts[0].in;
    return b->out != NULL;
}

void rcx_bundle_pack(struct rcx_bundle *b)
{
    char *to = b->out;

    for (size_t i = 0; b->packs && i < b->n; i++) {
        memcpy(to, b->parts[i].in, b->parts[i].bytes);
        to += b->parts[i].bytes;
    }
}

void rcx_bundle_unpack(const struct rcx_bundle *b)
{
    const char *from = b->out;

    for (size_t i = 0; b->unpacks && i < b->n; i++) {
        memcpy(b->parts[i].out, from, b->parts[i].bytes);
        from += b->parts[i].bytes;
    }
}

void rcx_bundle_drop(struct rcx_context *context, struct rcx_bundle *b)
{
    rcx_scratch_put(&context->scratch, b->scratch, b->bytes);
    rcx_scratch_put(&context->scratch, b, bytes_of(b->room));
}

void rcx_bundle_keep(struct rcx_context *context, struct rcx_bundle *b)
{
    b->next = context->bundles.kept;
    context->bundles.kept = b;
}

void rcx_bundles_free(struct rcx_context *context)
{
    while (context->bundles.kept) {
        struct rcx_bundle *b = context->bundles.kept;

        context->bundles.kept = b->next;
        rcx_bundle_drop(context, b);
    }
}
