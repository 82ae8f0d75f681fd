/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of bootstraps, in the order in which rcx_init() tries them. */
#include "bootstrap/bootstraps.h"

/* The bootstrap that a host provides precedes those of the environment; an id,
 * or a root that the user names, precedes PMIx.
 * single is the last: it accepts a process that no launcher has started, and
 * reports an error for others. */
const struct rcx_boot_ops *const rcx_boot_table[] = {
    &rcx_boot_callback, &rcx_boot_socket,
#ifdef RCX_HAVE_PMIX
    &rcx_boot_pmix,
#endif
    &rcx_boot_single,   NULL,
};
