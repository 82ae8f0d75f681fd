/* SPDX-License-Identifier: BSD-3-Clause */
/* The bootstraps that rcx_boot_table may list. */
#ifndef RCX_BOOTSTRAP_BOOTSTRAPS_H
#define RCX_BOOTSTRAP_BOOTSTRAPS_H

#include "core/iface/bootstrap.h"

extern const struct rcx_boot_ops rcx_boot_callback; /* RCX_PARAM_BOOTSTRAP */
extern const struct rcx_boot_ops rcx_boot_pmix;     /* under a PMIx server */
extern const struct rcx_boot_ops rcx_boot_single;   /* no launcher at all */

#endif
