/* SPDX-License-Identifier: BSD-3-Clause */
/* The blobs of several ranks, packed into one blob that one of them
 * publishes. */
#ifndef RCX_BOOTSTRAP_PARTS_H
#define RCX_BOOTSTRAP_PARTS_H

#include <stdbool.h>
#include <stddef.h>

struct rcx_blob_part {
    int rank;
    size_t bytes;
    const void *data; /* of any alignment */
};

size_t rcx_parts_bytes(const struct rcx_blob_part parts[], int n);

/* packed has rcx_parts_bytes(parts, n). */
void rcx_parts_pack(const struct rcx_blob_part parts[], int n, void *packed);

/* The part that begins at *at_p, which is moved to the next one; its data lies
 * in packed. False: there is none, and at the end of what is well formed *at_p
 * is bytes. Any bytes may be given; rank is not judged. */
bool rcx_parts_next(const void *packed, size_t bytes, size_t *at_p,
                    struct rcx_blob_part *part);

#endif
