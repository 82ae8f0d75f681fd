/* SPDX-License-Identifier: BSD-3-Clause */
/* File descriptors that this process may still open. */
#ifndef RCX_CORE_BASE_DESCRIPTORS_H
#define RCX_CORE_BASE_DESCRIPTORS_H

#include <stdbool.h>

enum { RCX_DESCRIPTORS_MOST = 32 };

/* Whether this process may open n more descriptors, up to
 * RCX_DESCRIPTORS_MOST. */
bool rcx_has_descriptors(int n);

#endif
