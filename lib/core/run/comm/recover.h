/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement on failures, and communicators of the members that live. */
#ifndef RCX_CORE_RUN_COMM_RECOVER_H
#define RCX_CORE_RUN_COMM_RECOVER_H

#include "core/run/object/comm.h"

/* Both are called by all members of comm that live, in the same order, and wait
 * until it is over. timeout_ns: 0: none. Statuses as in rcx.h. */

/* word_p: this rank's word; then the AND of those that took part. */
rcx_status_t rcx_comm_run_agreement(struct rcx_comm *comm, uint64_t *word_p,
                                    int64_t timeout_ns);
/* A communicator of the members of comm that live, in their order. */
rcx_status_t rcx_comm_run_shrink(struct rcx_comm *comm, int64_t timeout_ns,
                                 struct rcx_comm **new_p);

#endif
