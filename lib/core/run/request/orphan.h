/* SPDX-License-Identifier: BSD-3-Clause */
/* What UCX still has of operations that were given up: it is kept until UCX is
 * done with it, or gone. */
#ifndef RCX_CORE_RUN_REQUEST_ORPHAN_H
#define RCX_CORE_RUN_REQUEST_ORPHAN_H

#include "core/run/object/context.h"

struct rcx_exec;
struct rcx_message;

/* Give x up: nobody waits for it any more. */
void rcx_orphan_add(struct rcx_context *context, struct rcx_exec *x);
/* What an abandoned execution's message came to. */
void rcx_orphan_message(struct rcx_context *context, struct rcx_exec *x,
                        const struct rcx_message *m);
/* Free them; the transport is gone. */
void rcx_orphans_close(struct rcx_context *context);

#endif
