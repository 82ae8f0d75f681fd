/* SPDX-License-Identifier: BSD-3-Clause */
/* The rounds of RCX's own before and after a user's operation. */
#ifndef RCX_CORE_RUN_ROUNDS_H
#define RCX_CORE_RUN_ROUNDS_H

#include "core/run/check.h"
#include "core/run/request.h"

/* Find the programs of those that r has. Hardly any request has one. */
rcx_status_t rcx_rounds_prepare(struct rcx_request *r);

/* What this rank calls, as any rank would see it: handles of users' types and
 * ops count differently, what they mean does not. */
struct rcx_check_record rcx_round_record_of(const struct rcx_request *r);

#endif
