/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a context: create, configure, free. */
#ifndef RCX_CORE_RUN_CONTEXT_CONTEXT_H
#define RCX_CORE_RUN_CONTEXT_CONTEXT_H

#include "core/run/object/context.h"

/* Where a context gets its bootstrap from. */
struct rcx_boot_source {
    rcx_status_t (*open)(const struct rcx_boot_args *args, void *arg,
                         struct rcx_boot **boot_p);
    void *arg;
    uint64_t heap_budget; /* number of allocations that may succeed */
    struct rcx_tag_layout layout;
    struct rcx_transport
        *transport; /* NULL: the best one that is compiled in */
};

/* rcx_init() calls this with the table of bootstraps. Tests pass a bootstrap of
 * their own, a heap that runs out, or small tags. */
rcx_status_t rcx_context_create(const rcx_params_t *params,
                                const struct rcx_boot_source *source,
                                rcx_context_t **context_p);

/* Free the context with all that it owns. */
void rcx_context_destroy(struct rcx_context *context);

/* Read the environment, then log, name and order of params. RCX_ERR_CONFIG is
 * not logged yet: see rcx_config_tell(). */
rcx_status_t rcx_context_configure(const rcx_params_t *params,
                                   struct rcx_log *log,
                                   struct rcx_config *config);

#endif
