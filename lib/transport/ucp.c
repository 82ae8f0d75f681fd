/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages over UCP's tagged interface: exact tags, one worker per context,
 * one endpoint per peer, created at first use.
 *
 * Error handling mode NONE: mode PEER of UCX 1.13 silently drops shared memory.
 */
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#include "core/exec/transport.h"
#include "core/run/bootstrap.h"
#include "transport/ucp_adjust.h"
#include "transport/ucp_discard.h"

enum {
    WITH_CALLBACK = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA
};

struct ucp {
    struct rcx_transport base;
    struct rcx_heap *heap;
    struct rcx_log *log;
    struct rcx_boot *boot;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    ucp_ep_h *endpoints; /* by rank; NULL: not connected yet */
    signed char *lost;   /* by rank: why no way leads to it, or UCS_OK */
    bool wakeup;
    bool is_flushing;
    int flushes;                 /* of endpoints, that are not over */
    ucp_request_param_t sending; /* of both only user_data changes */
    ucp_request_param_t receiving;
    ucp_request_param_t matching; /* the same by mask */
};

static void version(char *text, size_t bytes)
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

/* A message is lost; who gave it says so. */
__attribute__((cold, noinline)) static rcx_status_t
lose_message(struct rcx_transport *t, int peer, ucs_status_t status)
{
    char whose[32] = "";

    if (peer >= 0)
        snprintf(whose, sizeof whose, " with rank %d", peer);
    snprintf(t->trouble, sizeof t->trouble, "a message%s is lost: %s", whose,
             ucs_status_string(status));
    if (t->dead && peer >= 0 && status == UCS_ERR_ENDPOINT_TIMEOUT) {
        rcx_transport_bury(t, peer); /* peer_died() may be late */
        return RCX_ERR_PEER_FAILED;
    }
    return status == UCS_ERR_NO_MEMORY ? RCX_ERR_NOMEM : RCX_ERR_TRANSPORT;
}

/* ---- Completion ----------------------------------------------------------- */

static void send_done(void *request, ucs_status_t status, void *user_data)
{
    struct rcx_message *m = user_data;

    m->handle = NULL;
    rcx_message_complete(m->transport, m,
                         status == UCS_OK
                             ? RCX_OK
                             : lose_message(m->transport, m->peer, status));
    ucp_request_free(request);
}

static rcx_status_t status_of_receive(const struct rcx_message *m,
                                      ucs_status_t status)
{
    if (status == UCS_ERR_MESSAGE_TRUNCATED)
        return RCX_ERR_MISMATCH;
    return status == UCS_ERR_CANCELED
               ? RCX_ERR_TRANSPORT
               : lose_message(m->transport, m->peer, status);
}

/* Out of line, as no good one pays for it. */
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
 * A receive never completes at once: UCX 1.13 fills in no length where it does,
 * and a message that is too short would pass. The callback has run then.
 */
static void prepare_parameters(struct ucp *u)
{
    const uint32_t common = WITH_CALLBACK | UCP_OP_ATTR_FIELD_MEMORY_TYPE;

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

/* ---- Notes: active messages ----------------------------------------------- */

enum { NOTE = 1 };

static ucs_status_t note_came(void *arg, const void *header,
                              size_t header_bytes, void *data, size_t bytes,
                              const ucp_am_recv_param_t *param)
{
    struct ucp *u = arg;

    (void)header, (void)header_bytes, (void)param;
    rcx_note_put(&u->base, u->heap, data, bytes);
    return UCS_OK;
}

static bool take_note(struct rcx_transport *t, void *note, size_t bytes)
{
    return rcx_note_take(t, ((struct ucp *)t)->heap, note, bytes);
}

static ucs_status_t listen_for_notes(struct ucp *u)
{
    const ucp_am_handler_param_t param = {.field_mask =
                                              UCP_AM_HANDLER_PARAM_FIELD_ID |
                                              UCP_AM_HANDLER_PARAM_FIELD_CB |
                                              UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                          .id = NOTE,
                                          .cb = note_came,
                                          .arg = u};

    return ucp_worker_set_am_recv_handler(u->worker, &param);
}

/* ---- Opening and closing -------------------------------------------------- */

static rcx_status_t open_context(struct ucp *u,
                                 const struct rcx_transport_args *args)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES |
                      UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_TAG | UCP_FEATURE_AM |
                    (args->wakeup ? UCP_FEATURE_WAKEUP : 0),
        .estimated_num_eps = (size_t)u->boot->size,
        .name = "rcx",
    };
    ucp_config_t *config;
    ucs_status_t ucs = ucp_config_read("RCX", NULL, &config);
    rcx_status_t status;

    if (ucs != UCS_OK)
        return fail(u, "ucp_config_read", ucs);
    status = rcx_ucp_adjust(args, config, &u->base.credit_bytes);
    if (status == RCX_OK)
        ucs = ucp_init(&params, config, &u->context);
    ucp_config_release(config);
    return ucs == UCS_OK ? status : fail(u, "ucp_init", ucs);
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
        return fail(u, "ucp_worker_create", status);
    status = ucp_worker_query(u->worker, &attr);
    if (status != UCS_OK)
        return fail(u, "ucp_worker_query", status);
    if (attr.thread_mode < UCS_THREAD_MODE_SERIALIZED)
        return rcx_fail(u->log, RCX_ERR_UNSUPPORTED,
                        "this UCX grants thread mode single only; RCX needs "
                        "serialized");
    status = listen_for_notes(u);
    return status == UCS_OK ? RCX_OK
                            : fail(u, "ucp_worker_set_am_recv_handler", status);
}

