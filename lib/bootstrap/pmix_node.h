/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange of data among the ranks of one node, through their PMIx server. It
 * needs no fence, since a server passes on at once what its own clients have
 * committed. It does not take the lock for fences of the process either:
 * threads of a peer may open their contexts in another order.
 */
#ifndef RCX_BOOTSTRAP_PMIX_NODE_H
#define RCX_BOOTSTRAP_PMIX_NODE_H

#include <pmix.h>
#include <pthread.h>

#include "core/iface/bootstrap.h"

/* A rank on its node, for one context. */
struct rcx_pmix_node {
    const struct rcx_boot *boot; /* contains the ranks of the node */
    const struct rcx_log *log;
    struct rcx_heap *heap;
    const char *nspace;
    const char *key;        /* of the context; other keys are derived from it */
    const char *record_key; /* of the context's local_exchange */
    pthread_mutex_t *asking;     /* held during each request */
    uint64_t until_ns;           /* time at which waits end */
    struct rcx_start_wait *wait; /* NULL: nothing warns */
};

/* Warn of a start that waits for other ranks, if that is due: the first rank of
 * the node that has come does. */
void rcx_pmix_warn(const struct rcx_pmix_node *node);

rcx_status_t rcx_pmix_put(const struct rcx_log *log, pmix_scope_t scope,
                          const char *key, const void *data, size_t bytes);

/* Put data that only ranks of this node can get, by a key of this kind. */
rcx_status_t rcx_pmix_show(const struct rcx_pmix_node *node, const char *kind,
                           const void *data, size_t bytes);

/*
 * Get a value of rank; wait for it until node->until_ns by polling. Only one
 * thread asks at a time: of two pending requests for data of one rank, PMIx 5.0
 * loses one. PMIX_ERR_TIMEOUT: the value did not arrive.
 */
pmix_status_t rcx_pmix_get_until(const struct rcx_pmix_node *node, int rank,
                                 const char *key, pmix_value_t **value_p);

/* Make the key of rcx_pmix_show() for this kind and this context's key. */
void rcx_pmix_node_key(const char *kind, const char *key, pmix_key_t made);

#define RCX_PMIX_LOCAL "record"

/* Same contracts as local_exchange and local_bcast of struct rcx_boot_ops. */
rcx_status_t rcx_pmix_local_exchange(const struct rcx_pmix_node *node,
                                     const void *record, size_t bytes,
                                     rcx_local_fn_t see, void *arg);
rcx_status_t rcx_pmix_local_bcast(const struct rcx_pmix_node *node,
                                  const void *blob, size_t bytes,
                                  rcx_local_fn_t see, void *arg);

#endif
