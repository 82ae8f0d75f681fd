/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failure of communicators. A failed communicator stays failed: its operations
 * end with an error, and later calls return it at once. These functions set,
 * log and announce the failure; rcx_detector_poll() cancels the operations.
 */
#ifndef RCX_CORE_RUN_FAULT_FAILURE_H
#define RCX_CORE_RUN_FAULT_FAILURE_H

#include "core/run/fault/state.h"
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

/* The same after an announcement by from, a rank of the context. at: how many
 * ranks earlier messages of from have named; these are added to them. */
void rcx_comm_fail_reported(struct rcx_comm *comm, rcx_status_t status,
                            const int ranks[], int n, int from, int at,
                            const char *text);

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

/* The status of a call on comm, which has failed. The user knows of the failure
 * from then on. */
static inline rcx_status_t rcx_comm_refuse(const struct rcx_comm *comm)
{
    if (comm != comm->context->internal)
        comm->context->is_told = true;
    return RCX_ERR_COMM_FAILED;
}

/* The other members go on without this one, whether comm has failed before or
 * not. Sets and logs the reason. */
void rcx_comm_exclude(struct rcx_comm *comm, const char *text);

/* comm is closed; later events do not change it. */
void rcx_comm_set_freed(struct rcx_comm *comm);

/* Send the failure of comm and its reason to the other members. */
void rcx_comm_announce(struct rcx_comm *comm);

/* ---- Peers, by their ranks in the context -------------------------------- */

struct rcx_peer rcx_peer_of(const struct rcx_context *context, int rank);
/* Whether the peer has failed, or has left after a failure. */
bool rcx_peer_is_gone(const struct rcx_context *context, int rank);
/* An event of a peer; returns what is to be done. Without memory for states
 * each event is as if the peer were suspect. */
enum rcx_peer_action rcx_peer_step(struct rcx_context *context, int rank,
                                   enum rcx_peer_event event);
/* The others have agreed that the peer has failed. */
void rcx_peer_exclude(struct rcx_context *context, int rank);
/* The program says that the peer's process has ended. */
void rcx_peer_declare_ended(struct rcx_context *context, int rank);
/* The peer finalizes and waits for a reply, or has got it. */
void rcx_peer_await_reply(struct rcx_context *context, int rank, bool awaits);
/* The peer knows that this rank finalizes. */
void rcx_peer_acknowledge(struct rcx_context *context, int rank);
/* Count a message of an agreement to the peer, or from it. The peer says how
 * many it has sent. */
void rcx_peer_count_agree(struct rcx_context *context, int rank);
void rcx_peer_note_agree(struct rcx_context *context, int rank);
void rcx_peer_announce_agree(struct rcx_context *context, int rank, uint32_t n);
/* A peer is dead, or has left after an error: its communicators fail. Their
 * members are told unless all_know. */
void rcx_peer_fail_comms(struct rcx_context *context, int rank, bool all_know);

#endif
