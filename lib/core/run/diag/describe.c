/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptions of calls and ranks in log messages. */
#include "core/run/diag/describe.h"

#include <inttypes.h>

#include "core/iface/peer.h"
#include "core/op/types.h"
#include "core/run/object/request.h"

static void print_operands(const struct rcx_program *e, char *text,
                           size_t bytes)
{
    const struct rcx_type_info *type = rcx_type_predefined(e->record.type);
    const struct rcx_op_info *op = rcx_op_predefined(e->record.op);
    const bool reduces = rcx_colls[e->call.coll].reduces;
    char extent[48];

    snprintf(extent, sizeof extent, "of a user's type of %zu bytes",
             e->combine.reducer.elem_bytes);
    snprintf(text, bytes, " of %zu %s%s%s", e->call.count,
             type ? type->name : extent, reduces ? ", " : "",
             !reduces ? ""
             : op     ? op->name
                      : "a user's op");
}

/* "reduce of 24 int64, sum, root 1" */
static int print_call(const struct rcx_program *e, char *text, size_t bytes)
{
    char operands[96] = "", root[24] = "";

    if (rcx_coll_has_data(e->call.coll))
        print_operands(e, operands, sizeof operands);
    if (rcx_coll_is_rooted(e->call.coll))
        snprintf(root, sizeof root, ", root %d", e->call.root);
    return snprintf(text, bytes, "%s%s%s", rcx_call_function(&e->call),
                    operands, root);
}

const char *rcx_comm_print(const struct rcx_comm *comm,
                           char text[RCX_COMM_TEXT])
{
    const int used =
        snprintf(text, RCX_COMM_TEXT, "communicator %" PRIu32, comm->id);
    char *end = text + used;
    const size_t room = RCX_COMM_TEXT - (size_t)used;

    if (comm->name[0])
        snprintf(end, room, " (%s)", comm->name);
    else if (comm->id == RCX_COMM_ID_INTERNAL)
        snprintf(end, room, " (RCX's own)");
    else if (rcx_comm_is_for_groups(comm->id))
        snprintf(end, room, " (group of tag %d)", comm->tag);
    return text;
}

const char *rcx_rank_print(const struct rcx_comm *comm, int rank,
                           char text[RCX_RANK_TEXT])
{
    const struct rcx_context *context = comm->context;
    const int used = snprintf(text, RCX_RANK_TEXT, "%d", rank);
    char host[RCX_RANK_TEXT - 16];

    if (!rcx_nodes_linked(context->nodes) || rank < 0 || rank >= comm->size)
        return text;
    rcx_peer_host(context->boot, &context->log,
                  rcx_comm_context_rank(comm, rank), host, sizeof host);
    snprintf(text + used, RCX_RANK_TEXT - (size_t)used, " on %s", host);
    return text;
}

const char *rcx_ranks_print(const struct rcx_comm *comm, const char *first,
                            const int ranks[], int n, char *text, size_t bytes)
{
    char rank[RCX_RANK_TEXT];
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < n && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s %s",
                                 i ? "," : first,
                                 rcx_rank_print(comm, ranks[i], rank));
    return text;
}

/* ---- What was chosen ----------------------------------------------------- */

static rcx_log_level_t level_of(int rank)
{
    return rank == 0 ? RCX_LOG_INFO : RCX_LOG_DEBUG;
}

/* What the call is of a sum in stages; "" if of none. */
static const char *part_of(const struct rcx_call *call)
{
    return call->role == RCX_CALL_RANGES    ? "ranges of an exact sum: "
           : call->role == RCX_CALL_NUMBERS ? "integers of an exact sum: "
           : call->role == RCX_CALL_FLOATS  ? "floats of a sum: "
                                            : "";
}

void rcx_program_describe(const struct rcx_comm *comm,
                          const struct rcx_program *program)
{
    const struct rcx_log *log = &comm->context->log;
    const struct rcx_call *called = &program->call;
    const bool is_known = (!rcx_call_is_users(called) && !part_of(called)[0]) ||
                          called->lists[RCX_CALL_PASSING];
    const rcx_log_level_t level =
        is_known ? RCX_LOG_DEBUG : level_of(comm->rank);
    char call[RCX_CALL_TEXT], name[RCX_COMM_TEXT];

    if (level > log->level)
        return;
    print_call(program, call, sizeof call);
    rcx_log_line(log, level, "%s%s on %s of %d ranks: %s", part_of(called),
                 call, rcx_comm_print(comm, name), comm->size, program->text);
}

