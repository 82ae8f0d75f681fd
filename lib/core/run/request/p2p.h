/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point to point: a message is an operation whose program has one step. That is
 * made anew for each, in a place which is kept, so that lengths and tags that
 * change all the time do not crowd the cache.
 *
 * Messages are apart from collectives: they take no sequence number, whose
 * window one that is received late would close; ranks need not have as many, so
 * they have a list, numbers and a recorder of their own.
 */
#ifndef RCX_CORE_RUN_REQUEST_P2P_H
#define RCX_CORE_RUN_REQUEST_P2P_H

#include "core/run/object/comm.h"

/* All its programs were put back. */
void rcx_p2p_close(struct rcx_p2p_queue *mail);

/* A program for call, with one pin, and back. Errors are logged. */
rcx_status_t rcx_p2p_get(struct rcx_comm *comm, const struct rcx_p2p_call *call,
                         struct rcx_p2p **p_p);
void rcx_p2p_put(struct rcx_p2p_queue *mail, struct rcx_p2p *p);

/* Start x, an execution of it. True: it is over already. */
bool rcx_p2p_start(struct rcx_p2p *p, struct rcx_exec *x);

/* A receive's execution is over with status: see what came, and what is to be
 * said of it. */
rcx_status_t rcx_p2p_judge(struct rcx_p2p *p, const struct rcx_comm *comm,
                           const struct rcx_exec *x, rcx_status_t status);

/* Whether a message to comm, which is freed, has come that nobody has received;
 * says so, and the consequence. */
bool rcx_p2p_warn_unreceived(const struct rcx_comm *comm,
                             const char *consequence);

#endif
