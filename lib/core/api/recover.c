/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions by which a program goes on after failures. */
#include "core/api/arguments.h"
#include "core/run/comm/recover.h"
#include "core/run/fault/agreement.h"
#include "core/run/wait/enter.h"

static rcx_status_t check_ranks(const struct rcx_context *context, int n,
                                const int ranks[])
{
    const struct rcx_log *log = &context->log;
    const int size = context->boot->size, own = context->boot->rank;

    if (n < 0)
        return rcx_fail(log, RCX_ERR_ARG,
                        "rcx_peer_failed: n=%d: needs 0 or more", n);
    if (n > 0 && !ranks)
        return rcx_missing(log, "rcx_peer_failed: ranks");
    for (int i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= size || ranks[i] == own)
            return rcx_fail(log, RCX_ERR_ARG,
                            "rcx_peer_failed: ranks[%d]=%d: needs a rank of "
                            "the world (0..%d), and not this one (%d)",
                            i, ranks[i], size - 1, own);
    return RCX_OK;
}

/* From any thread, at any time. */
rcx_status_t rcx_peer_failed(rcx_context_t *context, int n, const int ranks[])
{
    rcx_status_t status;

    if (!context)
        return rcx_bad_handle("peer_failed", "context", context);
    if (rcx_guard_is_forked(context->guard))
        return rcx_enter(context);
    status = check_ranks(context, n, ranks);
    if (status != RCX_OK || n == 0)
        return status;
    for (int i = 0; i < n; i++)
        atomic_store_explicit(&context->told[ranks[i]], true,
                              memory_order_relaxed);
    atomic_store_explicit(&context->is_told_of_peers, true,
                          memory_order_release);
    rcx_context_attend(context);
    return RCX_OK;
}

rcx_status_t rcx_comm_revoke(rcx_comm_t *comm)
{
    return rcx_comm_abort(comm);
}

/* On success the caller is inside. */
static rcx_status_t begin(const char *call, rcx_comm_t *comm, const char *name,
                          const void *arg, int64_t *timeout_ns)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle(call, "comm", comm);
    if (!arg)
        return rcx_fail(&comm->context->log, RCX_ERR_ARG, "rcx_%s: %s=NULL",
                        call, name);
    if (*timeout_ns < 0)
        return rcx_fail(&comm->context->log, RCX_ERR_ARG,
                        "rcx_%s: timeout_ns=%lld: needs 0 (that of the "
                        "communicator) or more",
                        call, (long long)*timeout_ns);
    status = rcx_comm_enter(comm);
    if (*timeout_ns == 0)
        *timeout_ns = comm->timeout_ns;
    return status;
}

rcx_status_t rcx_comm_agree(rcx_comm_t *comm, uint64_t *flags,
                            int64_t timeout_ns)
{
    rcx_status_t status =
        begin("comm_agree", comm, "flags", flags, &timeout_ns);

    if (status != RCX_OK)
        return status;
    status = rcx_comm_run_agreement(comm, flags, timeout_ns);
    rcx_comm_leave(comm);
    return status;
}

rcx_status_t rcx_comm_shrink(rcx_comm_t *comm, int64_t timeout_ns,
                             rcx_comm_t **new_p)
{
    rcx_status_t status =
        begin("comm_shrink", comm, "new_p", new_p, &timeout_ns);

    if (status != RCX_OK)
        return status;
    status = rcx_comm_run_shrink(comm, timeout_ns, new_p);
    rcx_comm_leave(comm);
    return status;
}

rcx_status_t rcx_comm_failed(const rcx_comm_t *comm, int *n_p,
                             const int **ranks_p)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm_failed", "comm", comm);
    if (!n_p || !ranks_p)
        return rcx_missing(&comm->context->log, n_p ? "rcx_comm_failed: ranks_p"
                                                    : "rcx_comm_failed: n_p");
    status = rcx_enter(comm->context);
    if (status != RCX_OK)
        return status;
    *n_p = rcx_agreement_failed(comm, ranks_p);
    rcx_leave(comm->context);
    return RCX_OK;
}