static void close_all(struct rcx_transport *t)
{
    struct ucp *u = (struct ucp *)t;

    while (u->base.notes)
        take_note(t, NULL, SIZE_MAX);
    if (u->address)
        ucp_worker_release_address(u->worker, u->address);
    if (u->worker) {
        rcx_ucp_discard(u->worker);
        ucp_worker_destroy(u->worker);
    }
    if (u->context)
        ucp_cleanup(u->context);
    rcx_heap_free(u->heap, u->base.dead);
    rcx_heap_free(u->heap, u->lost);
    rcx_heap_free(u->heap, u->endpoints);
    rcx_heap_free(u->heap, u);
}

extern const struct rcx_transport_ops rcx_transport_ucp;

static rcx_status_t open(const struct rcx_transport_args *args,
                         struct rcx_transport **t_p)
{
    struct ucp *u = rcx_heap_zalloc(args->heap, sizeof *u);
    rcx_status_t status;

    if (!u)
        return rcx_fail(args->log, RCX_ERR_NOMEM, "no memory for UCP");
    u->base.ops = &rcx_transport_ucp;
    rcx_transport_reset_done(&u->base);
    u->heap = args->heap;
    u->log = args->log;
    u->boot = args->boot;
    u->wakeup = args->wakeup;
    u->endpoints =
        rcx_heap_zalloc(u->heap, (size_t)u->boot->size * sizeof *u->endpoints);
    u->lost = rcx_heap_zalloc(u->heap, (size_t)u->boot->size);
    if (args->looks_for_dead)
        u->base.dead = rcx_heap_zalloc(u->heap, (size_t)u->boot->size);
    if (!u->endpoints || !u->lost || (args->looks_for_dead && !u->base.dead)) {
        status = rcx_fail(u->log, RCX_ERR_NOMEM, "no memory for endpoints");
        goto close_transport;
    }
    prepare_parameters(u);
    status = open_context(u, args);
    if (status == RCX_OK)
        status = open_worker(u);
    if (status != RCX_OK)
        goto close_transport;
    *t_p = &u->base;
    return RCX_OK;

close_transport:
    close_all(&u->base);
    return status;
}

static rcx_status_t address(struct rcx_transport *t, const void **address_p,
                            size_t *bytes_p)
{
    struct ucp *u = (struct ucp *)t;
    const ucs_status_t status =
        ucp_worker_get_address(u->worker, &u->address, bytes_p);

    if (status != UCS_OK)
        return fail(u, "ucp_worker_get_address", status);
    *address_p = u->address;
    return RCX_OK;
}

/* ---- Messages ------------------------------------------------------------- */

static void peer_died(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    struct ucp *u = arg;

    (void)status;
    for (int i = 0; i < u->boot->size; i++) {
        if (u->endpoints[i] == endpoint)
            rcx_transport_bury(&u->base, i);
    }
}

/* There is no way to peer: once is enough to find that out, and notes will not
 * get there either. */
