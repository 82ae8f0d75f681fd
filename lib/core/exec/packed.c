/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs the data of sends, and takes packed data that arrives: it is added to
 * the other operand where a reduction waits for it, or unpacked (packed.h).
 */
#include "core/exec/packed.h"

#include <string.h>

const void *rcx_packed_data(struct rcx_exec *x, const struct rcx_message *m,
                            size_t *bytes)
{
    const void *data = rcx_exec_at(x, m->left, m->left_at);
    size_t packed = 0;

    if (*bytes > 0 && (!x->packed || x->packed->status != RCX_IN_PROGRESS))
        packed =
            x->reducer->wire->pack(x->own, sizeof x->own, data, m->step->count);
    if (packed == 0 || packed >= m->due)
        return data;
    x->packed = m;
    *bytes = packed;
    return x->own;
}

/* False: nothing is added, or it is not packed data. */
static bool add(struct rcx_exec *x, const struct rcx_message *m)
{
    struct rcx_message *reduction = &x->messages[m->step->sink - 1];
    const char *packed = rcx_exec_at(x, m->dst, m->dst_at);
    const char *left = rcx_exec_at(x, reduction->left, reduction->left_at);
    const char *right = rcx_exec_at(x, reduction->right, reduction->right_at);
    char *dst = rcx_exec_at(x, reduction->dst, reduction->dst_at);

    if (!x->reducer->adds_packed || reduction->kind != RCX_STEP_REDUCE ||
        dst == packed)
        return false;
    reduction->is_consumed = x->reducer->wire->add(
        dst, left == packed ? right : left, m->step->count, packed, m->bytes);
    return reduction->is_consumed;
}

static bool unpack(const struct rcx_exec *x, const struct rcx_message *m)
{
    char *data = rcx_exec_at(x, m->dst, m->dst_at);
    uint64_t packed[RCX_EXEC_OWN_BYTES / sizeof(uint64_t)];

    if (m->bytes > sizeof packed)
        return false;
    memcpy(packed, data, m->bytes);
    return x->reducer->wire->unpack(data, m->step->count, packed, m->bytes);
}

bool rcx_packed_take(struct rcx_exec *x, const struct rcx_message *m,
                     bool is_sink_ready)
{
    return (is_sink_ready && add(x, m)) || unpack(x, m);
}
