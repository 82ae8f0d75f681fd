/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blobs that ranks publish, as values in PMIx.
 *
 * In a small job, or on one node, each rank puts its own blob. Otherwise the
 * lowest rank of a node puts the blobs of all its ranks as one value. So
 * servers exchange, and clients request, one value per node. A client need not
 * know which rank is the lowest of a peer's node: the lowest rank of the job
 * whose blob has not been read yet is always the lowest of its node.
 */
#ifndef RCX_BOOTSTRAP_PMIX_BLOBS_H
#define RCX_BOOTSTRAP_PMIX_BLOBS_H

#include "bootstrap/pmix_node.h"

struct rcx_pmix_blobs {
    struct rcx_pmix_blob *of; /* blob of each rank */
    struct rcx_pmix_kept *kept;
    int known; /* the blobs of all ranks below this one have been read */
    bool is_asked_for; /* the table of rcx_pmix_blobs_tell() has been
                          requested */
};

/* False: no memory. */
bool rcx_pmix_blobs_init(struct rcx_pmix_blobs *blobs, struct rcx_heap *heap,
                         int ranks);
void rcx_pmix_blobs_free(struct rcx_pmix_blobs *blobs, struct rcx_heap *heap);

/* Put the blob of this rank, or the blobs of its node. A fence with data must
 * follow. A rank whose blob does not reach the lowest rank of its node in time
 * is left out. */
rcx_status_t rcx_pmix_blobs_put(const struct rcx_pmix_node *node,
                                const void *blob, size_t bytes);

/* Same contract as lookup of struct rcx_boot_ops. */
rcx_status_t rcx_pmix_blobs_get(struct rcx_pmix_blobs *blobs,
                                const struct rcx_pmix_node *node, int rank,
                                const void **blob_p, size_t *bytes_p);

/* Pass the blobs of all ranks to see(); each is bytes long. In a large job the
 * lowest rank of a node reads them, and shows them to its other ranks. */
rcx_status_t rcx_pmix_blobs_see(struct rcx_pmix_blobs *blobs,
                                const struct rcx_pmix_node *node, size_t bytes,
                                rcx_local_fn_t see, void *arg);

/* On the lowest rank of a node: show the other ranks which rank has put each
 * blob, so that they need not search. If this rank has not read all blobs, it
 * shows nothing, and the others search. */
void rcx_pmix_blobs_tell(const struct rcx_pmix_blobs *blobs,
                         const struct rcx_pmix_node *node);

#endif
