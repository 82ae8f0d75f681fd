/* SPDX-License-Identifier: BSD-3-Clause */
/* The bootstraps that rcx_boot_table can contain. */
#ifndef RCX_BOOTSTRAP_BOOTSTRAPS_H
#define RCX_BOOTSTRAP_BOOTSTRAPS_H

#include "core/iface/bootstrap.h"

/* used if RCX_PARAM_BOOTSTRAP is set */
extern const struct rcx_boot_ops rcx_boot_callback;
/* used if RCX_PARAM_ID is set, RCX_ROOT is, or torchrun started the process */
extern const struct rcx_boot_ops rcx_boot_socket;
extern const struct rcx_boot_ops rcx_boot_pmix;   /* used under a PMIx server */
extern const struct rcx_boot_ops rcx_boot_single; /* used without a launcher */

#endif
