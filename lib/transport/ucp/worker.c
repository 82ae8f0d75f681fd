/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transport over UCP: tagged messages with exact tags, one worker per context,
 * one endpoint per peer, created at first use.
 */
#include "transport/ucp/worker.h"

#include <string.h>

#include "transport/node/segment.h"
#include "transport/shm/fifo.h"
#include "transport/ucp/adjust.h"
#include "transport/ucp/drain.h"

enum { CLOSE_POLLS = 1000 };

void rcx_ucp_version(char *text, size_t bytes)
{
    snprintf(text, bytes, "UCX %s", ucp_get_version_string());
}

static rcx_status_t fail(const struct ucp *u, const char *what,
                         ucs_status_t status)
{
    return rcx_fail(
        u->log, status == UCS_ERR_NO_MEMORY ? RCX_ERR_NOMEM : RCX_ERR_TRANSPORT,
        "%s: %s", what, ucs_status_string(status));
}

/* ---- Completion ---------------------------------------------------------- */

static void send_done(void *request, ucs_status_t status, void *user_data)
{
    struct rcx_message *m = user_data;

    m->handle = NULL;
    ((struct ucp *)m->transport)->pending--;
    rcx_message_complete(m->transport, m,
                         status == UCS_OK ? RCX_OK
                                          : rcx_ucp_message_failed(
                                                m->transport, m->peer, status));
    ucp_request_free(request);
}

static rcx_status_t status_of_receive(const struct rcx_message *m,
                                      ucs_status_t status)
{
    if (status == UCS_ERR_MESSAGE_TRUNCATED)
        return RCX_ERR_MISMATCH;
    return status == UCS_ERR_CANCELED
               ? RCX_ERR_CANCELED
               : rcx_ucp_message_failed(m->transport, m->peer, status);
}

/* Out of line, so that a successful receive does not pay for it. */
__attribute__((cold, noinline)) static void
recv_failed(void *request, ucs_status_t status, struct rcx_message *m)
{
    m->handle = NULL;
    rcx_message_complete(m->transport, m, status_of_receive(m, status));
    ucp_request_free(request);
}

static void recv_done(void *request, ucs_status_t status,
                      const ucp_tag_recv_info_t *info, void *user_data)
{
    struct rcx_message *m = user_data;

    ((struct ucp *)m->transport)->pending--;
    m->bytes = info->length;
    if (__builtin_expect(status != UCS_OK, 0)) {
        recv_failed(request, status, m);
        return;
    }
    m->handle = NULL;
    rcx_message_complete(m->transport, m, RCX_OK);
    ucp_request_free(request);
}

static void matching_done(void *request, ucs_status_t status,
                          const ucp_tag_recv_info_t *info, void *user_data)
{
    struct rcx_message *m = user_data;

    m->tag = info->sender_tag;
    recv_done(request, status, info, m);
}

/*
 * A receive never completes immediately: UCX 1.13 sets no length then, and a
 * message that is too short would pass. The callback has run then.
 */
static void prepare_parameters(struct ucp *u)
{
    const uint32_t common =
        RCX_UCP_WITH_CALLBACK | UCP_OP_ATTR_FIELD_MEMORY_TYPE;

    u->sending = (ucp_request_param_t){.op_attr_mask = common,
                                       .cb.send = send_done,
                                       .memory_type = UCS_MEMORY_TYPE_HOST};
    u->receiving = (ucp_request_param_t){
        .op_attr_mask = common | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv = recv_done,
        .memory_type = UCS_MEMORY_TYPE_HOST};
    u->matching = u->receiving;
    u->matching.cb.recv = matching_done;
}

/* ---- Opening and closing ------------------------------------------------- */

/* Peers that collectives of the world connect to; RCX_UCX_NUM_EPS overrides
 * it. UCX does not use connections that cost memory each (rc) if it expects
 * many. */
static size_t peers_expected(int size)
{
    int rounds = 0;

    while ((size - 1) >> rounds)
        rounds++;
    return (size_t)(2 * rounds + 2 < size ? 2 * rounds + 2 : size);
}

