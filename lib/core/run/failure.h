/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How communicators fail, and how their ranks learn it. A failed one stays so:
 * its operations end with an error, later calls fail at once. What UCX still
 * has of a given-up operation is kept until UCX is done with it, or gone.
 */
#ifndef RCX_CORE_FAILURE_H
#define RCX_CORE_FAILURE_H

#include "core/run/comm.h"

enum { RCX_RANKS_TOLD = 8, RCX_TEXT_TOLD = 224 };

/* What rcx_comm_error() tells. */
struct rcx_failure {
    int ranks[RCX_RANKS_TOLD]; /* of the communicator */
    int rank_count;
    char text[RCX_TEXT_TOLD];
};

/*
 * comm fails with status, unless it has before. ranks: up to RCX_RANKS_TOLD of
 * its ranks that it failed for. Logs text, and tells the other members. Its
 * operations end at the next rcx_watch().
 */
void rcx_comm_fail(struct rcx_comm *comm, rcx_status_t status,
                   const int ranks[], int n, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The same where every member finds out by itself, and nobody is told. */
void rcx_comm_fail_together(struct rcx_comm *comm, rcx_status_t status,
                            const int ranks[], int n, const char *text);

/* A call of comm is refused, on every member alike, and comm goes on: logs
 * text, and keeps it with ranks for rcx_comm_error(). */
void rcx_comm_refuse(struct rcx_comm *comm, const int ranks[], int n,
                     const char *text);

/* Tell the other members that comm has failed, and why. */
void rcx_comm_tell(struct rcx_comm *comm);

/* Write a dump of all communicators to path; reason: NULL, somebody asked. */
rcx_status_t rcx_dump_context(struct rcx_context *context, const char *path,
                              const char *reason);

/* Write a dump where RCX_DUMP says, because of a failure. */
void rcx_dump_failure(struct rcx_context *context, const char *reason);

/* What an abandoned execution's message came to. */
void rcx_abandoned_message(struct rcx_context *context, struct rcx_exec *x,
                           const struct rcx_message *m);
/* Free abandoned executions; the transport is gone. */
void rcx_abandoned_free(struct rcx_context *context);

#endif
