/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks an overdue or differing operation fails for. The rule: a rank
 * that is dead, stopped, silent, or that differs from the majority is named; a
 * rank that waits is not, whatever communicator it waits in.
 */
#ifndef RCX_CORE_RUN_DETECT_CULPRITS_H
#define RCX_CORE_RUN_DETECT_CULPRITS_H

#include "core/run/detect/straggler.h"

/* The query of r's communicator is over: fail that communicator, for the ranks
 * that the answers show. age: of r, in nanoseconds. */
void rcx_straggler_decide(const struct rcx_request *r, uint64_t age);

#endif
