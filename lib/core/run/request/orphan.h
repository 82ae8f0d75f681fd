/* SPDX-License-Identifier: BSD-3-Clause */
/* Orphaned executions: what UCX still uses of cancelled operations. It is kept
 * until UCX has completed the messages, or is closed. */
#ifndef RCX_CORE_RUN_REQUEST_ORPHAN_H
#define RCX_CORE_RUN_REQUEST_ORPHAN_H

#include "core/run/object/context.h"

struct rcx_exec;
struct rcx_message;

/* Detach x from its operation and cancel its receives. */
void rcx_orphan_add(struct rcx_context *context, struct rcx_exec *x);
/* A message of an orphan has completed. */
void rcx_orphan_message(struct rcx_context *context, struct rcx_exec *x,
                        const struct rcx_message *m);
/* Whether one belongs to the communicator of this tag (rcx_tag_base()). */
bool rcx_orphans_have(const struct rcx_context *context, uint64_t tag);
/* Free the orphans. The transport is closed. */
void rcx_orphans_close(struct rcx_context *context);

#endif
