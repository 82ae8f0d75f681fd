/* SPDX-License-Identifier: BSD-3-Clause */
/* Packs the blobs of several ranks into one blob, which one of the ranks
 * publishes. */
#ifndef RCX_BOOTSTRAP_PARTS_H
#define RCX_BOOTSTRAP_PARTS_H

#include <stdbool.h>
#include <stddef.h>

struct rcx_blob_part {
    int rank;
    size_t bytes;
    const void *data; /* alignment is arbitrary */
};

size_t rcx_parts_bytes(const struct rcx_blob_part parts[], int n);

/* packed has room for rcx_parts_bytes(parts, n) bytes. */
void rcx_parts_pack(const struct rcx_blob_part parts[], int n, void *packed);

/* Read the part that begins at *at_p, and advance *at_p to the next part.
 * part->data points into packed. False: there is no complete part; *at_p equals
 * bytes if all parts were complete. packed may contain arbitrary bytes.
 * part->rank is not checked. */
bool rcx_parts_next(const void *packed, size_t bytes, size_t *at_p,
                    struct rcx_blob_part *part);

#endif