static void describe_waiting(const struct rcx_context *context, char *text,
                             size_t bytes)
{
    const char *by =
        context->config.progress_thread ? "; a progress thread runs, too" : "";

    if (context->config.wait == RCX_WAIT_POLL)
        snprintf(text, bytes, "polls%s", by);
    else
        snprintf(text, bytes, "%s after %u empty polls%s",
                 context->config.wait == RCX_WAIT_BLOCK ? "sleeps" : "yields",
                 context->progress.spin, by);
}

static void describe_start(const struct rcx_context *context,
                           rcx_log_level_t level)
{
    static const char *const names[RCX_STARTS] = {"launcher", "network",
                                                  "peers"};
    const uint64_t born = context->time.born.ns, now = rcx_now_ns();
    uint64_t before = born;
    char text[96] = "";
    size_t used = 0;

    for (int i = 0; i < RCX_STARTS; i++) {
        const uint64_t end = context->started_ns[i];

        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %.1f",
                                 i ? "," : ":", names[i],
                                 (double)(end - before) / 1e6);
        before = end;
    }
    rcx_log_line(&context->log, level, "started in %.1f ms%s",
                 (double)(now - born) / 1e6, text);
}

static int ranks_here(const struct rcx_context *context)
{
    const struct rcx_nodes *nodes = rcx_nodes_linked(context->nodes);

    return nodes ? rcx_nodes_size(nodes, nodes->node[context->boot->rank])
                 : context->boot->size;
}

void rcx_context_describe(const struct rcx_context *context)
{
    static const char *const threads[] = {"single", "serialized", "multiple"};
    const struct rcx_boot *boot = context->boot;
    const rcx_log_level_t level = level_of(boot->rank);
    char network[64] = "none", waiting[96];

    if (level > context->log.level)
        return;
    if (context->transport)
        context->transport->ops->version(network, sizeof network);
    describe_waiting(context, waiting, sizeof waiting);
    rcx_log_line(&context->log, level,
                 "RCX %s: %d ranks, %d on this node; bootstrap %s, network %s",
                 rcx_version(), boot->size, ranks_here(context),
                 boot->ops->name, network);
    rcx_log_line(&context->log, level,
                 "a waiting rank %s; threads %s; kernels %s", waiting,
                 threads[context->threads], rcx_isa_name(context->config.isa));
    describe_start(context, level);
}

/* ---- Requests ------------------------------------------------------------ */

int rcx_p2p_print(const struct rcx_p2p *p, char *text, size_t bytes)
{
    const struct rcx_p2p_call *call = &p->call;
    const struct rcx_type_info *type = rcx_type_predefined(call->type);
    char extent[48], peer[24] = "any rank";

    snprintf(extent, sizeof extent, "of a user's type of %zu bytes",
             call->elem_bytes);
    if (call->peer != RCX_ANY_SOURCE)
        snprintf(peer, sizeof peer, "rank %d", call->peer);
    return snprintf(text, bytes, "%s %zu %s %s %s, tag %d",
                    call->sends ? "send of" : "receive of up to", call->count,
                    type ? type->name : extent, call->sends ? "to" : "from",
                    peer, call->tag);
}

const char *rcx_request_print(const struct rcx_request *r,
                              char text[RCX_CALL_TEXT])
{
    const bool is_p2p = r->program->is_p2p;
    const int used =
        is_p2p ? rcx_p2p_print(rcx_p2p_of(r->program), text, RCX_CALL_TEXT)
               : print_call(r->program, text, RCX_CALL_TEXT);
    char name[RCX_COMM_TEXT];

    snprintf(text + used, RCX_CALL_TEXT - (size_t)used, ", %s %llu on %s",
             is_p2p ? "message" : "number",
             (unsigned long long)rcx_request_number(r),
             rcx_comm_print(r->comm, name));
    return text;
}

int rcx_request_peers(const struct rcx_request *r, int peers[], int most)
{
    int n = 0;

    for (unsigned i = 0; i < rcx_request_slots(r) && n == 0; i++)
        if (r->slots[i])
            n = rcx_exec_peers(r->slots[i], peers, most);
    return n;
}
