/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks of one node show each other through its server. No fence: what
 * its own clients committed, a server gives away at once. Nor does it take the
 * process's turn in fences: a peer's threads may open their contexts in another
 * order.
 */
#ifndef RCX_BOOTSTRAP_PMIX_NODE_H
#define RCX_BOOTSTRAP_PMIX_NODE_H

#include <pmix.h>
#include <pthread.h>

#include "core/iface/bootstrap.h"

/* One rank of it, of one context. */
struct rcx_pmix_node {
    const struct rcx_boot *boot; /* which knows the ranks of the node */
    const struct rcx_log *log;
    struct rcx_heap *heap;
    const char *nspace;
    const char *key;         /* the context's; others are made of it */
    pthread_mutex_t *asking; /* taken for each request */
    uint64_t until_ns;       /* nothing is waited for any longer */
};

rcx_status_t rcx_pmix_put(const struct rcx_log *log, pmix_scope_t scope,
                          const char *key, const void *data, size_t bytes);

/* The same to the ranks of this node alone, by a key of this kind. */
rcx_status_t rcx_pmix_show(const struct rcx_pmix_node *node, const char *kind,
                           const void *data, size_t bytes);

/*
 * Asked again and again, by one thread at a time: of two requests for one
 * rank's data that wait in a process, PMIx 5.0 loses one. PMIX_ERR_TIMEOUT: it
 * did not come.
 */
pmix_status_t rcx_pmix_get_patiently(const struct rcx_pmix_node *node, int rank,
                                     const char *key, pmix_value_t **value_p);

/* The key of what a rank of the node shows, of this kind. */
void rcx_pmix_node_key(const char *kind, const char *key, pmix_key_t made);

#define RCX_PMIX_LOCAL "record"

/* As a bootstrap's. */
rcx_status_t rcx_pmix_local_exchange(const struct rcx_pmix_node *node,
                                     const void *record, size_t bytes,
                                     rcx_local_fn_t see, void *arg);
rcx_status_t rcx_pmix_relay(const struct rcx_pmix_node *node, const void *blob,
                            size_t bytes, rcx_local_fn_t see, void *arg);

#endif