static rcx_status_t lose(struct ucp *u, int peer, ucs_status_t status)
{
    u->lost[peer] = (signed char)status;
    rcx_ucp_print_lost(u->boot, u->log, peer, ucs_status_string(status),
                       u->base.trouble, sizeof u->base.trouble);
    return status == UCS_ERR_NO_MEMORY ? RCX_ERR_NOMEM : RCX_ERR_TRANSPORT;
}

static rcx_status_t reach(struct ucp *u, int peer)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    char own_version[64];
    const void *remote;
    size_t bytes;
    ucs_status_t ucs;
    rcx_status_t status;

    if (u->lost[peer])
        return lose(u, peer, (ucs_status_t)u->lost[peer]);
    version(own_version, sizeof own_version);
    status =
        rcx_peer_address(u->boot, u->log, peer, own_version, &remote, &bytes);
    if (status != RCX_OK)
        return status;
    params.address = remote;
    if (u->base.dead) {
        params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                             UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler = (ucp_err_handler_t){.cb = peer_died, .arg = u};
    }
    ucs = ucp_ep_create(u->worker, &params, &u->endpoints[peer]);
    if (ucs != UCS_OK)
        return lose(u, peer, ucs);
    u->base.endpoints++;
    rcx_ucp_tell_lanes(u->log,
                       u->boot->rank == 0 && u->base.endpoints == 1
                           ? RCX_LOG_INFO
                           : RCX_LOG_DEBUG,
                       peer, u->endpoints[peer]);
    return RCX_OK;
}

/* A rank that has gone may be the reason that a connection is not made: that is
 * for others to find out. */
static rcx_status_t find_way(struct rcx_transport *t, int peer)
{
    struct ucp *u = (struct ucp *)t;
    const rcx_status_t status = u->endpoints[peer] ? RCX_OK : reach(u, peer);

    if (u->lost[peer] == UCS_OK || u->lost[peer] == UCS_ERR_UNREACHABLE)
        return status;
    t->trouble[0] = '\0';
    return RCX_OK;
}

static inline rcx_status_t sent(struct ucp *u, ucs_status_ptr_t result,
                                struct rcx_message *m)
{
    if (result == NULL)
        return RCX_OK;
    if (UCS_PTR_IS_ERR(result))
        return lose_message(&u->base, m->peer, UCS_PTR_STATUS(result));
    m->handle = result;
    return RCX_IN_PROGRESS;
}

static rcx_status_t post_send(struct rcx_transport *t, int peer,
                              const void *buffer, size_t bytes, uint64_t tag,
                              struct rcx_message *m);

/* Out of line, so that no other send pays for it. */
__attribute__((noinline)) static rcx_status_t
send_first(struct rcx_transport *t, int peer, const void *buffer, size_t bytes,
           uint64_t tag, struct rcx_message *m)
{
    const rcx_status_t status = reach((struct ucp *)t, peer);

    return status == RCX_OK ? post_send(t, peer, buffer, bytes, tag, m)
                            : status;
}

static rcx_status_t post_send(struct rcx_transport *t, int peer,
                              const void *buffer, size_t bytes, uint64_t tag,
                              struct rcx_message *m)
{
    struct ucp *u = (struct ucp *)t;

    if (__builtin_expect(!u->endpoints[peer], 0))
        return send_first(t, peer, buffer, bytes, tag, m);
    m->transport = t;
    u->sending.user_data = m;
    return sent(
        u,
        ucp_tag_send_nbx(u->endpoints[peer], buffer, bytes, tag, &u->sending),
        m);
}

static rcx_status_t post_recv(struct rcx_transport *t, int peer, void *buffer,
                              size_t bytes, uint64_t tag, struct rcx_message *m)
{
    struct ucp *u = (struct ucp *)t;
    ucs_status_ptr_t result;

    (void)peer; /* the tag names it */
    m->transport = t;
    u->receiving.user_data = m;
    result = ucp_tag_recv_nbx(u->worker, buffer, bytes, tag, UINT64_MAX,
                              &u->receiving);
    if (UCS_PTR_IS_ERR(result))
        return lose_message(t, m->peer, UCS_PTR_STATUS(result));
    if (m->status == RCX_IN_PROGRESS) /* else the callback has run */
        m->handle = result;
    return RCX_IN_PROGRESS;
}

