/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failure of communicators. A failed communicator stays failed: its operations
 * end with an error, and later calls return it at once. These functions set,
 * log and announce the failure; rcx_detector_poll() cancels the operations.
 */
#ifndef RCX_CORE_RUN_FAULT_FAILURE_H
#define RCX_CORE_RUN_FAULT_FAILURE_H

#include "core/run/object/comm.h"

/*
 * comm fails with status, unless it has failed before. ranks: the members that
 * it fails for. Logs text and announces the failure to the other members.
 * Groups in the making fail with their parent. After RCX_ERR_PEER_FAILED, other
 * communicators with these ranks fail as well.
 */
void rcx_comm_fail(struct rcx_comm *comm, rcx_status_t status,
                   const int ranks[], int n, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The same without an announcement, where every member finds the failure
 * itself. */
void rcx_comm_fail_local(struct rcx_comm *comm, rcx_status_t status,
                         const int ranks[], int n, const char *text);

/* The same after an announcement by from, a rank of the context.
 * rcx_comm_add_failed() adds ranks, from number at on, that a later message of
 * from names. */
void rcx_comm_fail_reported(struct rcx_comm *comm, rcx_status_t status,
                            const int ranks[], int n, int from,
                            const char *text);
void rcx_comm_add_failed(struct rcx_comm *comm, int from, int at,
                         const int ranks[], int n);

/* A rank of the context is dead, or has left after an error: its communicators
 * fail. Their members are told unless all_know. */
void rcx_comms_fail_peer(struct rcx_context *context, int rank, bool all_know);

/* comm will fail so unless drained control messages give another reason: a
 * suspected peer may have finalized after a failure and said so. The next
 * rcx_detector_poll() drains them and confirms. No effect if comm is suspected
 * already. */
void rcx_comm_suspect(struct rcx_comm *comm, rcx_status_t status,
                      const int ranks[], int n, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Control messages are drained: comm fails for the reason that was given. */
void rcx_comm_confirm_failed(struct rcx_comm *comm);

/* Set what rcx_comm_error() returns for comm. */
void rcx_comm_set_reason(struct rcx_comm *comm, const int ranks[], int n,
                         const char *text);

/* Every member rejects a call of comm in the same way, and comm stays usable.
 * Logs text, and keeps it with ranks for rcx_comm_error(). */
void rcx_comm_reject_call(struct rcx_comm *comm, const int ranks[], int n,
                          const char *text);

/* Send the failure of comm and its reason to the other members. */
void rcx_comm_announce(struct rcx_comm *comm);

#endif
