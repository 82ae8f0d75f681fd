/* SPDX-License-Identifier: BSD-3-Clause */
/* The order level below the public ones. */
#ifndef RCX_CORE_BASE_ORDER_H
#define RCX_CORE_BASE_ORDER_H

#include "rcx/rcx.h"

/* Ranks may differ in the last bits. It cannot be asked for. It is enough if
 * the op is exact, so that ranks do not differ. */
#define RCX_ORDER_LOOSE ((rcx_order_t)0)

#endif
