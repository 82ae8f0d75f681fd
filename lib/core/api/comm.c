/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of communicators. */
#include "core/api/arguments.h"
#include "core/api/request.h"
#include "core/run/comm/comm_close.h"
#include "core/run/comm/comm_make.h"
#include "core/run/detect/detector.h"
#include "core/run/fault/failure.h"
#include "core/run/wait/enter.h"
#include "core/run/wait/progress.h"

int rcx_comm_rank(const rcx_comm_t *comm)
{
    return rcx_comm_is_valid(comm) ? comm->rank : -1;
}

int rcx_comm_size(const rcx_comm_t *comm)
{
    return rcx_comm_is_valid(comm) ? comm->size : -1;
}

rcx_status_t rcx_comm_set_timeout(rcx_comm_t *comm, int64_t timeout_ns)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm_set_timeout", "comm", comm);
    if (timeout_ns < 0)
        return rcx_fail(&comm->context->log, RCX_ERR_ARG,
                        "rcx_comm_set_timeout: timeout_ns=%lld: needs 0 "
                        "(none) or more",
                        (long long)timeout_ns);
    status = rcx_enter(comm->context);
    if (status != RCX_OK)
        return status;
    comm->timeout_ns = timeout_ns;
    rcx_leave(comm->context);
    return RCX_OK;
}

/* From any thread, at any time. */
rcx_status_t rcx_comm_abort(rcx_comm_t *comm)
{
    struct rcx_context *context;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm_abort", "comm", comm);
    context = comm->context;
    if (rcx_guard_is_forked(context->guard))
        return rcx_enter(context);
    atomic_store_explicit(&comm->aborted, true, memory_order_release);
    rcx_context_attend(context);
    return RCX_OK;
}

rcx_status_t rcx_comm_error(rcx_comm_t *comm, rcx_error_info_t *info_p)
{
    const struct rcx_failure *why;
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm_error", "comm", comm);
    if (!info_p)
        return rcx_missing(&comm->context->log, "rcx_comm_error: info_p");
    status = rcx_enter(comm->context);
    if (status != RCX_OK)
        return status;
    if (rcx_detector_is_due(&comm->context->detector, comm->context->transport))
        rcx_detector_poll(comm->context);
    why = comm->why;
    if (rcx_comm_is_failed(comm))
        comm->context->is_told = true;
    *info_p = (rcx_error_info_t){.status = rcx_comm_failure(comm),
                                 .rank_count = why ? why->rank_count : 0,
                                 .ranks = why ? why->ranks : NULL,
                                 .text = why ? why->text : ""};
    rcx_leave(comm->context);
    return RCX_OK;
}

/* ---- Making -------------------------------------------------------------- */

static rcx_status_t check_comm(const char *call, rcx_comm_t *comm,
                               rcx_comm_t **new_p)
{
    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle(call, "comm", comm);
    if (!new_p)
        return rcx_fail(&comm->context->log, RCX_ERR_ARG, "rcx_%s: new_p=NULL",
                        call);
    return RCX_OK;
}

/* The request that makes a communicator has started, or not. request_p: NULL if
 * the call blocks; *new_p changes only on success then. */
static rcx_status_t hand_out(rcx_status_t status, struct rcx_request *r,
                             rcx_comm_t *const *made_p, rcx_comm_t **new_p,
                             rcx_request_t **request_p)
{
    if (status != RCX_OK)
        return status;
    rcx_request_hand_out(r, false);
    if (request_p) {
        rcx_request_announce(r);
        *request_p = r;
        return RCX_OK;
    }
    status = rcx_request_wait(r);
    rcx_request_release(r);
    if (status != RCX_OK)
        return status;
    *new_p = *made_p;
    if (*new_p)
        rcx_comm_attend(*new_p);
    return RCX_OK;
}

static rcx_status_t split(const char *call, rcx_comm_t *comm, int color,
                          int key, rcx_comm_t **new_p,
                          rcx_request_t **request_p)
{
    rcx_status_t status = check_comm(call, comm, new_p);
    rcx_comm_t *made = NULL, **made_p = request_p ? new_p : &made;
    struct rcx_request *r;

    if (status != RCX_OK)
        return status;
    if (color < 0 && color != RCX_UNDEFINED)
        return rcx_fail(&comm->context->log, RCX_ERR_ARG,
                        "rcx_%s: color=%d: needs 0 or more, or RCX_UNDEFINED "
                        "(%d)",
                        call, color, RCX_UNDEFINED);
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    rcx_stamp_call(comm->context, rcx_ticks());
    status = rcx_comm_start_split(comm, color, key, !request_p, made_p, &r);
    status = hand_out(status, r, made_p, new_p, request_p);
    rcx_comm_leave(comm);
    return status;
}

static rcx_status_t check_request_p(const char *call, const rcx_comm_t *comm,
                                    rcx_request_t **request_p)
{
    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle(call, "comm", comm);
    if (!request_p)
        return rcx_fail(&comm->context->log, RCX_ERR_ARG,
                        "rcx_%s: request_p=NULL", call);
    return RCX_OK;
}

