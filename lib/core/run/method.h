/* SPDX-License-Identifier: BSD-3-Clause */
/* How a collective is carried out, and how that is chosen. */
#ifndef RCX_CORE_RUN_METHOD_H
#define RCX_CORE_RUN_METHOD_H

#include "core/op/registry.h"
#include "core/run/config.h"

/* How a collective is carried out. */
struct rcx_method {
    const struct rcx_algo *algo;
    int64_t params[RCX_PARAMS]; /* of algo; none is auto */
    size_t segment;             /* elements; 0: one piece */
    unsigned window;
};

struct rcx_context;

/* The lowest order level that is good enough for an op. */
rcx_order_t rcx_order_needed(const struct rcx_config *config, bool commutative,
                             bool exact);
/* Errors are logged. Looks only at what all ranks agree on; what users force is
 * not for internal operations. */
rcx_status_t rcx_method_select(const struct rcx_context *context,
                               const struct rcx_shape *shape,
                               const struct rcx_combine *combine, bool internal,
                               struct rcx_method *method_p);

#endif
