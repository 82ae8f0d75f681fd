/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Publishes this rank's header and address, and compares the headers of all
 * ranks: ranks with different settings would wait for each other forever. Every
 * rank reads all headers, or one rank of each node does and tells the others.
 */
#include "core/run/context/config_check.h"

#include <sched.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/hash.h"
#include "core/iface/peer.h"
#include "core/run/object/context.h"

_Static_assert((int)RCX_PEER_SETTINGS == (int)RCX_SHARED_SETTINGS &&
                   (int)RCX_PEER_LINES == (int)RCX_CONFIG_KINDS,
               "a header has room for all settings and lines");

/* Ranks of a kernel that the launcher, if it says so, takes to be on one node,
 * and that have one IPC namespace. */
static uint64_t node_of(const struct rcx_boot *boot,
                        const struct rcx_peer_header *h)
{
    struct stat ipc;
    uint64_t node = rcx_hash(rcx_hash_text(h->host), rcx_hash_text(h->boot_id));

    if (boot->local_ranks)
        node = rcx_hash(node, (uint64_t)rcx_boot_lowest(boot));
    return stat("/proc/self/ns/ipc", &ipc) == 0 ? rcx_hash(node, ipc.st_ino)
                                                : node;
}

static void describe_self(const struct rcx_context *context,
                          struct rcx_peer_header *h)
{
    rcx_peer_header_init(h);
    h->ahead = RCX_AHEAD;
    if (context->transport) {
        context->transport->ops->version(h->transport, sizeof h->transport);
        h->credit_bytes = context->transport->credit_bytes;
        if (context->transport->ahead > 0)
            h->ahead = context->transport->ahead;
    }
    h->node = node_of(context->boot, h);
    CPU_ZERO(&h->cpus);
    sched_getaffinity(0, sizeof h->cpus, &h->cpus);
    rcx_config_hash(&context->config, h->settings);
    for (int i = 0; i < RCX_CONFIG_KINDS; i++)
        h->lines[i] =
            rcx_config_lines_hash(&context->config, (enum rcx_config_kind)i);
}

rcx_status_t rcx_peer_publish(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    const void *address = NULL;
    size_t address_bytes = 0;
    rcx_status_t status = RCX_OK;
    struct rcx_peer_header *blob;

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

/* ---- Settings -------------------------------------------------------------- */

/* What ranks of a machine find alike: of its nodes, if its kernel has several
 * (containers, emulated ones), they share the cores. */
struct finding {
    uint64_t credit_bytes; /* the least */
    uint64_t ahead;        /* likewise */
    uint64_t ranks;        /* on this machine, */
    cpu_set_t cpus;        /* and where any of them may run */
};

enum { UNBOUND = -1 };

/* Where a rank is. */
struct place {
    uint64_t node;
    int64_t cpu; /* the only one where it may run, or UNBOUND */
};

/* What one rank of a node found, for the others. */
struct digest {
    uint64_t is_clean; /* settings are equal, and nobody has anything to say */
    struct finding found;
    struct place places[];
};

/* What comes of a look at all ranks. */
struct survey {
    struct rcx_peer_header me;
    uint64_t first[RCX_SHARED_SETTINGS]; /* rank 0's */
    int odd;        /* the lowest rank with another; -1: all are equal */
    int setting;    /* that differs */
    int wrong;      /* the lowest rank whose environment is not valid, or -1 */
    bool are_lines; /* that any of them has to say */
    bool is_said[RCX_CONFIG_KINDS]; /* what this rank has to say: by a lower */
    struct finding found;
    struct digest *digest; /* with the places of all ranks; or NULL */
    size_t digest_bytes;
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

static void look_at(struct survey *s, int rank, bool is_lower,
                    const struct rcx_peer_header *h)
{
    if (rank == 0)
        memcpy(s->first, h->settings, sizeof s->first);
    for (int i = 0; i < RCX_SHARED_SETTINGS && s->odd < 0; i++) {
        if (h->settings[i] != s->first[i]) {
            s->odd = rank;
            s->setting = i;
        }
    }
    if (s->wrong < 0 && h->lines[RCX_CONFIG_ERRORS])
        s->wrong = rank;
    if (h->credit_bytes < s->found.credit_bytes)
        s->found.credit_bytes = h->credit_bytes;
    if (h->ahead < s->found.ahead)
        s->found.ahead = h->ahead;
    if (s->digest)
        s->digest->places[rank] =
            (struct place){.node = h->node, .cpu = only_cpu(&h->cpus)};
    if (strncmp(h->boot_id, s->me.boot_id, RCX_PEER_TEXT) == 0) {
        s->found.ranks++;
        CPU_OR(&s->found.cpus, &s->found.cpus, &h->cpus);
    }
    for (int i = 0; i < RCX_CONFIG_KINDS; i++) {
        s->are_lines |= h->lines[i] != 0;
        s->is_said[i] |= is_lower && h->lines[i] == s->me.lines[i];
    }
}

/* All come to the same verdict, and one of them says it. */
static rcx_status_t judge(struct rcx_context *context, const struct survey *s)
{
    const int rank = context->boot->rank;

    for (int i = 0; i < RCX_CONFIG_KINDS; i++)
        if (!s->is_said[i])
            rcx_config_tell(&context->config, (enum rcx_config_kind)i,
                            &context->log);
    if (s->wrong >= 0) {
        rcx_info(&context->log, "rank %d has a setting that is not valid",
                 s->wrong);
        return RCX_ERR_CONFIG;
    }
    if (s->odd < 0)
        return RCX_OK;
    rcx_log_line(&context->log, rank == 0 ? RCX_LOG_ERROR : RCX_LOG_INFO,
                 "%s of rank %d is not that of rank 0: RCX_ variables, and "
                 "the order given to rcx_init(), must be equal on all ranks",
                 rcx_config_shared_name(s->setting), s->odd);
    return RCX_ERR_CONFIG;
}

static rcx_status_t survey(struct rcx_context *context, struct survey *s)
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
        look_at(s, i, i < boot->rank, &peer);
    }
    return RCX_OK;
}

