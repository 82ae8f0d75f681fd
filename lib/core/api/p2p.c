/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of messages. */
#include "core/api/arguments.h"
#include "core/api/request.h"
#include "core/op/types.h"
#include "core/run/comm/comm_close.h"
#include "core/run/fault/failure.h"
#include "core/run/request/p2p.h"
#include "core/run/wait/backoff.h"
#include "core/run/wait/enter.h"
#include "core/run/wait/message.h"
#include "core/run/wait/progress.h"

#define SEND                                                                   \
    (&(struct rcx_p2p_call){.sends = true,                                     \
                            .buffer = (char *)buf,                             \
                            .count = count,                                    \
                            .type = datatype,                                  \
                            .peer = dest,                                      \
                            .tag = tag})
#define RECV                                                                   \
    (&(struct rcx_p2p_call){.buffer = buf,                                     \
                            .count = count,                                    \
                            .type = datatype,                                  \
                            .peer = source,                                    \
                            .tag = tag})

/* ---- Arguments ----------------------------------------------------------- */

static rcx_status_t check_buffer(struct rcx_comm *comm,
                                 struct rcx_p2p_call *call)
{
    const struct rcx_log *log = &comm->context->log;
    rcx_status_t status = rcx_registry_measure(&comm->context->registry,
                                               call->type, &call->elem_bytes);

    if (status != RCX_OK)
        return status;
    if (!rcx_fits_memory(call->count, call->elem_bytes))
        return rcx_fail(log, RCX_ERR_ARG,
                        "count=%zu: count times the size of datatype %d "
                        "overflows size_t",
                        call->count, call->type);
    if (call->buffer == RCX_IN_PLACE)
        return rcx_fail(log, RCX_ERR_ARG,
                        "buf=RCX_IN_PLACE: a message needs a buffer");
    if (!call->buffer && call->count > 0)
        return rcx_fail(log, RCX_ERR_ARG,
                        "buf=NULL: NULL is fine only where count is 0");
    if (call->count > 0 && !rcx_is_on_host(&comm->context->gpu, call->buffer))
        return rcx_gpu_refuse(log, "buf", call->buffer);
    return RCX_OK;
}

static rcx_status_t check(struct rcx_comm *comm, struct rcx_p2p_call *call)
{
    const struct rcx_log *log = &comm->context->log;
    const uint64_t most = rcx_tag_user_most(&comm->context->layout);
    const bool is_any = call->peer == RCX_ANY_SOURCE && !call->sends;

    if (!is_any && (call->peer < 0 || call->peer >= comm->size))
        return rcx_fail(log, RCX_ERR_ARG, "%s=%d: needs 0..%d%s",
                        call->sends ? "dest" : "source", call->peer,
                        comm->size - 1,
                        call->sends ? "" : " or RCX_ANY_SOURCE (-2)");
    if (call->tag < 0 || (uint64_t)call->tag > most)
        return rcx_fail(log, RCX_ERR_ARG, "tag=%d: needs 0..%llu", call->tag,
                        (unsigned long long)most);
    return check_buffer(comm, call);
}

/* ---- All forms ----------------------------------------------------------- */

/* name: of the function, without rcx_. */
static rcx_status_t prepare(const char *name, struct rcx_comm *comm,
                            struct rcx_p2p_call *call, struct rcx_p2p **p_p)
{
    rcx_status_t status =
        !rcx_comm_is_failed(comm) ? RCX_OK : rcx_comm_refuse(comm);

    rcx_log_name_call(&comm->context->log, name);
    if (status == RCX_OK)
        status = check(comm, call);
    rcx_log_name_call(&comm->context->log, NULL);
    return status == RCX_OK ? rcx_p2p_get(comm, call, p_p) : status;
}

static rcx_status_t make(const char *name, struct rcx_comm *comm,
                         struct rcx_p2p_call *call, bool persistent,
                         struct rcx_request **request_p)
{
    struct rcx_p2p *p;
    rcx_status_t status = prepare(name, comm, call, &p);

    if (status != RCX_OK)
        return status;
    status = rcx_request_create(comm, &p->program, NULL, NULL, request_p);
    if (status == RCX_OK)
        rcx_request_hand_out(*request_p, persistent);
    else
        rcx_p2p_put(&comm->p2p, p);
    return status;
}

/* Messages have no order between threads. */
static rcx_status_t enter(const char *name, struct rcx_comm *comm)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle(name, "comm", comm);
    status = rcx_enter(comm->context);
    if (status == RCX_OK)
        rcx_stamp_call(comm->context, rcx_ticks());
    return status;
}

static void post(struct rcx_request *r)
{
    rcx_request_post(r);
    rcx_request_announce(r);
}

/* ---- Blocking calls ------------------------------------------------------ */