static rcx_status_t open_context(struct ucp *u,
                                 const struct rcx_transport_args *args)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES |
                      UCP_PARAM_FIELD_ESTIMATED_NUM_EPS |
                      UCP_PARAM_FIELD_ESTIMATED_NUM_PPN | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_TAG | UCP_FEATURE_AM |
                    (args->wakeup ? UCP_FEATURE_WAKEUP : 0),
        .estimated_num_eps = peers_expected(u->boot->size),
        .estimated_num_ppn = (size_t)(u->boot->local_size ?: 1),
        .name = "rcx",
    };
    ucp_config_t *config;
    ucs_status_t ucs = ucp_config_read("RCX", NULL, &config);
    rcx_status_t status;

    if (ucs != UCS_OK)
        return fail(u, "ucp_config_read", ucs);
    status = rcx_ucp_adjust(args, config, &u->node, &u->base.ack_bytes);
    if (status == RCX_OK)
        ucs = ucp_init(&params, config, &u->context);
    ucp_config_release(config);
    return ucs == UCS_OK ? status
                         : rcx_ucp_fail_to_open(u->log, "ucp_init", ucs);
}

static rcx_status_t open_worker(struct ucp *u)
{
    const ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucp_worker_attr_t attr = {
        .field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE,
    };
    ucs_status_t status = ucp_worker_create(u->context, &params, &u->worker);

    if (status != UCS_OK)
        return rcx_ucp_fail_to_open(u->log, "ucp_worker_create", status);
    status = ucp_worker_query(u->worker, &attr);
    if (status != UCS_OK)
        return fail(u, "ucp_worker_query", status);
    if (attr.thread_mode < UCS_THREAD_MODE_SERIALIZED)
        return rcx_fail(u->log, RCX_ERR_UNSUPPORTED,
                        "this UCX supports thread mode single only; RCX needs "
                        "serialized");
    rcx_segment_make_all_private();
    status = rcx_ucp_open_ctrl(u);
    if (status != UCS_OK)
        return fail(u, "ucp_worker_set_am_recv_handler", status);
    status = ucp_worker_get_address(u->worker, &u->address, &u->address_bytes);
    return status == UCS_OK ? RCX_OK
                            : fail(u, "ucp_worker_get_address", status);
}

static void flushed(void *request, ucs_status_t status, void *arg)
{
    struct ucp *u = arg;

    (void)status;
    u->flushes--;
    ucp_request_free(request);
}

/* Close failed endpoints by force, which ends their messages. */
static void close_failed(struct ucp *u)
{
    const ucp_request_param_t param = {.op_attr_mask = RCX_UCP_WITH_CALLBACK |
                                                       UCP_OP_ATTR_FIELD_FLAGS,
                                       .flags = UCP_EP_CLOSE_FLAG_FORCE,
                                       .cb.send = flushed,
                                       .user_data = u};

    for (int i = 0; i < u->boot->size; i++) {
        if (!u->endpoints[i] || u->ep_status[i] == UCS_OK)
            continue;
        if (UCS_PTR_IS_PTR(ucp_ep_close_nbx(u->endpoints[i], &param)))
            u->flushes++;
        u->endpoints[i] = NULL;
    }
    for (int polls = 0; polls < CLOSE_POLLS && u->flushes > 0; polls++)
        ucp_worker_progress(u->worker);
}

/*
 * Whether the worker is kept for the life of the process, because UCX 1.13 to
 * 1.18 cannot destroy it: an assertion fails if an endpoint has messages in
 * flight to a peer that is stopped or dead.
 */
static bool must_leave_open(const struct ucp *u)
{
    return u->base.endpoints > 0 && (u->base.leaks_on_close || u->pending > 0);
}

static void close_all(struct rcx_transport *t)
{
    struct ucp *u = (struct ucp *)t;
    bool stays;

    if (u->worker)
        close_failed(u);
    stays = u->worker && must_leave_open(u);
    while (u->base.ctrl)
        rcx_ctrl_frame_free(rcx_ctrl_queue_pop(t));
    rcx_ucp_lane_close(u);
    if (u->address)
        ucp_worker_release_address(u->worker, u->address);
    rcx_heap_free(u->heap, u->published);
    if (u->worker && !stays) {
        rcx_ucp_drain_unexpected(u->worker);
        ucp_worker_destroy(u->worker);
    }
    if (u->context && !stays)
        ucp_cleanup(u->context);
    rcx_heap_free(u->heap, u->base.failed_peers);
    rcx_heap_free(u->heap, u->ep_status);
    rcx_heap_free(u->heap, u->endpoints);
    rcx_heap_free(u->heap, u);
}

extern const struct rcx_transport_ops rcx_transport_ucp;

static rcx_status_t open(const struct rcx_transport_args *args,
                         struct rcx_transport **t_p)
{
    struct ucp *u = rcx_heap_zalloc_lines(args->heap, sizeof *u);
    rcx_status_t status;

