/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps of a context. */
#ifndef RCX_CORE_RUN_DIAG_DUMP_CONTEXT_H
#define RCX_CORE_RUN_DIAG_DUMP_CONTEXT_H

#include "core/run/object/context.h"

/* Write a dump of all communicators to path. by: the variable that asks for it;
 * NULL: rcx_dump(). reason: NULL unless something failed. */
rcx_status_t rcx_dump_context(struct rcx_context *context, const char *path,
                              const char *by, const char *reason);

/* Write the dump of a failure where RCX_DUMP says. */
void rcx_dump_failure(struct rcx_context *context, const char *reason);

#endif