/* Wait for a message that has become a request. */
static rcx_status_t finish(struct rcx_request *r, rcx_recv_info_t *info_p)
{
    struct rcx_p2p *p = rcx_p2p_of(r->program);
    struct rcx_comm *comm = r->comm;
    rcx_status_t status;

    r->kind = RCX_REQUEST_INSIDE;
    status = rcx_request_wait(r);
    if (info_p && status == RCX_OK)
        *info_p = p->info;
    rcx_request_put(r);
    rcx_p2p_put(&comm->p2p, p);
    rcx_comm_end_use(comm);
    return status;
}

/* Those that are not over yet become requests, before any of them progresses.
 * The first one's status precedes. */
static rcx_status_t wait_for(struct rcx_comm *comm,
                             struct rcx_blocking_message b[], int n,
                             rcx_recv_info_t *info_p)
{
    struct rcx_request r[2];
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < n; i++) {
        rcx_message_adopt(comm, &b[i], &r[i]);
        rcx_request_hand_out(&r[i], false);
    }
    for (int i = 0; i < n; i++)
        rcx_request_announce(&r[i]);
    for (int i = 0; i < n; i++) {
        const rcx_status_t ended = finish(&r[i], i == 0 ? info_p : NULL);

        status = status == RCX_OK ? ended : status;
    }
    return status;
}

/* The first one has info_p. */
static rcx_status_t run_all(struct rcx_comm *comm, struct rcx_p2p *const p[],
                            int n, rcx_recv_info_t *info_p)
{
    struct rcx_context *context = comm->context;
    struct rcx_blocking_message b[2];
    rcx_status_t status = RCX_OK;
    bool are_over = true;

    for (int i = 0; i < n; i++)
        rcx_message_start(comm, p[i], &b[i]);
    for (int i = 0; i < n && are_over; i++)
        are_over = rcx_message_is_soon_over(context, &b[i]);
    if (!are_over)
        return wait_for(comm, b, n, info_p);
    for (int i = 0; i < n; i++) {
        const rcx_status_t ended =
            rcx_message_end(comm, &b[i], i == 0 ? info_p : NULL);

        status = status == RCX_OK ? ended : status;
    }
    rcx_wake_sleeper(&context->sleeper);
    rcx_context_maybe_progress(context);
    return status;
}

static rcx_status_t run(const char *name, struct rcx_comm *comm,
                        struct rcx_p2p_call *call, rcx_recv_info_t *info_p)
{
    struct rcx_context *context;
    struct rcx_p2p *p;
    rcx_status_t status = enter(name, comm);

    if (status != RCX_OK)
        return status;
    context = comm->context; /* comm may be freed meanwhile */
    status = prepare(name, comm, call, &p);
    if (status == RCX_OK)
        status = run_all(comm, &p, 1, info_p);
    rcx_leave(context);
    return status;
}

/* ---- Requests ------------------------------------------------------------ */

static rcx_status_t make_request(const char *name, struct rcx_comm *comm,
                                 struct rcx_p2p_call *call, bool persistent,
                                 rcx_request_t **request_p)
{
    struct rcx_request *r;
    rcx_status_t status;

    if (!request_p)
        return rcx_fail(&comm->context->log, RCX_ERR_ARG,
                        "rcx_%s: request_p=NULL", name);
    status = make(name, comm, call, persistent, &r);
    if (status != RCX_OK)
        return status;
    if (!persistent)
        post(r);
    *request_p = r;
    return RCX_OK;
}

static rcx_status_t begin(const char *name, struct rcx_comm *comm,
                          struct rcx_p2p_call *call, bool persistent,
                          rcx_request_t **request_p)
{
    rcx_status_t status = enter(name, comm);

    if (status != RCX_OK)
        return status;
    status = make_request(name, comm, call, persistent, request_p);
    rcx_leave(comm->context);
    return status;
}

/* ---- Sends and receives -------------------------------------------------- */

rcx_status_t rcx_send(const void *buf, size_t count, rcx_datatype_t datatype,
                      int dest, int tag, rcx_comm_t *comm)
{
    return run("send", comm, SEND, NULL);
}

rcx_status_t rcx_isend(const void *buf, size_t count, rcx_datatype_t datatype,
                       int dest, int tag, rcx_comm_t *comm,
                       rcx_request_t **request_p)
{
    return begin("isend", comm, SEND, false, request_p);
}

rcx_status_t rcx_send_init(const void *buf, size_t count,
                           rcx_datatype_t datatype, int dest, int tag,
                           rcx_comm_t *comm, rcx_request_t **request_p)
{
    return begin("send_init", comm, SEND, true, request_p);
}

rcx_status_t rcx_recv(void *buf, size_t count, rcx_datatype_t datatype,
                      int source, int tag, rcx_comm_t *comm,
                      rcx_recv_info_t *info_p)
{
    return run("recv", comm, RECV, info_p);
}

rcx_status_t rcx_irecv(void *buf, size_t count, rcx_datatype_t datatype,
                       int source, int tag, rcx_comm_t *comm,
                       rcx_request_t **request_p)
{
    return begin("irecv", comm, RECV, false, request_p);
}

