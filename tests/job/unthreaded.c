/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD: simulate a UCX that was built without thread support. Each
 * worker reports UCS_THREAD_MODE_SINGLE, whatever mode it was created with.
 */
#include <dlfcn.h>
#include <ucp/api/ucp.h>

ucs_status_t ucp_worker_query(ucp_worker_h worker, ucp_worker_attr_t *attr)
{
    ucs_status_t (*next)(ucp_worker_h, ucp_worker_attr_t *) =
        dlsym(RTLD_NEXT, "ucp_worker_query");
    const ucs_status_t status = next(worker, attr);

    if (attr->field_mask & UCP_WORKER_ATTR_FIELD_THREAD_MODE)
        attr->thread_mode = UCS_THREAD_MODE_SINGLE;
    return status;
}