/* ---- One rank of a node for all of it ---------------------------------------- */

/* Ranks of a job that each read all headers: so many are read faster than waited
 * for. */
enum { READ_BY_EACH = 8 };

static bool is_relayed(const struct rcx_boot *boot)
{
    return boot->size > READ_BY_EACH && boot->local_ranks &&
           boot->local_size > 1 && boot->ops->relay;
}

static rcx_status_t survey_for_node(struct rcx_context *context,
                                    struct survey *s)
{
    struct rcx_boot *boot = context->boot;
    struct digest *d = s->digest;
    const rcx_status_t status = survey(context, s);
    rcx_status_t told;

    d->is_clean =
        status == RCX_OK && s->odd < 0 && s->wrong < 0 && !s->are_lines;
    d->found = s->found;
    told = boot->ops->relay(boot, d, s->digest_bytes, NULL, NULL);
    return status == RCX_OK ? told : status;
}

static void see_digest(int rank, const void *digest, void *arg)
{
    struct survey *s = arg;

    (void)rank;
    if (digest)
        memcpy(s->digest, digest, s->digest_bytes);
}

/* Where anything is not as it should be, or may be, each rank looks itself, and
 * all come to the same verdict. */
static rcx_status_t survey_by_other(struct rcx_context *context,
                                    struct survey *s)
{
    struct rcx_boot *boot = context->boot;
    const struct digest *d = s->digest;

    s->digest->is_clean = false;
    boot->ops->relay(boot, NULL, s->digest_bytes, see_digest, s);
    if (!d->is_clean)
        return survey(context, s);
    s->found = d->found;
    return RCX_OK;
}

static rcx_status_t find_out(struct rcx_context *context, struct survey *s)
{
    const struct rcx_boot *boot = context->boot;

    if (!is_relayed(boot))
        return survey(context, s);
    return boot->rank == rcx_boot_lowest(boot) ? survey_for_node(context, s)
                                               : survey_by_other(context, s);
}

static void learn_of_machine(struct rcx_context *context,
                             const struct survey *s)
{
    const int size = context->boot->size;
    const int cores = CPU_COUNT(&s->found.cpus);
    uint64_t on_node = 0;

    for (int i = 0; i < size; i++)
        on_node += s->digest->places[i].node == s->me.node;
    context->cores = s->found.ranks == (uint64_t)size ? cores : 0;
    context->shares_cores = s->found.ranks > (uint64_t)cores;
    context->is_split = s->found.ranks > on_node;
}

/* Ranks that take turns on a core, where each is bound to one. False: no memory. */
static bool map_cores(struct rcx_context *context, const struct place places[],
                      uint64_t ids[])
{
    const int size = context->boot->size;

    for (int i = 0; i < size; i++) {
        if (places[i].cpu == UNBOUND)
            return true;
        ids[i] = (uint64_t)places[i].cpu;
    }
    if (!rcx_nodes_map(&context->heap, ids, size, &context->by_core))
        return false;
    if (context->by_core)
        context->by_core->are_cores = true;
    return true;
}

static rcx_status_t map_places(struct rcx_context *context,
                               const struct place places[])
{
    const size_t size = (size_t)context->boot->size;
    uint64_t *ids = rcx_heap_alloc(&context->heap, size * sizeof *ids);
    bool good;

    for (size_t i = 0; ids && i < size; i++)
        ids[i] = places[i].node;
    good =
        ids && rcx_nodes_map(&context->heap, ids, (int)size, &context->nodes);
    if (good && !context->nodes && context->shares_cores)
        good = map_cores(context, places, ids);
    rcx_heap_free(&context->heap, ids);
    return good ? RCX_OK
                : rcx_fail(&context->log, RCX_ERR_NOMEM,
                           "no memory for a map of nodes");
}

rcx_status_t rcx_peer_learn(struct rcx_context *context)
{
    const struct rcx_boot *boot = context->boot;
    struct survey s = {.odd = -1, .wrong = -1};
    rcx_status_t status;

    describe_self(context, &s.me);
    context->credit_bytes = s.found.credit_bytes = s.me.credit_bytes;
    context->ahead = s.found.ahead = s.me.ahead;
    if (boot->one_process) { /* others may not have published yet */
        look_at(&s, 0, false, &s.me);
        s.is_said[RCX_CONFIG_ERRORS] = s.is_said[RCX_CONFIG_WARNINGS] =
            boot->rank > 0;
        context->shares_cores = boot->size > CPU_COUNT(&s.me.cpus);
        return judge(context, &s);
    }
    s.digest_bytes =
        sizeof *s.digest + (size_t)boot->size * sizeof *s.digest->places;
    s.digest = rcx_heap_zalloc(&context->heap, s.digest_bytes);
    if (!s.digest)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a map of nodes");
    status = find_out(context, &s);
    if (status == RCX_OK) {
        context->credit_bytes = s.found.credit_bytes;
        context->ahead = s.found.ahead;
        learn_of_machine(context, &s);
        status = judge(context, &s);
    }
    if (status == RCX_OK)
        status = map_places(context, s.digest->places);
    rcx_heap_free(&context->heap, s.digest);
    return status;
}
