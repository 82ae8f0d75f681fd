/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what ranks have published. Every field is checked before it is used: a
 * bootstrap may deliver anything.
 */
#include "core/iface/peer.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/host.h"
#include "core/sched/method.h"

/* A header with another number of settings is another version. */
enum { WIRE_VERSION = 14 << 8 | RCX_PEER_SETTINGS };

static uint64_t sum_of(const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint64_t sum = n, word;

    for (; n >= sizeof word; n -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = rcx_hash(sum, word);
    }
    word = 0;
    if (n > 0)
        memcpy(&word, at, n);
    return rcx_hash(sum, word);
}

static uint64_t sum_of_header(const struct rcx_peer_header *h)
{
    return sum_of(h, offsetof(struct rcx_peer_header, sum));
}

void rcx_peer_header_init(struct rcx_peer_header *h)
{
    struct stat s;

    *h = (struct rcx_peer_header){.magic = "RCX",
                                  .wire_version = WIRE_VERSION,
                                  .user = geteuid(),
                                  .methods = rcx_method_sources,
                                  .version = RCX_PEER_VERSION};
    if (stat("/proc/self/ns/user", &s) == 0)
        h->user_space = s.st_ino;
    gethostname(h->host, sizeof h->host - 1);
    rcx_kernel_id(h->kernel, sizeof h->kernel);
}

void rcx_peer_seal(void *blob, size_t bytes)
{
    struct rcx_peer_header h;

    if (bytes < sizeof h)
        return;
    memcpy(&h, blob, sizeof h);
    h.address_sum = sum_of((const char *)blob + sizeof h, bytes - sizeof h);
    h.sum = sum_of_header(&h);
    memcpy(blob, &h, sizeof h);
}

static rcx_status_t report_damage(const struct rcx_log *log, int rank)
{
    return rcx_fail(log, RCX_ERR_LAUNCH,
                    "the address that rank %d published arrived corrupt "
                    "(checksum differs): check the bootstrap",
                    rank);
}

/* Ranks with other prices or algorithms would wait for each other. */
static rcx_status_t check_library(const struct rcx_log *log, int rank,
                                  const struct rcx_peer_header *h)
{
    const unsigned v = h->version;

    if (h->version != RCX_PEER_VERSION)
        return rcx_fail(log, RCX_ERR_LAUNCH,
                        "rank %d has RCX %u.%u.%u, this rank %s: all ranks "
                        "need the same library",
                        rank, v >> 20, v >> 10 & 1023, v & 1023, rcx_version());
    if (h->methods != rcx_method_sources)
        return rcx_fail(log, RCX_ERR_LAUNCH,
                        "rank %d has another build of RCX %s, with other "
                        "algorithms or prices: all ranks need the same library",
                        rank, rcx_version());
    return RCX_OK;
}

rcx_status_t rcx_peer_lookup(struct rcx_boot *boot, const struct rcx_log *log,
                             int rank, struct rcx_peer_header *h,
                             const void **address_p)
{
    const void *blob;
    size_t bytes;
    rcx_status_t status = boot->ops->lookup(boot, rank, &blob, &bytes);

    if (status != RCX_OK)
        return status;
    if (bytes < sizeof *h)
        return rcx_fail(log, RCX_ERR_LAUNCH,
                        "rank %d published %zu bytes, expected %zu or more: do "
                        "all ranks run the same version of RCX?",
                        rank, bytes, sizeof *h);
    memcpy(h, blob, sizeof *h);
    if (memcmp(h->magic, "RCX", 4) != 0 || h->wire_version != WIRE_VERSION ||
        h->address_bytes != bytes - sizeof *h)
        return rcx_fail(log, RCX_ERR_LAUNCH,
                        "rank %d has wire version %u of RCX, this rank %d: all "
                        "ranks need the same library",
                        rank, h->wire_version, WIRE_VERSION);
    if (h->sum != sum_of_header(h))
        return report_damage(log, rank);
    status = check_library(log, rank, h);
    if (status == RCX_OK)
        *address_p = (const char *)blob + sizeof *h;
    return status;
}

rcx_status_t rcx_peer_address(struct rcx_boot *boot, const struct rcx_log *log,
                              int rank, const char *version,
                              const void **address_p, size_t *bytes_p)
{
    struct rcx_peer_header h;
    const void *address;
    const rcx_status_t status = rcx_peer_lookup(boot, log, rank, &h, &address);

    if (status != RCX_OK)
        return status;
    h.transport[RCX_PEER_TEXT - 1] = '\0';
    if (strcmp(h.transport, version) != 0)
        return rcx_fail(log, RCX_ERR_LAUNCH,
                        "rank %d uses %s, this rank %s: all ranks need the "
                        "same",
                        rank, h.transport, version);
    if (h.address_sum != sum_of(address, h.address_bytes))
        return report_damage(log, rank);
    *address_p = address;
    *bytes_p = h.address_bytes;
    return RCX_OK;
}

uint64_t rcx_peer_node(struct rcx_boot *boot, const struct rcx_log *log,
                       int rank)
{
    struct rcx_peer_header h;
    const void *address;

    return rcx_peer_lookup(boot, log, rank, &h, &address) == RCX_OK ? h.node
                                                                    : 0;
}

void rcx_peer_host(struct rcx_boot *boot, const struct rcx_log *log, int rank,
                   char *text, size_t bytes)
{
    struct rcx_peer_header h;
    const void *address;
    const bool known = rcx_peer_lookup(boot, log, rank, &h, &address) == RCX_OK;

    h.host[RCX_PEER_TEXT - 1] = '\0';
    snprintf(text, bytes, "%s", known ? h.host : "?");
}
