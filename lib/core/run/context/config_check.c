/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration check. Each rank publishes a header and its transport's
 * address, and compares the headers of all ranks: ranks with different settings
 * would wait for each other forever. Every rank reads all headers; on several
 * nodes the leader of each node reads them and sends a summary to the others.
 */
#include "core/run/context/config_check.h"

#include <sched.h>
#include <string.h>

#include "core/iface/peer.h"
#include "core/run/object/context.h"

_Static_assert((int)RCX_PEER_SETTINGS == (int)RCX_SHARED_SETTINGS &&
                   (int)RCX_PEER_LINES == (int)RCX_CONFIG_KINDS,
               "a header has room for all settings and lines");

/* Number of the group of so many ranks in a row of this node, from 1 on; 0:
 * there is no such level. */
static uint32_t nth_group(const struct rcx_boot *boot, int per_group)
{
    int index = boot->local_ranks ? 0 : boot->rank;

    for (int i = 0; boot->local_ranks && i < boot->local_size; i++)
        index += boot->local_ranks[i] < boot->rank;
    return per_group > 0 ? (uint32_t)(index / per_group) + 1 : 0;
}

/* Reads files, or even loads hwloc: once a context. */
static struct rcx_place find_place(const struct rcx_context *context)
{
    const int *per_group = context->config.per_group;
    struct rcx_place place;
    cpu_set_t cpus;

    if (context->config.finds_levels) {
        CPU_ZERO(&cpus);
        sched_getaffinity(0, sizeof cpus, &cpus);
        rcx_place_find(&cpus, &place);
        return place;
    }
    return (struct rcx_place){
        .socket = nth_group(context->boot, per_group[RCX_LEVEL_SOCKET]),
        .numa = nth_group(context->boot, per_group[RCX_LEVEL_NUMA]),
        .cache = nth_group(context->boot, per_group[RCX_LEVEL_CACHE])};
}

static void describe_self(const struct rcx_context *context,
                          struct rcx_peer_header *h)
{
    rcx_peer_header_init(h);
    h->ahead = RCX_AHEAD;
    if (context->transport) {
        context->transport->ops->version(h->transport, sizeof h->transport);
        h->ack_bytes = context->transport->ack_bytes;
        if (context->transport->ahead > 0)
            h->ahead = context->transport->ahead;
    }
    h->node = rcx_boot_node(context->boot);
    CPU_ZERO(&h->cpus);
    sched_getaffinity(0, sizeof h->cpus, &h->cpus);
    h->place = context->place;
    h->job = rcx_status_make_job(&context->time.born);
    rcx_config_hash(&context->config, h->settings);
    for (int i = 0; i < RCX_CONFIG_KINDS; i++)
        h->lines[i] =
            rcx_config_lines_hash(&context->config, (enum rcx_config_kind)i);
}

rcx_status_t rcx_config_publish(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    const void *address = NULL;
    size_t address_bytes = 0;
    rcx_status_t status = RCX_OK;
    struct rcx_peer_header *blob;

    context->place = find_place(context);
    if (t)
        status = t->ops->address(t, &address, &address_bytes);
    if (status != RCX_OK)
        return status;
    blob = rcx_heap_alloc(&context->heap, sizeof *blob + address_bytes);
    if (!blob)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for an address");
    describe_self(context, blob);
    blob->address_bytes = address_bytes;
    if (address_bytes > 0)
        memcpy(blob + 1, address, address_bytes);
    rcx_peer_seal(blob, sizeof *blob + address_bytes);
    status = context->boot->ops->publish(context->boot, blob,
                                         sizeof *blob + address_bytes);
    rcx_heap_free(&context->heap, blob);
    return status;
}

/* ---- Settings ------------------------------------------------------------ */

/* What all ranks of a machine must see in the same way. Nodes that share a
 * kernel (containers, emulated nodes) share its cores. */
