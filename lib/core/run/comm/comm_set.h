/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of one communicator. */
#ifndef RCX_CORE_RUN_COMM_COMM_SET_H
#define RCX_CORE_RUN_COMM_COMM_SET_H

#include "core/run/object/comm.h"

/* All members give the same name and value, or nothing changes and all get an
 * error: RCX_ERR_CONFIG, RCX_ERR_BUSY, RCX_ERR_NOMEM. Blocks. */
rcx_status_t rcx_comm_change_setting(struct rcx_comm *comm, const char *name,
                                     const char *value);

#endif
