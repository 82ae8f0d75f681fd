/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of requests. It is kept until the context ends, so that a stale handle
 * is recognised. */
#ifndef RCX_CORE_RUN_REQUEST_REQUEST_POOL_H
#define RCX_CORE_RUN_REQUEST_REQUEST_POOL_H

#include "core/run/object/context.h"

/* NULL: no memory. */
struct rcx_request *rcx_requests_get(struct rcx_requests *pool,
                                     struct rcx_heap *heap);
void rcx_requests_put(struct rcx_requests *pool, struct rcx_request *r);
void rcx_requests_free(struct rcx_requests *pool, struct rcx_heap *heap);

#endif
