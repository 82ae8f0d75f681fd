/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blob that each rank publishes: a header of constant size, then the
 * transport's address. All ranks read it at start, since ranks with different
 * settings would wait for each other for ever.
 */
#include "core/run/peer.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { WIRE_VERSION = 3, TEXT = 64 };

struct header {
    char magic[4];
    uint32_t wire_version;
    uint64_t address_bytes;
    char transport[TEXT]; /* its name and version */
    char host[TEXT];
    char boot_id[TEXT];   /* tells hosts of one name apart */
    cpu_set_t cpus;       /* where the rank may run */
    uint64_t settings[RCX_SHARED_SETTINGS];
    uint64_t credit_bytes;
};

void rcx_kernel_id(char *text, size_t bytes)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (!file || !fgets(text, (int)bytes, file))
        text[0] = '\0';
    if (file)
        fclose(file);
}

static void describe_self(const struct rcx_context *context, struct header *h)
{
    *h = (struct header){.magic = "RCX", .wire_version = WIRE_VERSION};
    if (context->transport) {
        context->transport->ops->version(h->transport, sizeof h->transport);
        h->credit_bytes = context->transport->credit_bytes;
    }
    gethostname(h->host, sizeof h->host - 1);
    rcx_kernel_id(h->boot_id, sizeof h->boot_id);
    CPU_ZERO(&h->cpus);
    sched_getaffinity(0, sizeof h->cpus, &h->cpus);
    rcx_config_hash(&context->config, h->settings);
}

rcx_status_t rcx_peer_publish(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    const void *address = NULL;
    size_t address_bytes = 0;
    rcx_status_t status = RCX_OK;
    struct header *blob;

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
    status = context->boot->ops->publish(context->boot, blob,
                                         sizeof *blob + address_bytes);
    rcx_heap_free(&context->heap, blob);
    return status;
}

static rcx_status_t look_up(struct rcx_boot *boot, const struct rcx_log *log,
                            int rank, struct header *h, const void **rest_p)
{
    const void *blob;
    size_t bytes;
    rcx_status_t status = boot->ops->lookup(boot, rank, &blob, &bytes);

    if (status != RCX_OK)
        return status;
    if (bytes < sizeof *h)
        return rcx_fail(log, RCX_ERR_LAUNCH,
                        "rank %d published %zu bytes, not RCX's %zu and more: "
                        "do all ranks run the same version of RCX?",
                        rank, bytes, sizeof *h);
    memcpy(h, blob, sizeof *h);
    if (memcmp(h->magic, "RCX", 4) != 0 || h->wire_version != WIRE_VERSION ||
        h->address_bytes != bytes - sizeof *h)
        return rcx_fail(log, RCX_ERR_LAUNCH,
                        "rank %d speaks wire version %u of RCX, this one %d: "
                        "all ranks need the same library", rank,
                        h->wire_version, WIRE_VERSION);
    *rest_p = (const char *)blob + sizeof *h;
    return RCX_OK;
}

rcx_status_t rcx_peer_address(struct rcx_boot *boot, const struct rcx_log *log,
                              int rank, const char *version,
                              const void **address_p, size_t *bytes_p)
{
    struct header h;
    const void *rest;
    const rcx_status_t status = look_up(boot, log, rank, &h, &rest);

    if (status != RCX_OK)
        return status;
    h.transport[TEXT - 1] = '\0';
    if (strcmp(h.transport, version) != 0)
        return rcx_fail(log, RCX_ERR_LAUNCH,
                        "rank %d runs over %s, this one over %s: all ranks "
                        "need the same", rank, h.transport, version);
    *address_p = rest;
    *bytes_p = h.address_bytes;
    return RCX_OK;
}

void rcx_peer_host(struct rcx_boot *boot, const struct rcx_log *log, int rank,
                   char *text, size_t bytes)
{
    struct header h;
    const void *rest;
    const bool known = look_up(boot, log, rank, &h, &rest) == RCX_OK;

    h.host[TEXT - 1] = '\0';
    snprintf(text, bytes, "%s", known ? h.host : "?");
}

static rcx_status_t compare(struct rcx_context *context, int rank,
                            const uint64_t mine[RCX_SHARED_SETTINGS])
{
    struct header peer;
    const void *rest;
    const rcx_status_t status =
        look_up(context->boot, &context->log, rank, &peer, &rest);

    if (status != RCX_OK)
        return status;
    for (int i = 0; i < RCX_SHARED_SETTINGS; i++)
        if (peer.settings[i] != mine[i])
            return rcx_fail(&context->log, RCX_ERR_CONFIG,
                            "%s is not that of rank %d: RCX_ variables, and "
                            "the order given to rcx_init(), must be equal on "
                            "all ranks", rcx_config_shared_name(i), rank);
    if (peer.credit_bytes < context->credit_bytes)
        context->credit_bytes = peer.credit_bytes;
    return RCX_OK;
}

rcx_status_t rcx_peer_compare_settings(struct rcx_context *context)
{
    const struct rcx_boot *boot = context->boot;
    uint64_t mine[RCX_SHARED_SETTINGS];
    rcx_status_t status = RCX_OK;

    rcx_config_hash(&context->config, mine);
    if (context->transport)
        context->credit_bytes = context->transport->credit_bytes;
    /* the others in this process may not have published yet */
    for (int i = 0; i < boot->size && !boot->one_process; i++)
        if (i != boot->rank && status == RCX_OK)
            status = compare(context, i, mine);
    return status;
}

static bool same_host(const struct header *a, const struct header *b)
{
    return memcmp(a->host, b->host, sizeof a->host) == 0 &&
           memcmp(a->boot_id, b->boot_id, sizeof a->boot_id) == 0;
}

/*
 * More ranks of this host than cores that they may use, all together. Looks at
 * no peer where own cores suffice for as many ranks as there are.
 */
bool rcx_peer_cores_are_shared(struct rcx_context *context)
{
    struct rcx_boot *boot = context->boot;
    const int local = boot->local_size ? boot->local_size : boot->size;
    struct header me, peer;
    cpu_set_t all;
    int ranks = 0;

    describe_self(context, &me);
    if (local <= CPU_COUNT(&me.cpus) || boot->one_process)
        return local > CPU_COUNT(&me.cpus);
    CPU_ZERO(&all);
    for (int i = 0; i < (boot->local_ranks ? local : boot->size); i++) {
        const int rank = boot->local_ranks ? boot->local_ranks[i] : i;
        const void *rest;

        if (look_up(boot, &context->log, rank, &peer, &rest) != RCX_OK ||
            !same_host(&me, &peer))
            continue;
        CPU_OR(&all, &all, &peer.cpus);
        ranks++;
    }
    return ranks > CPU_COUNT(&all);
}
