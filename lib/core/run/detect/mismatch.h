/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that do not match, of ranks that wait for each other
 * (RCX_CHECK=cheap). */
#ifndef RCX_CORE_RUN_DETECT_MISMATCH_H
#define RCX_CORE_RUN_DETECT_MISMATCH_H

#include "core/run/fault/ctrl_msg.h"

/* comm's first operation has waited for some time: check whether another rank
 * has made a different call. */
void rcx_mismatch_check(struct rcx_comm *comm);
/* A member that waits for this rank says in which call: no other may have its
 * number here. */
void rcx_mismatch_compare(struct rcx_comm *comm,
                          const struct rcx_ctrl_msg *body);

#endif