rcx_status_t rcx_recv_init(void *buf, size_t count, rcx_datatype_t datatype,
                           int source, int tag, rcx_comm_t *comm,
                           rcx_request_t **request_p)
{
    return begin("recv_init", comm, RECV, true, request_p);
}

/* ---- Both at once -------------------------------------------------------- */

static rcx_status_t check_overlap(const struct rcx_log *log,
                                  const struct rcx_p2p_call *out,
                                  const struct rcx_p2p_call *in)
{
    return !rcx_overlap(out->buffer, out->count * out->elem_bytes, in->buffer,
                        in->count * in->elem_bytes)
               ? RCX_OK
               : rcx_fail(log, RCX_ERR_ARG,
                          "rcx_sendrecv: sendbuf and recvbuf overlap");
}

/* Nothing is posted unless both are valid. */
static rcx_status_t exchange(struct rcx_comm *comm, struct rcx_p2p_call *out,
                             struct rcx_p2p_call *in, rcx_recv_info_t *info_p)
{
    struct rcx_p2p *p[2]; /* the receive, and the send */
    rcx_status_t status = prepare("sendrecv", comm, in, &p[0]);

    if (status != RCX_OK)
        return status;
    status = prepare("sendrecv", comm, out, &p[1]);
    if (status != RCX_OK) {
        rcx_p2p_put(&comm->p2p, p[0]);
        return status;
    }
    status = check_overlap(&comm->context->log, out, in);
    if (status != RCX_OK) {
        rcx_p2p_put(&comm->p2p, p[1]);
        rcx_p2p_put(&comm->p2p, p[0]);
        return status;
    }
    return run_all(comm, p, 2, info_p);
}

rcx_status_t rcx_sendrecv(const void *sendbuf, size_t sendcount,
                          rcx_datatype_t sendtype, int dest, int sendtag,
                          void *recvbuf, size_t recvcount,
                          rcx_datatype_t recvtype, int source, int recvtag,
                          rcx_comm_t *comm, rcx_recv_info_t *info_p)
{
    struct rcx_p2p_call out = {.sends = true,
                               .buffer = (char *)sendbuf,
                               .count = sendcount,
                               .type = sendtype,
                               .peer = dest,
                               .tag = sendtag};
    struct rcx_p2p_call in = {.buffer = recvbuf,
                              .count = recvcount,
                              .type = recvtype,
                              .peer = source,
                              .tag = recvtag};
    struct rcx_context *context;
    rcx_status_t status = enter("sendrecv", comm);

    if (status != RCX_OK)
        return status;
    context = comm->context; /* comm may be freed meanwhile */
    status = exchange(comm, &out, &in, info_p);
    rcx_leave(context);
    return status;
}

/* ---- What has arrived ---------------------------------------------------- */

static bool look(struct rcx_comm *comm, const struct rcx_p2p_call *call,
                 rcx_recv_info_t *info_p)
{
    const struct rcx_tag_layout *l = &comm->context->layout;
    struct rcx_transport *t = comm->context->transport;
    const bool from_any = call->peer == RCX_ANY_SOURCE;
    const int peer =
        from_any ? RCX_PROBE_ALL : rcx_comm_context_rank(comm, call->peer);
    const uint64_t source = from_any ? 0 : (uint64_t)call->peer;
    struct rcx_arrival found;

    if (!t->ops->probe(t, peer,
                       rcx_tag_p2p(l, comm->id, (uint64_t)call->tag, source),
                       from_any ? rcx_tag_any_source(l) : UINT64_MAX, &found))
        return false;
    if (info_p)
        *info_p = (rcx_recv_info_t){
            .source = (int)rcx_tag_low(found.tag, l->rank_bits),
            .tag = call->tag,
            .count = found.bytes};
    return true;
}

/* A failure that the progress finds is reported by this call. */
static rcx_status_t probe(struct rcx_comm *comm, struct rcx_p2p_call *call,
                          int *flag_p, rcx_recv_info_t *info_p)
{
    rcx_status_t status;
    int events;

    rcx_log_name_call(&comm->context->log, "iprobe");
    status =
        flag_p ? check(comm, call) : rcx_missing(&comm->context->log, "flag_p");
    rcx_log_name_call(&comm->context->log, NULL);
    if (status != RCX_OK)
        return status;
    events = rcx_context_progress(comm->context);
    if (rcx_comm_is_failed(comm))
        return rcx_comm_refuse(comm);
    *flag_p = look(comm, call, info_p);
    rcx_back_off_test(comm->context, *flag_p || events > 0);
    return RCX_OK;
}

rcx_status_t rcx_iprobe(int source, int tag, rcx_comm_t *comm, int *flag_p,
                        rcx_recv_info_t *info_p)
{
    struct rcx_p2p_call call = {.type = RCX_BYTE, .peer = source, .tag = tag};
    struct rcx_context *context;
    rcx_status_t status = enter("iprobe", comm);

    if (status != RCX_OK)
        return status;
    context = comm->context;
    status = probe(comm, &call, flag_p, info_p);
    rcx_leave(context);
    return status;
}
