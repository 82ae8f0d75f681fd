/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions on the ranks of communicators: their nodes, and their ranks in
 * other communicators. None communicates. */
#include "core/api/arguments.h"
#include "core/run/fault/failure.h"
#include "core/run/wait/enter.h"

rcx_context_t *rcx_comm_context(const rcx_comm_t *comm)
{
    return rcx_comm_is_valid(comm) ? comm->context : NULL;
}

/* ---- Nodes --------------------------------------------------------------- */

/* A job of one node has no map of nodes; then its cores are known. */
static bool knows_nodes(const struct rcx_context *context)
{
    return rcx_nodes_linked(context->nodes) || context->cores > 0 ||
           context->world->size == 1;
}

/* The maps are made when they are first needed. */
static rcx_status_t find_node(struct rcx_comm *comm, int rank, int *node_p)
{
    const struct rcx_log *log = &comm->context->log;
    const struct rcx_nodes *nodes;

    if (!knows_nodes(comm->context))
        return rcx_fail(log, RCX_ERR_UNSUPPORTED,
                        "rcx_comm_node_of: the bootstrap does not tell which "
                        "ranks share a node");
    if (!rcx_comm_map_nodes(comm))
        return rcx_fail(log, RCX_ERR_NOMEM,
                        "rcx_comm_node_of: no memory for a map of nodes");
    nodes = rcx_nodes_linked(comm->members->nodes);
    *node_p = nodes ? nodes->node[rank] : 0;
    return RCX_OK;
}

rcx_status_t rcx_comm_node_of(rcx_comm_t *comm, int rank, int *node_p)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm_node_of", "comm", comm);
    if (!node_p)
        return rcx_missing(&comm->context->log, "rcx_comm_node_of: node_p");
    if (rank < 0 || rank >= comm->size)
        return rcx_fail(&comm->context->log, RCX_ERR_ARG,
                        "rcx_comm_node_of: rank=%d: needs 0..%d", rank,
                        comm->size - 1);
    status = rcx_enter(comm->context);
    if (status != RCX_OK)
        return status;
    status = find_node(comm, rank, node_p);
    rcx_leave(comm->context);
    return status;
}

/* ---- Ranks --------------------------------------------------------------- */

/* Store the rank in comm of each process of its context, or RCX_UNDEFINED.
 * Returns an array that the caller frees; NULL: no memory. */
static int *invert(const struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;
    const size_t n = (size_t)context->world->size;
    int *ranks = rcx_heap_alloc(&context->heap, n * sizeof *ranks);

    if (!ranks) {
        rcx_log_line(&context->log, RCX_LOG_ERROR,
                     "no memory for a list of ranks");
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        ranks[i] = RCX_UNDEFINED;
    for (int i = 0; i < comm->size; i++)
        ranks[rcx_comm_context_rank(comm, i)] = i;
    return ranks;
}

static rcx_status_t check_ranks(const struct rcx_comm *from, int n,
                                const int ranks[], const int found[])
{
    const struct rcx_log *log = &from->context->log;

    if (n < 0)
        return rcx_fail(log, RCX_ERR_ARG,
                        "rcx_comm_translate: n=%d: needs 0 or more", n);
    if (n > 0 && (!ranks || !found))
        return rcx_missing(log, ranks ? "rcx_comm_translate: found"
                                      : "rcx_comm_translate: ranks");
    for (int i = 0; i < n; i++)
        if (ranks[i] < 0 || ranks[i] >= from->size)
            return rcx_fail(log, RCX_ERR_ARG,
                            "rcx_comm_translate: ranks[%d]=%d: needs 0..%d", i,
                            ranks[i], from->size - 1);
    return RCX_OK;
}

static rcx_status_t translate(const struct rcx_comm *from, int n,
                              const int ranks[], const struct rcx_comm *to,
                              int found[])
{
    int *const known = invert(to);

    if (!known)
        return RCX_ERR_NOMEM;
    for (int i = 0; i < n; i++)
        found[i] = known[rcx_comm_context_rank(from, ranks[i])];
    rcx_heap_free(&to->context->heap, known);
    return RCX_OK;
}

rcx_status_t rcx_comm_translate(rcx_comm_t *from, int n, const int ranks[],
                                rcx_comm_t *to, int found[])
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(from))
        return rcx_bad_handle("comm_translate", "from", from);
    if (!rcx_comm_is_valid(to))
        return rcx_bad_handle("comm_translate", "to", to);
    if (from->context != to->context)
        return rcx_fail(&from->context->log, RCX_ERR_ARG,
                        "rcx_comm_translate: from and to belong to different "
                        "contexts");
    status = check_ranks(from, n, ranks, found);
    if (status == RCX_OK)
        status = rcx_enter(from->context);
    if (status != RCX_OK)
        return status;
    status = translate(from, n, ranks, to, found);
    rcx_leave(from->context);
    return status;
}

/* Whether the ranks of a, as many as b has, are those of b. */
static rcx_status_t compare(const struct rcx_comm *a, const struct rcx_comm *b,
                            rcx_comparison_t *result_p)
{
    int *const known = invert(b);
    rcx_comparison_t result = RCX_COMM_CONGRUENT;

    if (!known)
        return RCX_ERR_NOMEM;
    for (int i = 0; i < a->size && result != RCX_COMM_UNEQUAL; i++) {
        const int rank = known[rcx_comm_context_rank(a, i)];

        if (rank == RCX_UNDEFINED)
            result = RCX_COMM_UNEQUAL;
        else if (rank != i)
            result = RCX_COMM_SIMILAR;
    }
    rcx_heap_free(&b->context->heap, known);
    *result_p = result;
    return RCX_OK;
}

rcx_status_t rcx_comm_compare(rcx_comm_t *a, rcx_comm_t *b,
                              rcx_comparison_t *result_p)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(a))
        return rcx_bad_handle("comm_compare", "a", a);
    if (!rcx_comm_is_valid(b))
        return rcx_bad_handle("comm_compare", "b", b);
    if (!result_p)
        return rcx_missing(&a->context->log, "rcx_comm_compare: result_p");
    status = rcx_enter(a->context);
    if (status != RCX_OK)
        return status;
    *result_p = a == b ? RCX_COMM_IDENT : RCX_COMM_UNEQUAL;
    if (a != b && a->context == b->context && a->size == b->size)
        status = compare(a, b, result_p);
    rcx_leave(a->context);
    return status;
}
