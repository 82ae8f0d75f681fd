/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How communicators fail, and how their ranks learn it. A failed one stays so:
 * its operations end with an error, later calls fail at once. Here it is only
 * latched, logged and told; rcx_watch() does the rest.
 */
#ifndef RCX_CORE_FAILURE_H
#define RCX_CORE_FAILURE_H

#include "core/run/comm.h"

/*
 * comm fails with status, unless it has before. ranks: up to RCX_RANKS_TOLD of
 * its ranks that it failed for. Logs text, and tells the other members. Its
 * operations end at the next rcx_watch().
 */
void rcx_comm_fail(struct rcx_comm *comm, rcx_status_t status,
                   const int ranks[], int n, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The same where every member knows, or comes to know, and nobody is told. */
void rcx_comm_fail_untold(struct rcx_comm *comm, rcx_status_t status,
                          const int ranks[], int n, const char *text);

/* It will fail so, if nobody says why it fails instead: who is blamed here may
 * have left, and told why, and that be on its way. The next rcx_watch() hears it
 * and decides. Nothing, where a doubt is there already. */
void rcx_comm_doubt(struct rcx_comm *comm, rcx_status_t status,
                    const int ranks[], int n, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* All has been heard. */
void rcx_comm_decide(struct rcx_comm *comm);

/* A call of comm is refused, on every member alike, and comm goes on: logs
 * text, and keeps it with ranks for rcx_comm_error(). */
void rcx_comm_refuse(struct rcx_comm *comm, const int ranks[], int n,
                     const char *text);

/* Tell the other members that comm has failed, and why. */
void rcx_comm_tell(struct rcx_comm *comm);

#endif
