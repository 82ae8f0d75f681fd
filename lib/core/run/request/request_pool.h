/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests' memory. It stays until the context goes, so that a request that was
 * freed is recognised. */
#ifndef RCX_CORE_RUN_REQUEST_REQUEST_POOL_H
#define RCX_CORE_RUN_REQUEST_REQUEST_POOL_H

#include "core/run/object/context.h"

/* NULL when memory ran out. */
struct rcx_request *rcx_request_take(struct rcx_requests *pool,
                                     struct rcx_heap *heap);
void rcx_request_put(struct rcx_requests *pool, struct rcx_request *r);
void rcx_requests_free(struct rcx_requests *pool, struct rcx_heap *heap);

#endif
