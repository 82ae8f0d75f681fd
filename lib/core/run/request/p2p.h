/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point to point: a message is an operation whose program has one step. The
 * program is written anew for each message into memory that is kept, so that
 * changing lengths and tags do not fill the cache.
 *
 * Messages have no sequence number: a message that is received late would stop
 * the window, and ranks need not send equally many. They have a queue, numbers
 * and a recorder of their own.
 */
#ifndef RCX_CORE_RUN_REQUEST_P2P_H
#define RCX_CORE_RUN_REQUEST_P2P_H

#include "core/run/object/comm.h"

/* All programs must have been put back. */
void rcx_p2p_close(struct rcx_p2p_queue *mail);

/* Get a program for call, with one pin; and put it back. Errors are logged. */
rcx_status_t rcx_p2p_get(struct rcx_comm *comm, const struct rcx_p2p_call *call,
                         struct rcx_p2p **p_p);
void rcx_p2p_put(struct rcx_p2p_queue *mail, struct rcx_p2p *p);

/* Start x, an execution of it. True: it has completed. */
bool rcx_p2p_start(struct rcx_p2p *p, struct rcx_exec *x);

/* The message has completed with status: check what a receive got. Returns its
 * final status. */
rcx_status_t rcx_p2p_finish(struct rcx_p2p *p, const struct rcx_comm *comm,
                            const struct rcx_exec *x, rcx_status_t status);

/* Whether a message to comm, which is freed, has arrived without a receive.
 * Warns of it, with the consequence. */
bool rcx_p2p_warn_unreceived(const struct rcx_comm *comm,
                             const char *consequence);

#endif
