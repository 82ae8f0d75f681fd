/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/call.h"

#include <string.h>

#include "core/base/hash.h"

static bool is_same_list(const size_t a[], const size_t b[], int size)
{
    if (!a || !b)
        return a == b;
    return memcmp(a, b, (size_t)size * sizeof *a) == 0;
}

bool rcx_call_is_same(const struct rcx_call *a, const struct rcx_call *b,
                      int size)
{
    if (!rcx_call_is_alike(a, b))
        return false;
    for (int k = 0; a->irregular && k < RCX_CALL_LISTS; k++)
        if (!is_same_list(a->lists[k], b->lists[k], size))
            return false;
    return true;
}

static uint64_t hash_list(uint64_t hash, const size_t list[], int size)
{
    for (int i = 0; list && i < size; i++)
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
        hash = hash_list(hash, call->lists[k], size);
    return hash;
}

int rcx_call_lists(const struct rcx_call *call)
{
    int n = 0;

    for (int k = 0; k < RCX_CALL_LISTS; k++)
        n += call->lists[k] != NULL;
    return n;
}