    if (!u)
        return rcx_fail(args->log, RCX_ERR_NOMEM,
                        "rcx_init: no memory for the UCX transport");
    u->base.ops = &rcx_transport_ucp;
    rcx_transport_init(&u->base);
    u->heap = args->heap;
    u->log = args->log;
    u->boot = args->boot;
    u->wakeup = args->wakeup;
    u->endpoints =
        rcx_heap_zalloc(u->heap, (size_t)u->boot->size * sizeof *u->endpoints);
    u->ep_status = rcx_heap_zalloc(u->heap, (size_t)u->boot->size);
    u->base.watches_peers = args->watches_peers;
    u->ucx_watches_node = args->ucx_watches_node;
    u->base.failed_peers = rcx_heap_zalloc(u->heap, (size_t)u->boot->size);
    if (!u->endpoints || !u->ep_status || !u->base.failed_peers) {
        status = rcx_fail(u->log, RCX_ERR_NOMEM,
                          "rcx_init: no memory for UCX endpoints");
        goto close_transport;
    }
    prepare_parameters(u);
    status = rcx_ucp_check_descriptors(u->log);
    if (status == RCX_OK)
        status = open_context(u, args);
    if (!args->watches_peers && u->node.has_all) { /* none is reported */
        rcx_heap_free(u->heap, u->base.failed_peers);
        u->base.failed_peers = NULL;
    }
    if (status == RCX_OK)
        status = open_worker(u);
    if (status == RCX_OK)
        status = rcx_ucp_lane_open(u, &u->node, args);
    if (status != RCX_OK)
        goto close_transport;
    *t_p = &u->base;
    return RCX_OK;

close_transport:
    close_all(&u->base);
    return status;
}

/* The address of the segment, its key, and the UCX address. */
static rcx_status_t address(struct rcx_transport *t, const void **address_p,
                            size_t *bytes_p)
{
    struct ucp *u = (struct ucp *)t;
    const struct rcx_segment_address *place = &u->lane.place;
    const size_t bytes = sizeof *place + place->rkey_bytes + u->address_bytes;
    char *at = u->published = rcx_heap_alloc(u->heap, bytes);

    if (!at)
        return rcx_fail(u->log, RCX_ERR_NOMEM, "no memory for an address");
    memcpy(at, place, sizeof *place);
    at += sizeof *place;
    if (place->rkey_bytes > 0)
        memcpy(at, u->lane.memory.key, place->rkey_bytes);
    memcpy(at + place->rkey_bytes, u->address, u->address_bytes);
    *address_p = u->published;
    *bytes_p = bytes;
    return RCX_OK;
}

/* ---- Messages ------------------------------------------------------------ */

static inline rcx_status_t sent(struct ucp *u, ucs_status_ptr_t result,
                                struct rcx_message *m)
{
    if (result == NULL)
        return RCX_OK;
    if (UCS_PTR_IS_ERR(result))
        return rcx_ucp_message_failed(&u->base, m->peer,
                                      UCS_PTR_STATUS(result));
    u->pending++;
    m->handle = result;
    rcx_shm_msg(m)->mask = 0;
    return RCX_IN_PROGRESS;
}

static rcx_status_t post_send(struct rcx_transport *t, int peer,
                              const void *buffer, size_t bytes, uint64_t tag,
                              struct rcx_message *m);

/* Out of line, so that other sends do not pay for it. */
__attribute__((noinline)) static rcx_status_t
send_first(struct rcx_transport *t, int peer, const void *buffer, size_t bytes,
           uint64_t tag, struct rcx_message *m)
{
    const rcx_status_t status = rcx_ucp_reach((struct ucp *)t, peer);

    return status == RCX_OK ? post_send(t, peer, buffer, bytes, tag, m)
                            : status;
}

/* Out of line as well. */
__attribute__((noinline)) static rcx_status_t
send_any(struct rcx_transport *t, int peer, const void *buffer, size_t bytes,
         uint64_t tag, struct rcx_message *m)
{
    struct ucp *u = (struct ucp *)t;
    struct rcx_shm_channel *channel = u->lane.outs[peer];

    if (channel)
        return rcx_ucp_lane_send(&u->lane, channel, buffer, bytes, tag, m);
    if (__builtin_expect(!u->endpoints[peer] || u->lane.channels[peer], 0))
        return send_first(t, peer, buffer, bytes, tag, m);
    m->transport = t;
    u->sending.user_data = m;
    return sent(
        u,
        ucp_tag_send_nbx(u->endpoints[peer], buffer, bytes, tag, &u->sending),
        m);
}

static rcx_status_t post_send(struct rcx_transport *t, int peer,
                              const void *buffer, size_t bytes, uint64_t tag,
                              struct rcx_message *m)
{
    struct rcx_shm_channel *channel = ((struct ucp *)t)->lane.outs[peer];

