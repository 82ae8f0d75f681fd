/* SPDX-License-Identifier: BSD-3-Clause */
/* The order level below the public ones. */
#ifndef RCX_CORE_BASE_ORDER_H
#define RCX_CORE_BASE_ORDER_H

#include "rcx/rcx.h"

/* Ranks may differ in the last bits. Nobody can ask for it; it is enough where
 * the op is exact, so that they do not. */
#define RCX_ORDER_LOOSE ((rcx_order_t)0)

#endif
