/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_comm_set(). Each member parses the setting into a copy of the settings
 * that it has. One allreduce compares what all give, and tells whether some
 * member cannot change: then none does.
 */
#include "core/run/comm/comm_set.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/run/comm/internal.h"
#include "core/run/diag/describe.h"
#include "core/run/plan/members.h"

/* Both are maxima over the members: of a hash of name and value, or of
 * UINT32_MAX where a member cannot change; and of the hash's complement. Each
 * with a rank that gave it. */
struct vote {
    uint64_t highest, lowest;
};

static uint64_t with_rank(const struct rcx_comm *comm, uint64_t hash)
{
    return hash << 32 | (uint32_t)comm->rank;
}

/* 31 bits, so that a refusal is above all of them. */
static struct vote vote_of(const struct rcx_comm *comm, const char *name,
                           const char *value, bool refuses)
{
    const uint64_t hash =
        rcx_hash(rcx_hash_text(name), rcx_hash_text(value)) >> 33;

    return (struct vote){with_rank(comm, refuses ? UINT32_MAX : hash),
                         with_rank(comm, UINT32_MAX - hash)};
}

static rcx_status_t combine(struct rcx_comm *comm, struct vote *vote)
{
    const struct rcx_call call = {.coll = RCX_COLL_ALLREDUCE,
                                  .alias = RCX_ALIAS_SAME,
                                  .type = RCX_UINT64,
                                  .op = RCX_MAX,
                                  .count = sizeof *vote / sizeof(uint64_t),
                                  .role = RCX_CALL_OWN};

    return rcx_internal_run(comm, &call, vote, vote);
}

/* The same on all members. own: this member's error, which is logged. */
static rcx_status_t judge(const struct rcx_comm *comm, const char *name,
                          const struct vote *vote, rcx_status_t own)
{
    const struct rcx_log *log = &comm->context->log;
    const uint64_t highest = vote->highest >> 32;
    char called[RCX_COMM_TEXT];

    rcx_comm_print(comm, called);
    if (own != RCX_OK)
        return own;
    if (highest == UINT32_MAX)
        return rcx_fail(log, RCX_ERR_CONFIG,
                        "rcx_comm_set: %s: rank %u of %s cannot set it, so no "
                        "member does",
                        name, (unsigned)(uint32_t)vote->highest, called);
    if (highest != UINT32_MAX - (vote->lowest >> 32))
        return rcx_fail(log, RCX_ERR_CONFIG,
                        "rcx_comm_set: %s: ranks %u and %u of %s gave "
                        "different names or values",
                        name, (unsigned)(uint32_t)vote->highest,
                        (unsigned)(uint32_t)vote->lowest, called);
    return RCX_OK;
}

/* The settings with the change, which have no user yet, and members for
 * programs of them. */
struct change {
    struct rcx_comm_config *config;
    struct rcx_members *members;
};

static void discard(struct rcx_context *context, const struct change *change)
{
    rcx_heap_free(&context->heap, change->config);
    rcx_members_put(context, change->members);
}

static rcx_status_t prepare(struct rcx_comm *comm, const char *name,
                            const char *value, struct change *change)
{
    struct rcx_context *context = comm->context;
    char text[RCX_CONFIG_TEXT];
    struct rcx_config *c;

    *change = (struct change){.config = NULL};
    if (comm->live_requests > 0)
        return rcx_fail(&context->log, RCX_ERR_BUSY,
                        "rcx_comm_set: %s: %llu requests of the communicator "
                        "are not freed",
                        name, (unsigned long long)comm->live_requests);
    change->config = rcx_heap_zalloc(&context->heap, sizeof *change->config);
    change->members = rcx_members_copy(context, comm->members);
    if (!change->config || !change->members)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "rcx_comm_set: no memory for settings");
    c = &change->config->config;
    *c = *comm->config;
    c->order_is_set = c->timeout_is_set = true;
    c->timeout_ns = comm->timeout_ns;
    if (rcx_config_set(c, name, value, text) != RCX_OK)
        return rcx_fail(&context->log, RCX_ERR_CONFIG, "rcx_comm_set: %s",
                        text);
    if (!c->order_is_set)
        c->order = context->config.order;
    if (!c->timeout_is_set)
        c->timeout_ns = context->config.timeout_ns;
    return RCX_OK;
}

/* Others may use the programs of the former settings. */
static void apply(struct rcx_comm *comm, const struct change *change)
{
    rcx_members_replace(comm, change->members);
    rcx_comm_use_config(comm, change->config);
    comm->timeout_ns = change->config->config.timeout_ns;
}

rcx_status_t rcx_comm_change_setting(struct rcx_comm *comm, const char *name,
                                     const char *value)
{
    struct change change;
    const rcx_status_t own = prepare(comm, name, value, &change);
    struct vote vote = vote_of(comm, name, value, own != RCX_OK);
    rcx_status_t status = combine(comm, &vote);

    if (status == RCX_OK)
        status = judge(comm, name, &vote, own);
    if (status == RCX_OK)
        apply(comm, &change);
    else
        discard(comm->context, &change);
    return status;
}