rcx_status_t rcx_comm_split(rcx_comm_t *comm, int color, int key,
                            rcx_comm_t **new_p)
{
    return split("comm_split", comm, color, key, new_p, NULL);
}

rcx_status_t rcx_comm_isplit(rcx_comm_t *comm, int color, int key,
                             rcx_comm_t **new_p, rcx_request_t **request_p)
{
    const rcx_status_t status = check_request_p("comm_isplit", comm, request_p);

    return status == RCX_OK
               ? split("comm_isplit", comm, color, key, new_p, request_p)
               : status;
}

rcx_status_t rcx_comm_split_node(rcx_comm_t *comm, int key, rcx_comm_t **new_p)
{
    rcx_status_t status = check_comm("comm_split_node", comm, new_p);
    int node;

    if (status == RCX_OK)
        status = rcx_comm_node_of(comm, comm->rank, &node);
    return status == RCX_OK
               ? split("comm_split_node", comm, node, key, new_p, NULL)
               : status;
}

rcx_status_t rcx_comm_dup(rcx_comm_t *comm, rcx_comm_t **new_p)
{
    return split("comm_dup", comm, 0, 0, new_p, NULL);
}

rcx_status_t rcx_comm_idup(rcx_comm_t *comm, rcx_comm_t **new_p,
                           rcx_request_t **request_p)
{
    const rcx_status_t status = check_request_p("comm_idup", comm, request_p);

    return status == RCX_OK ? split("comm_idup", comm, 0, 0, new_p, request_p)
                            : status;
}

static rcx_status_t check_group(const char *call, const rcx_comm_t *comm, int n,
                                const int ranks[], int tag)
{
    const struct rcx_log *log = &comm->context->log;
    const uint64_t tags = rcx_tag_sequence_window(&comm->context->layout);

    if (n < 1 || n > comm->size)
        return rcx_fail(log, RCX_ERR_ARG, "rcx_%s: n=%d: needs 1..%d", call, n,
                        comm->size);
    if (!ranks)
        return rcx_fail(log, RCX_ERR_ARG, "rcx_%s: ranks=NULL", call);
    if (tag < 0 || (uint64_t)tag >= tags)
        return rcx_fail(log, RCX_ERR_ARG, "rcx_%s: tag=%d: needs 0..%d", call,
                        tag, (int)tags - 1);
    return RCX_OK;
}

static rcx_status_t create_group(const char *call, rcx_comm_t *comm, int n,
                                 const int ranks[], int tag, rcx_comm_t **new_p,
                                 rcx_request_t **request_p)
{
    rcx_status_t status = check_comm(call, comm, new_p);
    rcx_comm_t *made = NULL, **made_p = request_p ? new_p : &made;
    struct rcx_request *r;

    if (status == RCX_OK)
        status = check_group(call, comm, n, ranks, tag);
    if (status == RCX_OK)
        status = rcx_enter(comm->context); /* no collective of comm */
    if (status != RCX_OK)
        return status;
    rcx_stamp_call(comm->context, rcx_ticks());
    status = rcx_comm_start_group(comm, n, ranks, tag, !request_p, made_p, &r);
    status = hand_out(status, r, made_p, new_p, request_p);
    rcx_leave(comm->context);
    return status;
}

rcx_status_t rcx_comm_create_group(rcx_comm_t *comm, int n, const int ranks[],
                                   int tag, rcx_comm_t **new_p)
{
    return create_group("comm_create_group", comm, n, ranks, tag, new_p, NULL);
}

rcx_status_t rcx_comm_icreate_group(rcx_comm_t *comm, int n, const int ranks[],
                                    int tag, rcx_comm_t **new_p,
                                    rcx_request_t **request_p)
{
    const rcx_status_t status =
        check_request_p("comm_icreate_group", comm, request_p);

    return status == RCX_OK ? create_group("comm_icreate_group", comm, n, ranks,
                                           tag, new_p, request_p)
                            : status;
}

/* ---- Freeing ------------------------------------------------------------- */

static rcx_status_t release(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;

    if (comm == context->world)
        return rcx_fail(
            &context->log, RCX_ERR_ARG,
            "rcx_comm_free: comm=%p: is the world, which rcx_finalize() frees",
            (void *)comm);
    context->comms.live--;
    if (comm->live_requests == 0) {
        rcx_comm_close_or_keep(comm);
        return RCX_OK;
    }
    comm->is_freed =
        true; /* its requests go on, and it is closed with the last */
    comm->magic = 0;
    rcx_comm_release(comm);
    return RCX_OK;
}

rcx_status_t rcx_comm_free(rcx_comm_t **comm_p)
{
    rcx_comm_t *comm = comm_p ? *comm_p : NULL;
    struct rcx_context *context;
    struct rcx_host_data host;
    rcx_status_t status;

    if (comm_p && !comm)
        return RCX_OK;
    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm_free", "comm", comm);
    context = comm->context;
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    host = comm->host; /* a freed communicator may go at once */
    status = release(comm);
    if (status != RCX_OK) {
        rcx_comm_leave(comm);
        return status;
    }
    *comm_p = NULL;
    rcx_leave(context);
    rcx_host_data_destroy(host);
    return RCX_OK;
}