static rcx_status_t post_masked(struct rcx_transport *t, void *buffer,
                                size_t bytes, uint64_t tag, uint64_t mask,
                                struct rcx_message *m)
{
    struct ucp *u = (struct ucp *)t;
    ucs_status_ptr_t result;

    m->transport = t;
    u->matching.user_data = m;
    result =
        ucp_tag_recv_nbx(u->worker, buffer, bytes, tag, mask, &u->matching);
    if (UCS_PTR_IS_ERR(result))
        return lose_message(t, m->peer, UCS_PTR_STATUS(result));
    if (m->status == RCX_IN_PROGRESS) /* else the callback has run */
        m->handle = result;
    return RCX_IN_PROGRESS;
}

/* UCX cancels receives only; a send goes on as long as its peer lives. */
static void cancel(struct rcx_transport *t, struct rcx_message *m)
{
    struct ucp *u = (struct ucp *)t;

    if (m->handle)
        ucp_request_cancel(u->worker, m->handle);
}

static bool probe(struct rcx_transport *t, uint64_t tag, uint64_t mask,
                  uint64_t *found_p)
{
    struct ucp *u = (struct ucp *)t;
    ucp_tag_recv_info_t info;

    if (!ucp_tag_probe_nb(u->worker, tag, mask, 0, &info))
        return false;
    *found_p = info.sender_tag;
    return true;
}

/* ---- Sending notes --------------------------------------------------------- */

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

static void notify(struct rcx_transport *t, int peer, const void *note,
                   size_t bytes)
{
    struct ucp *u = (struct ucp *)t;
    ucp_request_param_t param = {.op_attr_mask =
                                     WITH_CALLBACK | UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_AM_SEND_FLAG_EAGER,
                                 .cb.send = note_sent};
    ucs_status_ptr_t result;
    struct outgoing *o;

    if (!u->endpoints[peer] && reach(u, peer) != RCX_OK) {
        t->trouble[0] = '\0'; /* whoever fails next has another reason */
        return;
    }
    o = rcx_heap_alloc(u->heap, sizeof *o + bytes);
    if (!o)
        return;
    o->u = u;
    u->base.notes_leaving++;
    memcpy(o->data, note, bytes);
    param.user_data = o;
    result = ucp_am_send_nbx(u->endpoints[peer], NOTE, NULL, 0, o->data, bytes,
                             &param);
    if (!result || UCS_PTR_IS_ERR(result))
        forget(o);
}

static unsigned progress(struct rcx_transport *t)
{
    return ucp_worker_progress(((struct ucp *)t)->worker);
}

/* ---- Sleeping --------------------------------------------------------------- */

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
    const ucs_status_t status = ucp_worker_arm(u->worker);

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

/* ---- Leaving ---------------------------------------------------------------- */

static void flushed(void *request, ucs_status_t status, void *arg)
{
    struct ucp *u = arg;

    (void)status;
    u->flushes--;
    ucp_request_free(request);
}

static void begin_flush(struct ucp *u)
{
    const ucp_request_param_t param = {
        .op_attr_mask = WITH_CALLBACK, .cb.send = flushed, .user_data = u};

    for (int i = 0; i < u->boot->size; i++)
        if (u->endpoints[i] &&
            UCS_PTR_IS_PTR(ucp_ep_flush_nbx(u->endpoints[i], &param)))
            u->flushes++;
}

/* A flush that fails has nothing to wait for, either. */
static rcx_status_t flush(struct rcx_transport *t)
{
    struct ucp *u = (struct ucp *)t;

    if (!u->is_flushing)
        begin_flush(u);
    u->is_flushing = u->flushes > 0;
    return u->is_flushing ? RCX_IN_PROGRESS : RCX_OK;
}

/* clang-format off */
const struct rcx_transport_ops rcx_transport_ucp = {
    .name = "ucp", .version = version, .open = open, .address = address,
    .send = post_send, .recv = post_recv, .recv_masked = post_masked,
    .reach = find_way, .progress = progress, .cancel = cancel, .probe = probe,
    .notify = notify, .take_note = take_note, .event_fd = event_fd, .arm = arm,
    .wake = wake, .flush = flush, .close = close_all,
};
/* clang-format on */
