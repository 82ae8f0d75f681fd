/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishes the operations in flight in the status page, for rcx_top. */
#ifndef RCX_CORE_RUN_DIAG_PUBLISH_H
#define RCX_CORE_RUN_DIAG_PUBLISH_H

#include "core/run/object/request.h"

/* Write the operations in flight. Called by the failure detector, once a
 * millisecond while this rank waits. */
void rcx_publish(struct rcx_context *context);
/* The same, as one of them has ended. */
void rcx_publish_without(struct rcx_context *context);

/* An operation has ended: it is not in flight any more. Costs a comparison
 * unless operations are shown, which have taken a millisecond. */
static inline void rcx_publish_end(struct rcx_context *context)
{
    if (__builtin_expect(context->status.shows_ops, 0))
        rcx_publish_without(context);
}

#endif
