/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_TRANSPORT_UCP_DISCARD_H
#define RCX_TRANSPORT_UCP_DISCARD_H

struct ucp_worker;

/* Messages that nobody will receive, as after a failure: UCX warns of each one
 * that is left. */
void rcx_ucp_discard(struct ucp_worker *worker);

#endif
