/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes: active messages. */
#include <string.h>

#include "transport/ucp/worker.h"

static ucs_status_t note_came(void *arg, const void *header,
                              size_t header_bytes, void *data, size_t bytes,
                              const ucp_am_recv_param_t *param)
{
    struct ucp *u = arg;

    (void)header, (void)header_bytes, (void)param;
    rcx_note_put(&u->base, u->heap, data, bytes);
    return UCS_OK;
}

bool rcx_ucp_take_note(struct rcx_transport *t, void *note, size_t bytes)
{
    return rcx_note_take(t, ((struct ucp *)t)->heap, note, bytes);
}

ucs_status_t rcx_ucp_listen_for_notes(struct ucp *u)
{
    const ucp_am_handler_param_t param = {.field_mask =
                                              UCP_AM_HANDLER_PARAM_FIELD_ID |
                                              UCP_AM_HANDLER_PARAM_FIELD_CB |
                                              UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                          .id = RCX_UCP_NOTE,
                                          .cb = note_came,
                                          .arg = u};

    return ucp_worker_set_am_recv_handler(u->worker, &param);
}

/* What a note needs until it is sent. */
struct outgoing {
    struct ucp *u;
    unsigned char data[];
};

static void forget(struct outgoing *o)
{
    o->u->base.notes_leaving--;
    rcx_heap_free(o->u->heap, o);
}

static void note_sent(void *request, ucs_status_t status, void *arg)
{
    (void)status;
    forget(arg);
    ucp_request_free(request);
}

void rcx_ucp_notify(struct rcx_transport *t, int peer, const void *note,
                    size_t bytes)
{
    struct ucp *u = (struct ucp *)t;
    ucp_request_param_t param = {.op_attr_mask = RCX_UCP_WITH_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_AM_SEND_FLAG_EAGER,
                                 .cb.send = note_sent};
    ucs_status_ptr_t result;
    struct outgoing *o;

    if (!u->endpoints[peer] && rcx_ucp_reach(u, peer) != RCX_OK) {
        t->trouble[0] = '\0'; /* whoever fails next has another reason */
        t->lost_note = true;
        return;
    }
    o = rcx_heap_alloc(u->heap, sizeof *o + bytes);
    if (!o) {
        t->lost_note = true;
        return;
    }
    o->u = u;
    u->base.notes_leaving++;
    memcpy(o->data, note, bytes);
    param.user_data = o;
    result = ucp_am_send_nbx(u->endpoints[peer], RCX_UCP_NOTE, NULL, 0, o->data,
                             bytes, &param);
    t->lost_note |= UCS_PTR_IS_ERR(result);
    if (!result || UCS_PTR_IS_ERR(result))
        forget(o);
    rcx_ucp_lane_tell_news(u, peer);
}
