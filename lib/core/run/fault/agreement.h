/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreements of the members of a communicator (agree.h), over control messages.
 * Each communicator counts its agreements. A member keeps three of them: the
 * last one, whose decision others may still ask for; the open one; and the one
 * after it, which others may have begun. A member that asks for an older one
 * has been excluded since.
 */
#ifndef RCX_CORE_RUN_FAULT_AGREEMENT_H
#define RCX_CORE_RUN_FAULT_AGREEMENT_H

#include "core/run/fault/ctrl_msg.h"
#include "core/run/object/comm.h"

/*
 * Take part in the open agreement of comm with word, or go on with it if an
 * earlier call has ended with RCX_ERR_TIMEOUT. timeout_ns: 0: none. Members
 * that do not take part within a quarter of it are taken for failed.
 * RCX_ERR_NOMEM: nothing has happened.
 */
rcx_status_t rcx_agreement_begin(struct rcx_comm *comm, uint64_t word,
                                 int64_t timeout_ns);
/* The member whose message the entered one waits for; -1: none, or several. */
int rcx_agreement_awaited(const struct rcx_comm *comm);
/* Whether it has ended for this rank, now. */
bool rcx_agreement_is_over(struct rcx_comm *comm);
/* Look whether the processes of members that are gone have ended. */
void rcx_agreement_look(struct rcx_comm *comm);
/* Whether some were seen to have. The caller then reads all control messages
 * and says so: the members count as dead from then on. */
bool rcx_agreement_must_read(const struct rcx_comm *comm);
void rcx_agreement_has_read(struct rcx_comm *comm);
/*
 * The result. RCX_OK: word_p is the decided word, the failed members are in
 * rcx_agreement_failed(), and comm has failed if there are any. Otherwise comm
 * has failed and the reason is logged: RCX_ERR_EXCLUDED: the others have
 * decided that this rank has failed, or it has no quorum. RCX_ERR_TIMEOUT: it
 * is not over.
 */
rcx_status_t rcx_agreement_end(struct rcx_comm *comm, uint64_t *word_p);
/* Members of comm that have failed by its last agreement, ascending; they are
 * kept until the next one. */
int rcx_agreement_failed(const struct rcx_comm *comm, const int **ranks_p);
/* The ids that the open agreement offers for a new communicator: 0 at first.
 * They are of window (cid_set.h). NULL: no memory. */
struct rcx_id_offer {
    uint64_t ids;
    uint32_t window;
};
struct rcx_id_offer *rcx_agreement_offer(struct rcx_comm *comm);
/* How many agreements have been decided. */
uint32_t rcx_agreement_count(const struct rcx_comm *comm);
/* Whether the processes of all failed members are known to have ended. */
bool rcx_agreement_all_are_dead(const struct rcx_comm *comm);
/* Whether no other member will ask for a decision, or each can do without. */
bool rcx_agreement_may_be_freed(const struct rcx_comm *comm);
/* All members that live have the last decision. */
void rcx_agreement_settle(struct rcx_comm *comm);
void rcx_agreement_free(struct rcx_comm *comm);
/* This rank finalizes after a failure: send what it has decided to members that
 * may not know it. */
void rcx_agreements_leave(struct rcx_context *context);

/* A control message of kind RCX_CTRL_AGREE, and bytes behind it. */
void rcx_agreement_receive(struct rcx_comm *comm,
                           const struct rcx_ctrl_msg *body, size_t bytes);
/* Kinds RCX_CTRL_PING and RCX_CTRL_PONG. */
void rcx_agreement_answer(struct rcx_comm *comm,
                          const struct rcx_ctrl_msg *body);
void rcx_agreement_note_answer(struct rcx_comm *comm,
                               const struct rcx_ctrl_msg *body);
/* The same, if this rank does not have the communicator: reply so. */
void rcx_agreement_tell_gone(struct rcx_context *context,
                             const struct rcx_ctrl_msg *body);
/* Such a reply has come. */
void rcx_agreement_gone(struct rcx_comm *comm, const struct rcx_ctrl_msg *body);

#endif
