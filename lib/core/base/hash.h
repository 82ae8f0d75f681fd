/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_CORE_BASE_HASH_H
#define RCX_CORE_BASE_HASH_H

#include <stdint.h>

/* Extend a hash by a value. */
static inline uint64_t rcx_hash(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* Hash of a text; 0: it is empty. */
static inline uint64_t rcx_hash_text(const char *text)
{
    uint64_t hash = *text != '\0';

    for (; *text; text++)
        hash = rcx_hash(hash, (unsigned char)*text);
    return hash;
}

#endif
