/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_TRANSPORT_UCP_RDMA_H
#define RCX_TRANSPORT_UCP_RDMA_H

#include <stdbool.h>
#include <stdint.h>

struct ucp_config;

/* Whether this machine has an RDMA device. */
bool rcx_has_rdma(void);

/*
 * Adjust UCX's rc and ud, if UCX may use them. timeout_ns is the deadline of
 * operations, 0 without one.
 *
 * UCX takes a peer for dead that has not answered for 8 s (rc) or 30 s (ud).
 * With a longer deadline, the user allows a longer silence: UCX waits as long,
 * over rc for 34 s at most, since a lost message is sent again after an eighth
 * of that.
 */
void rcx_rdma_adjust(struct ucp_config *config, int64_t timeout_ns);

#endif
