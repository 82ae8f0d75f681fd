/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparison and hashing of calls.
 */
#include "core/run/object/call.h"

#include <string.h>

#include "core/base/hash.h"

static bool is_same_list(const struct rcx_call *a, const struct rcx_call *b,
                         int k, int size)
{
    const size_t n = rcx_call_length(a, k, size);

    if (!a->lists[k] || !b->lists[k])
        return a->lists[k] == b->lists[k];
    return n == rcx_call_length(b, k, size) &&
           memcmp(a->lists[k], b->lists[k], n * sizeof(size_t)) == 0;
}

bool rcx_call_is_same(const struct rcx_call *a, const struct rcx_call *b,
                      int size)
{
    if (!rcx_call_is_alike(a, b))
        return false;
    for (int k = 0; a->irregular && k < RCX_CALL_LISTS; k++)
        if (!is_same_list(a, b, k, size))
            return false;
    return true;
}

static uint64_t hash_list(uint64_t hash, const size_t list[], size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        hash = rcx_hash(hash, list[i]);
    return hash;
}

uint64_t rcx_call_hash(const struct rcx_call *call, int size)
{
    uint64_t hash = rcx_hash(call->kind, call->count);

    hash = rcx_hash(hash,
                    (uint64_t)(uint32_t)call->type << 32 | (uint32_t)call->op);
    hash = rcx_hash(hash, (uint32_t)call->root);
    for (int k = 0; call->irregular && k < RCX_CALL_LISTS; k++)
        hash = hash_list(hash, call->lists[k], rcx_call_length(call, k, size));
    return hash;
}

size_t rcx_call_entries(const struct rcx_call *call, int size)
{
    size_t n = 0;

    for (int k = 0; k < RCX_CALL_LISTS; k++)
        if (call->lists[k])
            n += rcx_call_length(call, k, size);
    return n;
}
