/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs blobs of several ranks into one blob, and unpacks it. Unpacking checks
 * every length, since the blob may come from any process.
 */
#include "bootstrap/parts.h"

#include <stdint.h>
#include <string.h>

/* Precedes the bytes of each part. */
struct head {
    int32_t rank;
    uint32_t bytes;
};

size_t rcx_parts_bytes(const struct rcx_blob_part parts[], int n)
{
    size_t bytes = 0;

    for (int i = 0; i < n; i++)
        bytes += sizeof(struct head) + parts[i].bytes;
    return bytes;
}

void rcx_parts_pack(const struct rcx_blob_part parts[], int n, void *packed)
{
    char *at = packed;

    for (int i = 0; i < n; i++) {
        const struct head head = {.rank = parts[i].rank,
                                  .bytes = (uint32_t)parts[i].bytes};

        memcpy(at, &head, sizeof head);
        memcpy(at + sizeof head, parts[i].data, parts[i].bytes);
        at += sizeof head + parts[i].bytes;
    }
}

bool rcx_parts_next(const void *packed, size_t bytes, size_t *at_p,
                    struct rcx_blob_part *part)
{
    const char *at = (const char *)packed + *at_p;
    const size_t left = bytes - *at_p;
    struct head head;

    if (left < sizeof head)
        return false;
    memcpy(&head, at, sizeof head);
    if (head.bytes > left - sizeof head)
        return false;
    *part = (struct rcx_blob_part){
        .rank = head.rank, .bytes = head.bytes, .data = at + sizeof head};
    *at_p += sizeof head + head.bytes;
    return true;
}