struct machine_facts {
    uint64_t ack_bytes; /* minimum over all ranks */
    uint64_t ahead;     /* minimum over all ranks */
    uint64_t ranks;     /* on this machine */
    uint64_t job;       /* of rank 0 */
    cpu_set_t cpus;     /* where any of them may run */
};

enum { UNBOUND = -1 };

/* Where a rank runs. */
struct place {
    uint64_t node;
    int64_t cpu; /* the only one where it may run, or UNBOUND */
    struct rcx_place within;
    uint32_t user;
    uint64_t user_space;
};

/* What the leader of a node sends to its other ranks. */
struct node_summary {
    uint64_t is_clean; /* settings are equal, and no rank has lines to log */
    struct machine_facts found;
    struct place places[];
};

/* Result of a check of all ranks. */
struct check {
    struct rcx_peer_header me;
    uint64_t first[RCX_SHARED_SETTINGS]; /* of rank 0 */
    int mismatching; /* lowest rank whose settings differ; -1: none */
    int setting;     /* the one that differs */
    int invalid;     /* lowest rank with an invalid environment; -1: none */
    bool are_lines;  /* a rank has lines to log */
    bool is_said[RCX_CONFIG_KINDS]; /* a lower rank logs the same lines */
    struct machine_facts found;
    struct node_summary
        *node_summary; /* with the places of all ranks; or NULL */
    size_t summary_bytes;
};

static int64_t only_cpu(const cpu_set_t *cpus)
{
    int64_t cpu = 0;

    if (CPU_COUNT(cpus) != 1)
        return UNBOUND;
    while (!CPU_ISSET(cpu, cpus))
        cpu++;
    return cpu;
}

static void compare_with(struct check *s, int rank, bool is_lower,
                         const struct rcx_peer_header *h)
{
    if (rank == 0) {
        memcpy(s->first, h->settings, sizeof s->first);
        s->found.job = h->job;
    }
    for (int i = 0; i < RCX_SHARED_SETTINGS && s->mismatching < 0; i++) {
        if (h->settings[i] != s->first[i]) {
            s->mismatching = rank;
            s->setting = i;
        }
    }
    if (s->invalid < 0 && h->lines[RCX_CONFIG_ERRORS])
        s->invalid = rank;
    if (h->ack_bytes < s->found.ack_bytes)
        s->found.ack_bytes = h->ack_bytes;
    if (h->ahead < s->found.ahead)
        s->found.ahead = h->ahead;
    if (s->node_summary)
        s->node_summary->places[rank] =
            (struct place){.node = h->node,
                           .cpu = only_cpu(&h->cpus),
                           .within = h->place,
                           .user = h->user,
                           .user_space = h->user_space};
    if (strncmp(h->kernel, s->me.kernel, RCX_PEER_TEXT) == 0) {
        s->found.ranks++;
        CPU_OR(&s->found.cpus, &s->found.cpus, &h->cpus);
    }
    for (int i = 0; i < RCX_CONFIG_KINDS; i++) {
        s->are_lines |= h->lines[i] != 0;
        s->is_said[i] |= is_lower && h->lines[i] == s->me.lines[i];
    }
}

/* All ranks come to the same result, and one of them logs it. */
static rcx_status_t report(struct rcx_context *context, const struct check *s)
{
    const int rank = context->boot->rank;

    for (int i = 0; i < RCX_CONFIG_KINDS; i++)
        if (!s->is_said[i])
            rcx_config_tell(&context->config, (enum rcx_config_kind)i,
                            &context->log);
    if (s->invalid >= 0) {
        rcx_info(&context->log, "rank %d has a setting that is not valid",
                 s->invalid);
        return RCX_ERR_CONFIG;
    }
    if (s->mismatching < 0)
        return RCX_OK;
    rcx_log_line(
        &context->log, rank == 0 ? RCX_LOG_ERROR : RCX_LOG_INFO,
        "%s of rank %d differs from that of rank 0: RCX_ variables, and the "
        "settings and order given to rcx_init(), must be equal on all ranks",
        rcx_config_shared_name(s->setting), s->mismatching);
    return RCX_ERR_CONFIG;
}