    if (channel && rcx_shm_send_tiny(channel, buffer, bytes, tag))
        return RCX_OK;
    return send_any(t, peer, buffer, bytes, tag, m);
}

static rcx_status_t post(struct ucp *u, const ucp_request_param_t *param,
                         struct rcx_message *m)
{
    ucs_status_ptr_t result;

    rcx_shm_msg(m)->channel = NULL;
    m->transport = &u->base;
    u->pending++;
    result = ucp_tag_recv_nbx(u->worker, rcx_shm_msg(m)->buffer,
                              rcx_shm_msg(m)->room, rcx_shm_msg(m)->key,
                              rcx_shm_msg(m)->mask, param);
    if (UCS_PTR_IS_ERR(result)) {
        u->pending--;
        return rcx_ucp_message_failed(&u->base, m->peer,
                                      UCS_PTR_STATUS(result));
    }
    if (m->status == RCX_IN_PROGRESS) /* else the callback has run */
        m->handle = result;
    return RCX_IN_PROGRESS;
}

__attribute__((noinline)) static rcx_status_t
recv_first(struct ucp *u, int peer, struct rcx_message *m)
{
    const rcx_status_t status = rcx_ucp_choose_lane(u, peer);
    struct rcx_shm_channel *channel = u->lane.channels[peer];

    if (status != RCX_OK)
        return status;
    if (channel)
        return rcx_ucp_lane_recv(&u->lane, channel, m);
    u->receiving.user_data = m;
    return post(u, &u->receiving, m);
}

/* Out of line as well. */
__attribute__((noinline)) static rcx_status_t
recv_any(struct rcx_transport *t, int peer, void *buffer, size_t bytes,
         uint64_t tag, struct rcx_message *m)
{
    struct ucp *u = (struct ucp *)t;
    struct rcx_shm_channel *channel = u->lane.channels[peer];

    rcx_message_set_match(m, buffer, bytes, tag, UINT64_MAX);
    rcx_shm_msg(m)->tells_tag = false;
    if (channel)
        return rcx_ucp_lane_recv(&u->lane, channel, m);
    if (u->lane.segment && !u->lane.lane_chosen[peer])
        return recv_first(u, peer, m);
    u->receiving.user_data = m;
    return post(u, &u->receiving, m);
}

static rcx_status_t post_recv(struct rcx_transport *t, int peer, void *buffer,
                              size_t bytes, uint64_t tag, struct rcx_message *m)
{
    struct rcx_shm_channel *channel = ((struct ucp *)t)->lane.channels[peer];

    return channel && bytes <= RCX_TINY && !channel->unexpected &&
                   !channel->posted &&
                   rcx_shm_take_short(channel, buffer, bytes, tag, UINT64_MAX,
                                      false, m)
               ? RCX_OK
               : recv_any(t, peer, buffer, bytes, tag, m);
}

/* Only channels hold data. */
static void release(struct rcx_transport *t, struct rcx_message *m)
{
    (void)t;
    rcx_shm_release(m);
}

static rcx_status_t expect(struct rcx_transport *t, struct rcx_message *m,
                           unsigned *polls)
{
    (void)t;
    return rcx_shm_msg(m)->channel
               ? rcx_shm_expect(rcx_shm_msg(m)->channel, m, polls)
               : RCX_IN_PROGRESS;
}

/* A receive from any source before this one may take a message of a peer
 * without a channel: that order must be kept. */
static rcx_status_t post_masked(struct rcx_transport *t, void *buffer,
                                size_t bytes, uint64_t tag, uint64_t mask,
                                struct rcx_message *m)
{
    struct ucp *u = (struct ucp *)t;
    rcx_status_t status = RCX_OK;

    rcx_message_set_match(m, buffer, bytes, tag, mask);
    rcx_shm_msg(m)->tells_tag = true;
    m->transport = t;
    m->handle = NULL;
    if (u->lane.segment && m->peer >= 0 && !u->lane.lane_chosen[m->peer])
        status = rcx_ucp_choose_lane(u, m->peer);
    if (status != RCX_OK)
        return status;
    if (m->peer >= 0 && u->lane.channels[m->peer])
        return rcx_ucp_lane_recv(&u->lane, u->lane.channels[m->peer], m);
    if (u->lane.segment && (m->peer < 0 || u->lane.base.any))
        return rcx_ucp_lane_recv_any(u, m);
    u->matching.user_data = m;
    return post(u, &u->matching, m);
}

