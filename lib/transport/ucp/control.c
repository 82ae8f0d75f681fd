/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control messages: through the lane within a node, as active messages of UCX
 * elsewhere. A rank that dies while it writes into a queue of UCX's shared
 * memory stops the queue; a lane has one writer.
 */
#include <string.h>

#include "transport/ucp/worker.h"

static ucs_status_t ctrl_received(void *arg, const void *header,
                                  size_t header_bytes, void *data, size_t bytes,
                                  const ucp_am_recv_param_t *param)
{
    struct ucp *u = arg;

    (void)header, (void)header_bytes, (void)param;
    rcx_ctrl_queue_push(&u->base, u->heap, data, bytes);
    return UCS_OK;
}

ucs_status_t rcx_ucp_open_ctrl(struct ucp *u)
{
    const ucp_am_handler_param_t param = {.field_mask =
                                              UCP_AM_HANDLER_PARAM_FIELD_ID |
                                              UCP_AM_HANDLER_PARAM_FIELD_CB |
                                              UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                          .id = RCX_UCP_AM_CTRL,
                                          .cb = ctrl_received,
                                          .arg = u};

    return ucp_worker_set_am_recv_handler(u->worker, &param);
}

/* Kept until the message is sent. */
struct outgoing {
    struct ucp *u;
    unsigned char data[];
};

static void free_outgoing(struct outgoing *o)
{
    o->u->base.ctrl_unsent--;
    rcx_heap_free(o->u->heap, o);
}

static void ctrl_sent(void *request, ucs_status_t status, void *arg)
{
    (void)status;
    free_outgoing(arg);
    ucp_request_free(request);
}

void rcx_ucp_send_ctrl(struct rcx_transport *t, int peer, const void *note,
                       size_t bytes)
{
    struct ucp *u = (struct ucp *)t;
    ucp_request_param_t param = {.op_attr_mask = RCX_UCP_WITH_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_AM_SEND_FLAG_EAGER,
                                 .cb.send = ctrl_sent};
    ucs_status_ptr_t result;
    struct outgoing *o;

    if (!u->endpoints[peer] && rcx_ucp_reach(u, peer) != RCX_OK) {
        t->last_error[0] = '\0'; /* no reason for the next failure */
        t->ctrl_lost = true;
        return;
    }
    if (u->lane.outs[peer] &&
        rcx_shm_send_ctrl(u->lane.outs[peer], note, bytes)) {
        rcx_ucp_lane_ring_doorbell(u, peer);
        return;
    }
    o = rcx_heap_alloc(u->heap, sizeof *o + bytes);
    if (!o) {
        t->ctrl_lost = true;
        return;
    }
    o->u = u;
    u->base.ctrl_unsent++;
    memcpy(o->data, note, bytes);
    param.user_data = o;
    result = ucp_am_send_nbx(u->endpoints[peer], RCX_UCP_AM_CTRL, NULL, 0,
                             o->data, bytes, &param);
    t->ctrl_lost |= UCS_PTR_IS_ERR(result);
    if (!result || UCS_PTR_IS_ERR(result))
        free_outgoing(o);
    rcx_ucp_lane_ring_doorbell(u, peer);
}