static rcx_status_t check(struct rcx_context *context, struct check *s)
{
    struct rcx_boot *boot = context->boot;

    for (int i = 0; i < boot->size; i++) {
        rcx_status_t status = RCX_OK;
        struct rcx_peer_header peer = s->me;
        const void *rest;

        if (i != boot->rank)
            status = rcx_peer_lookup(boot, &context->log, i, &peer, &rest);
        if (status != RCX_OK)
            return status;
        compare_with(s, i, i < boot->rank, &peer);
    }
    return RCX_OK;
}

/* ---- Check by the leader of a node --------------------------------------- */

/* In jobs of up to so many ranks each rank reads all headers, which takes less
 * time than waiting for the leader. */
enum { READ_BY_EACH = 8 };

static bool is_relayed(const struct rcx_boot *boot)
{
    return boot->size > READ_BY_EACH && boot->local_ranks &&
           boot->local_size > 1 && boot->ops->local_bcast;
}

static rcx_status_t check_for_node(struct rcx_context *context, struct check *s)
{
    struct rcx_boot *boot = context->boot;
    struct node_summary *d = s->node_summary;
    const rcx_status_t status = check(context, s);
    rcx_status_t told;

    d->is_clean = status == RCX_OK && s->mismatching < 0 && s->invalid < 0 &&
                  !s->are_lines;
    d->found = s->found;
    told = boot->ops->local_bcast(boot, d, s->summary_bytes, NULL, NULL);
    return status == RCX_OK ? told : status;
}

static void receive_summary(int rank, const void *node_summary, void *arg)
{
    struct check *s = arg;

    (void)rank;
    if (node_summary)
        memcpy(s->node_summary, node_summary, s->summary_bytes);
}

/* If the leader found a difference, or its summary does not come, each rank
 * checks all headers itself, so all come to the same result. */
static rcx_status_t check_by_leader(struct rcx_context *context,
                                    struct check *s)
{
    struct rcx_boot *boot = context->boot;
    const struct node_summary *d = s->node_summary;

    s->node_summary->is_clean = false;
    boot->ops->local_bcast(boot, NULL, s->summary_bytes, receive_summary, s);
    if (!d->is_clean)
        return check(context, s);
    s->found = d->found;
    return RCX_OK;
}

static rcx_status_t check_all(struct rcx_context *context, struct check *s)
{
    const struct rcx_boot *boot = context->boot;

    if (!is_relayed(boot))
        return check(context, s);
    return boot->rank == rcx_boot_lowest(boot) ? check_for_node(context, s)
                                               : check_by_leader(context, s);
}

static void note_machine(struct rcx_context *context, const struct check *s)
{
    const int size = context->boot->size;
    const int cores = CPU_COUNT(&s->found.cpus);
    uint64_t on_node = 0;

    for (int i = 0; i < size; i++)
        on_node += s->node_summary->places[i].node == s->me.node;
    context->cores = s->found.ranks == (uint64_t)size ? cores : 0;
    context->oversubscribes_cores = s->found.ranks > (uint64_t)cores;
    context->is_split = s->found.ranks > on_node;
    context->job = s->found.job;
}

/* The id of the group of a level that a rank is in; 0: not known. */
static uint64_t group_of(const struct place *place, enum rcx_level level)
{
    switch (level) {
    case RCX_LEVEL_NODE: return place->node;
    case RCX_LEVEL_SOCKET: return place->within.socket;
    case RCX_LEVEL_NUMA: return place->within.numa;
    case RCX_LEVEL_CACHE: return place->within.cache;
    default: return (uint64_t)(place->cpu - UNBOUND);
    }
}

/* Whether the level may divide the ranks: all know their groups. Cores are
 * groups on one node only, where ranks share them. */
