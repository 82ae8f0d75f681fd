/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_TRANSPORT_UCP_DRAIN_H
#define RCX_TRANSPORT_UCP_DRAIN_H

#include "core/iface/transport.h"

struct ucp_worker;

/* Receive and drop messages without receives, as a failure leaves them: UCX
 * warns of each one that is left when a worker closes. */
void rcx_ucp_drain_unexpected(struct ucp_worker *worker);

/* Drop those whose tags agree with tag where mask has ones, without waiting for
 * the end of long ones. */
void rcx_ucp_drop_unexpected(struct ucp_worker *worker, uint64_t tag,
                             uint64_t mask);

/* As in struct rcx_transport_ops. */
bool rcx_ucp_probe(struct rcx_transport *t, int peer, uint64_t tag,
                   uint64_t mask, struct rcx_arrival *found_p);

#endif
