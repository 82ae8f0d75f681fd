/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How communicators fail, and how their ranks learn it. A failed one stays so:
 * its operations end with an error, later calls fail at once. Here it is only
 * latched, logged and told; rcx_watch() does the rest.
 */
#ifndef RCX_CORE_RUN_FAULT_FAILURE_H
#define RCX_CORE_RUN_FAULT_FAILURE_H

#include "core/run/object/comm.h"

/*
 * comm fails with status, unless it has before. ranks: those of its ranks that
 * it failed for. Logs text, and tells the other members. Its operations end at
 * the next rcx_watch(), and groups that are being made from it fail with it. So
 * do, after RCX_ERR_PEER_FAILED, the other communicators of these ranks.
 */
void rcx_comm_fail(struct rcx_comm *comm, rcx_status_t status,
                   const int ranks[], int n, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The same where every member knows, or comes to know, and nobody is told. */
void rcx_comm_fail_untold(struct rcx_comm *comm, rcx_status_t status,
                          const int ranks[], int n, const char *text);

/* The same because member from, a rank of the context, has said so; and ranks
 * number at and following, which a later note of that member names. */
void rcx_comm_fail_told(struct rcx_comm *comm, rcx_status_t status,
                        const int ranks[], int n, int from, const char *text);
void rcx_comm_add_failed(struct rcx_comm *comm, int from, int at,
                         const int ranks[], int n);

/* A rank of the context is dead, or has left after an error: the communicators
 * that it is in fail, and their members are told unless all ranks know. */
void rcx_comms_fail_dead(struct rcx_context *context, int rank, bool all_know);

/* It will fail so, if nobody says why it fails instead: who is blamed here may
 * have left, and told why, and that be on its way. The next rcx_watch() hears it
 * and decides. Nothing, where a doubt is there already. */
void rcx_comm_doubt(struct rcx_comm *comm, rcx_status_t status,
                    const int ranks[], int n, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* All has been heard. */
void rcx_comm_decide(struct rcx_comm *comm);

/* What rcx_comm_error() tells of comm from now on. */
void rcx_comm_explain(struct rcx_comm *comm, const int ranks[], int n,
                      const char *text);

/* A call of comm is refused, on every member alike, and comm goes on: logs
 * text, and keeps it with ranks for rcx_comm_error(). */
void rcx_comm_refuse(struct rcx_comm *comm, const int ranks[], int n,
                     const char *text);

/* Tell the other members that comm has failed, and why. */
void rcx_comm_tell(struct rcx_comm *comm);

#endif
