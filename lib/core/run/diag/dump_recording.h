/* SPDX-License-Identifier: BSD-3-Clause */
/* The recording of RCX_TRACE, as a part of a dump. */
#ifndef RCX_CORE_RUN_DIAG_DUMP_RECORDING_H
#define RCX_CORE_RUN_DIAG_DUMP_RECORDING_H

#include <stdio.h>

#include "core/run/object/context.h"

/* Write the key "recording" and its object, behind a comma; nothing without
 * RCX_TRACE or RCX_PROFILE. */
void rcx_dump_recording(FILE *file, const struct rcx_context *context);

#endif
