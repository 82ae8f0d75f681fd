/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that have arrived without a receive: drops what is left in a worker,
 * and probes.
 */
#include "transport/ucp/drain.h"

#include "transport/ucp/lane.h"
#include "transport/ucp/worker.h"

enum { POLLS = 1000 };

static void drained(void *request, ucs_status_t status,
                    const ucp_tag_recv_info_t *info, void *user_data)
{
    int *pending = user_data;

    (void)status, (void)info;
    --*pending;
    ucp_request_free(request);
}

void rcx_ucp_drain_unexpected(struct ucp_worker *worker)
{
    int pending = 0;
    const ucp_request_param_t param = {.op_attr_mask =
                                           UCP_OP_ATTR_FIELD_CALLBACK |
                                           UCP_OP_ATTR_FIELD_USER_DATA |
                                           UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                       .cb.recv = drained,
                                       .user_data = &pending};
    ucp_tag_message_h message;
    ucp_tag_recv_info_t info;
    char nothing;

    while ((message = ucp_tag_probe_nb(worker, 0, 0, 1, &info))) {
        pending++;
        if (UCS_PTR_IS_ERR(
                ucp_tag_msg_recv_nbx(worker, &nothing, 0, message, &param)))
            pending--;
    }
    for (int i = 0; i < POLLS && pending > 0; i++)
        ucp_worker_progress(worker);
}

static void dropped(void *request, ucs_status_t status,
                    const ucp_tag_recv_info_t *info, void *user_data)
{
    (void)status, (void)info, (void)user_data;
    ucp_request_free(request);
}

void rcx_ucp_drop_unexpected(struct ucp_worker *worker, uint64_t tag,
                             uint64_t mask)
{
    const ucp_request_param_t param = {.op_attr_mask =
                                           UCP_OP_ATTR_FIELD_CALLBACK |
                                           UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                       .cb.recv = dropped};
    ucp_tag_message_h message;
    ucp_tag_recv_info_t info;

    while ((message = ucp_tag_probe_nb(worker, tag, mask, 1, &info)))
        ucp_tag_msg_recv_nbx(worker, NULL, 0, message, &param);
}

bool rcx_ucp_probe(struct rcx_transport *t, int peer, uint64_t tag,
                   uint64_t mask, struct rcx_arrival *found_p)
{
    struct ucp *u = (struct ucp *)t;
    ucp_tag_recv_info_t info;

    if (u->lane.segment && rcx_ucp_lane_probe(u, peer, tag, mask, found_p))
        return true;
    if (!ucp_tag_probe_nb(u->worker, tag, mask, 0, &info))
        return false;
    *found_p = (struct rcx_arrival){info.sender_tag, info.length};
    return true;
}
