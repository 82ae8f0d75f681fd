/* SPDX-License-Identifier: BSD-3-Clause */
/* A context's communicators. */
#ifndef RCX_CORE_RUN_COMM_TABLE_H
#define RCX_CORE_RUN_COMM_TABLE_H

#include "core/run/attempts.h"
#include "core/run/comm_ids.h"

struct rcx_comms {
    struct rcx_comm *first; /* all of them */
    struct rcx_comm *busy;  /* those in use lately, which are watched */
    struct rcx_comm *free;  /* slots of those that are gone */
    uint64_t live;          /* of users */
    struct rcx_comm_ids ids;
    struct rcx_attempts attempts; /* to make groups, that failed */
};

#endif