static bool find_groups(const struct rcx_context *context,
                        const struct place places[], enum rcx_level level,
                        uint64_t ids[])
{
    bool is_known = level != RCX_LEVEL_CORE || context->oversubscribes_cores;

    for (int i = 0; i < context->boot->size && is_known; i++) {
        ids[i] = group_of(&places[i], level);
        is_known = level == RCX_LEVEL_NODE ||
                   (ids[i] > 0 && (level != RCX_LEVEL_CORE ||
                                   places[i].node == places[0].node));
    }
    return is_known;
}

static rcx_status_t map_places(struct rcx_context *context,
                               const struct place places[])
{
    const size_t size = (size_t)context->boot->size;
    const uint64_t *known[RCX_LEVELS] = {NULL};
    uint64_t *ids =
        rcx_heap_alloc(&context->heap, RCX_LEVELS * size * sizeof *ids);
    bool good = ids;

    for (int level = 0; good && level < RCX_LEVELS; level++) {
        uint64_t *own = ids + (size_t)level * size;

        if (find_groups(context, places, (enum rcx_level)level, own))
            known[level] = own;
    }
    good = good && rcx_nodes_map(&context->heap, known, context->boot->size,
                                 &context->nodes);
    rcx_heap_free(&context->heap, ids);
    return good ? RCX_OK
                : rcx_fail(&context->log, RCX_ERR_NOMEM,
                           "no memory for a map of nodes");
}

/* ---- Users --------------------------------------------------------------- */

/* Whether two ranks of a node belong to different users, so that they cannot
 * share memory. Numbers of other namespaces or nodes cannot be compared. */
static bool differ_in_user(const struct place *a, const struct place *b)
{
    return a->user != b->user && a->user_space == b->user_space &&
           a->node == b->node;
}

/* All ranks come to the same result, and rank 0 logs it. */
static rcx_status_t check_users(const struct rcx_context *context,
                                const struct place places[])
{
    const int size = context->boot->size;
    bool differ = false;

    for (int i = 1; i < size; i++)
        differ |= places[i].user != places[0].user;
    for (int b = 1; b < size && differ; b++) {
        int a = 0;

        while (a < b && !differ_in_user(&places[a], &places[b]))
            a++;
        if (a == b)
            continue;
        rcx_log_line(
            &context->log,
            context->boot->rank == 0 ? RCX_LOG_ERROR : RCX_LOG_INFO,
            "ranks %d and %d share a node and belong to users %u and %u: a job "
            "is the processes of one user",
            a, b, (unsigned)places[a].user, (unsigned)places[b].user);
        return RCX_ERR_CONFIG;
    }
    return RCX_OK;
}

rcx_status_t rcx_config_check(struct rcx_context *context)
{
    const struct rcx_boot *boot = context->boot;
    struct check s = {.mismatching = -1, .invalid = -1};
    rcx_status_t status;

    describe_self(context, &s.me);
    context->ack_bytes = s.found.ack_bytes = s.me.ack_bytes;
    context->ahead = s.found.ahead = s.me.ahead;
    if (boot->one_process) { /* others may not have published yet */
        compare_with(&s, 0, false, &s.me);
        s.is_said[RCX_CONFIG_ERRORS] = s.is_said[RCX_CONFIG_WARNINGS] =
            boot->rank > 0;
        context->oversubscribes_cores = boot->size > CPU_COUNT(&s.me.cpus);
        return report(context, &s);
    }
    s.summary_bytes = sizeof *s.node_summary +
                      (size_t)boot->size * sizeof *s.node_summary->places;
    s.node_summary = rcx_heap_zalloc(&context->heap, s.summary_bytes);
    if (!s.node_summary)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a map of nodes");
    status = check_all(context, &s);
    if (status == RCX_OK) {
        context->ack_bytes = s.found.ack_bytes;
        context->ahead = s.found.ahead;
        note_machine(context, &s);
        status = report(context, &s);
    }
    if (status == RCX_OK)
        status = check_users(context, s.node_summary->places);
    if (status == RCX_OK)
        status = map_places(context, s.node_summary->places);
    rcx_heap_free(&context->heap, s.node_summary);
    return status;
}
