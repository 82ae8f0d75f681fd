/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded, it says what ucp_init() is told of the job, and with FABRIC=closed
 * has workers fail where UCX may use more than tcp and self, as on networks that
 * a process may not open.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

ucs_status_t ucp_init_version(unsigned major, unsigned minor,
                              const ucp_params_t *params,
                              const ucp_config_t *config,
                              ucp_context_h *context_p)
{
    ucs_status_t (*next)(unsigned, unsigned, const ucp_params_t *,
                         const ucp_config_t *, ucp_context_h *) =
        dlsym(RTLD_NEXT, "ucp_init_version");

    if (params->field_mask & UCP_PARAM_FIELD_ESTIMATED_NUM_EPS)
        printf("%zu endpoints\n", params->estimated_num_eps);
    if (params->field_mask & UCP_PARAM_FIELD_ESTIMATED_NUM_PPN)
        printf("%zu on a node\n", params->estimated_num_ppn);
    fflush(stdout);
    return next(major, minor, params, config, context_p);
}

ucs_status_t ucp_worker_create(ucp_context_h context,
                               const ucp_worker_params_t *params,
                               ucp_worker_h *worker_p)
{
    ucs_status_t (*next)(ucp_context_h, const ucp_worker_params_t *,
                         ucp_worker_h *) =
        dlsym(RTLD_NEXT, "ucp_worker_create");
    const char *fabric = getenv("FABRIC"), *tls = getenv("RCX_UCX_TLS");

    if (fabric && strcmp(fabric, "closed") == 0 &&
        (!tls || strcmp(tls, "tcp,self") != 0))
        return UCS_ERR_IO_ERROR;
    return next(context, params, worker_p);
}
