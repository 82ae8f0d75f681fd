/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs the data of sends, and takes packed data that arrives: it is combined
 * with the other operand where a reduction waits for it, or unpacked. What
 * messages hold is known to the reducer (struct rcx_wire) alone.
 */
#include "core/exec/packed.h"

#include <string.h>

const void *rcx_packed_data(struct rcx_exec *x, const struct rcx_message *m,
                            size_t *bytes)
{
    const void *data = rcx_exec_at(x, m->left, m->left_at);
    size_t packed = 0;

    if (*bytes > 0 && (!x->packed || x->packed->status != RCX_IN_PROGRESS))
        packed = x->reducer->wire->put(x->own, sizeof x->own, data,
                                       m->step->count, x->elem_bytes);
    if (packed == 0 || packed >= m->due)
        return data;
    x->packed = m;
    *bytes = packed;
    return x->own;
}

/* False: nothing is combined, or it is not packed data. */
static bool combine(struct rcx_exec *x, const struct rcx_message *m)
{
    struct rcx_message *reduction = &x->messages[m->step->sink - 1];
    const char *packed = rcx_exec_at(x, m->dst, m->dst_at);
    const char *left = rcx_exec_at(x, reduction->left, reduction->left_at);
    const char *right = rcx_exec_at(x, reduction->right, reduction->right_at);
    char *dst = rcx_exec_at(x, reduction->dst, reduction->dst_at);

    if (!x->reducer->wire->combine || reduction->kind != RCX_STEP_REDUCE ||
        dst == packed)
        return false;
    reduction->is_consumed = x->reducer->wire->combine(
        dst, left == packed ? right : left, m->step->count, x->elem_bytes,
        packed, m->bytes);
    return reduction->is_consumed;
}

static bool unpack(const struct rcx_exec *x, const struct rcx_message *m)
{
    char *data = rcx_exec_at(x, m->dst, m->dst_at);
    _Alignas(16) unsigned char packed[RCX_EXEC_OWN_BYTES];

    if (m->bytes > sizeof packed)
        return false;
    memcpy(packed, data, m->bytes);
    return x->reducer->wire->take(data, m->step->count, x->elem_bytes, packed,
                                  m->bytes);
}

bool rcx_packed_take(struct rcx_exec *x, const struct rcx_message *m,
                     bool is_sink_ready)
{
    return (is_sink_ready && combine(x, m)) || unpack(x, m);
}
