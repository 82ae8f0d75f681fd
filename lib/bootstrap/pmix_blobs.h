/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blobs that ranks publish, as PMIx keeps them.
 *
 * In a small job, or on one node, each rank puts its own. Else the lowest rank
 * of a node puts those of all its ranks as one value, so that servers exchange,
 * and clients ask for, as many values as there are nodes. Nothing has to tell
 * which rank is the lowest of a peer's node: the lowest rank of the job whose
 * blob has not been read yet always is the lowest of its node.
 */
#ifndef RCX_BOOTSTRAP_PMIX_BLOBS_H
#define RCX_BOOTSTRAP_PMIX_BLOBS_H

#include "bootstrap/pmix_node.h"

struct rcx_pmix_blobs {
    struct rcx_pmix_blob *of; /* by rank */
    struct rcx_pmix_kept *kept;
    int known; /* all ranks below have been read */
    bool
        is_asked_for; /* whose blob is where, of the lowest rank of this node */
};

/* False: no memory. */
bool rcx_pmix_blobs_init(struct rcx_pmix_blobs *blobs, struct rcx_heap *heap,
                         int ranks);
void rcx_pmix_blobs_free(struct rcx_pmix_blobs *blobs, struct rcx_heap *heap);

/* Put this rank's, or its node's; a fence with data has to follow. A rank that
 * shows nothing to the lowest in time is left out. */
rcx_status_t rcx_pmix_blobs_put(const struct rcx_pmix_node *node,
                                const void *blob, size_t bytes);

/* As a bootstrap's lookup. */
rcx_status_t rcx_pmix_blobs_get(struct rcx_pmix_blobs *blobs,
                                const struct rcx_pmix_node *node, int rank,
                                const void **blob_p, size_t *bytes_p);

/* From the lowest rank of a node, to spare the others a search: whose blob is
 * where. Where it has not read all, nothing is shown, and they search. */
void rcx_pmix_blobs_tell(const struct rcx_pmix_blobs *blobs,
                         const struct rcx_pmix_node *node);

#endif
