/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_TRANSPORT_UCP_DISCARD_H
#define RCX_TRANSPORT_UCP_DISCARD_H

struct ucp_worker;

/* Discard messages without receives, as a failure leaves them: UCX warns of
 * each one that is left when a worker closes. */
void rcx_ucp_discard(struct ucp_worker *worker);

#endif
