/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes that come from other ranks. */
#ifndef RCX_CORE_RUN_DETECT_CTRL_DISPATCH_H
#define RCX_CORE_RUN_DETECT_CTRL_DISPATCH_H

#include "core/run/object/context.h"

/* Read what has come. */
void rcx_ctrl_dispatch(struct rcx_context *context);
/* A new communicator may have failed on others already. */
void rcx_ctrl_replay(struct rcx_comm *comm);
void rcx_ctrl_close(struct rcx_context *context);

#endif
