/* SPDX-License-Identifier: BSD-3-Clause */
/* What UCX still has of operations that were given up: it is kept until UCX is
 * done with it, or gone. */
#ifndef RCX_CORE_RUN_ABANDON_H
#define RCX_CORE_RUN_ABANDON_H

#include <stdint.h>

struct rcx_context;
struct rcx_exec;
struct rcx_message;

struct rcx_abandoned {
    struct rcx_exec *first; /* with messages under way */
    uint64_t receives;      /* among these */
};

/* Give x up: nobody waits for it any more. */
void rcx_abandon(struct rcx_context *context, struct rcx_exec *x);
/* What an abandoned execution's message came to. */
void rcx_abandoned_message(struct rcx_context *context, struct rcx_exec *x,
                           const struct rcx_message *m);
/* Free them; the transport is gone. */
void rcx_abandoned_free(struct rcx_context *context);

#endif
