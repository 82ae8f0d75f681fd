/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of bootstraps, in the order in which they are tried.
 */
#include "bootstrap/bootstraps.h"

/* What the host asks for comes before what the environment offers; single
 * takes whatever is left, or says why a launcher's process must not be. */
const struct rcx_boot_ops *const rcx_boot_table[] = {
    &rcx_boot_callback,
#ifdef RCX_HAVE_PMIX
    &rcx_boot_pmix,
#endif
    &rcx_boot_single,
    NULL,
};