/* UCX cancels receives only. A send continues as long as its peer lives. */
static void cancel(struct rcx_transport *t, struct rcx_message *m)
{
    struct ucp *u = (struct ucp *)t;

    if (!m->handle)
        rcx_ucp_lane_cancel(u, m);
    else if (rcx_shm_msg(m)->mask)
        ucp_request_cancel(u->worker, m->handle);
}

/* UCX does not cancel what has matched. */
static void withdraw(struct rcx_transport *t, struct rcx_message *m)
{
    struct ucp *u = (struct ucp *)t;

    if (m->handle)
        ucp_request_cancel(u->worker, m->handle);
    else
        rcx_ucp_lane_withdraw(u, m);
}

static void drop_unexpected(struct rcx_transport *t, uint64_t tag,
                            uint64_t mask)
{
    struct ucp *u = (struct ucp *)t;

    if (u->lane.segment)
        rcx_ucp_lane_drop_unexpected(u, tag, mask);
    rcx_ucp_drop_unexpected(u->worker, tag, mask);
}

/* ---- Progress ------------------------------------------------------------ */

static unsigned progress(struct rcx_transport *t)
{
    struct ucp *u = (struct ucp *)t;

    if (u->lane.segment)
        return rcx_ucp_lane_progress(u);
    if (u->base.watches_peers && ++u->lane.turns % RCX_FULL_POLLS == 0)
        rcx_ucp_probe_liveness(u);
    return ucp_worker_progress(u->worker);
}

/* ---- Sleeping ------------------------------------------------------------ */

static int event_fd(struct rcx_transport *t)
{
    struct ucp *u = (struct ucp *)t;
    int fd;
    const ucs_status_t status = ucp_worker_get_efd(u->worker, &fd);

    if (status == UCS_OK)
        return fd;
    fail(u, "ucp_worker_get_efd", status);
    return -1;
}

static rcx_status_t arm(struct rcx_transport *t)
{
    struct ucp *u = (struct ucp *)t;
    ucs_status_t status;

    if (!rcx_ucp_lane_arm(u))
        return RCX_IN_PROGRESS;
    status = ucp_worker_arm(u->worker);
    if (status == UCS_ERR_BUSY)
        return RCX_IN_PROGRESS;
    return status == UCS_OK ? RCX_OK : fail(u, "ucp_worker_arm", status);
}

static void wake(struct rcx_transport *t)
{
    struct ucp *u = (struct ucp *)t;

    if (u->wakeup)
        ucp_worker_signal(u->worker);
}

/* ---- Flush --------------------------------------------------------------- */

static void begin_flush(struct ucp *u)
{
    const ucp_request_param_t param = {.op_attr_mask = RCX_UCP_WITH_CALLBACK,
                                       .cb.send = flushed,
                                       .user_data = u};

    for (int i = 0; i < u->boot->size; i++)
        if (u->endpoints[i] &&
            UCS_PTR_IS_PTR(ucp_ep_flush_nbx(u->endpoints[i], &param)))
            u->flushes++;
}

/* A flush that fails has nothing to wait for either. */
static rcx_status_t flush(struct rcx_transport *t)
{
    struct ucp *u = (struct ucp *)t;

    if (!u->is_flushing)
        begin_flush(u);
    u->is_flushing = u->flushes > 0 || !rcx_ucp_lane_is_flushed(u);
    return u->is_flushing ? RCX_IN_PROGRESS : RCX_OK;
}

/* clang-format off */
const struct rcx_transport_ops rcx_transport_ucp = {
    .name = "ucp", .version = rcx_ucp_version, .open = open, .address = address, .flush = flush, .close = close_all,
    .send = post_send, .send_shared = rcx_ucp_send_shared, .recv = post_recv, .recv_masked = post_masked, .expect = expect, .release = release, .reach = rcx_ucp_find_way, .way = rcx_ucp_way,
    .progress = progress, .cancel = cancel, .withdraw = withdraw, .cancels_sends = true, .probe = rcx_ucp_probe, .drop_unexpected = drop_unexpected, .process_state = rcx_ucp_process_state,
    .send_ctrl = rcx_ucp_send_ctrl, .event_fd = event_fd, .arm = arm, .wake = wake, .core_released = rcx_ucp_lane_core_released, .peers_run = rcx_ucp_lane_peers_run, .cores_needed = rcx_ucp_lane_cores_needed,
    .get_memory = rcx_ucp_get_memory, .put_memory = rcx_ucp_put_memory, .memory_key = rcx_ucp_memory_key, .reach_memory = rcx_ucp_reach_memory,
};
/* clang-format on */
