/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/call.h"

#include "core/base/hash.h"

static bool has_counts(const size_t displs[], const size_t recvcounts[],
                       int size)
{
    for (int i = 0; i < size; i++)
        if (displs[i + 1] - displs[i] != recvcounts[i])
            return false;
    return true;
}

bool rcx_call_is_same(const struct rcx_call *a, const size_t displs[],
                      const struct rcx_call *b, int size)
{
    return rcx_call_is_alike(a, b) &&
           (!b->irregular || has_counts(displs, b->recvcounts, size));
}

uint64_t rcx_call_hash(const struct rcx_call *call, int size)
{
    uint64_t hash = rcx_hash(call->kind, call->count);

    hash = rcx_hash(hash,
                    (uint64_t)(uint32_t)call->type << 32 | (uint32_t)call->op);
    hash = rcx_hash(hash, (uint32_t)call->root);
    for (int i = 0; call->irregular && i < size; i++)
        hash = rcx_hash(hash, call->recvcounts[i]);
    return hash;
}
