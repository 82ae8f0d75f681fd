/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of transports, best first.
 */
#include "core/iface/transport.h"

#ifdef RCX_HAVE_UCX
extern const struct rcx_transport_ops rcx_transport_ucp;
#endif

const struct rcx_transport_ops *const rcx_transport_table[] = {
#ifdef RCX_HAVE_UCX
    &rcx_transport_ucp,
#endif
    NULL,
};
