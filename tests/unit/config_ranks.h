/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that compare what they have published, in one process: their headers
 * are where a test can alter them.
 */
#ifndef RCX_TESTS_UNIT_CONFIG_RANKS_H
#define RCX_TESTS_UNIT_CONFIG_RANKS_H

#include "test.h"

#include <string.h>
#include <unistd.h>

#include "bootstrap_side.h"
#include "core/iface/peer.h"
#include "core/run/context/config_check.h"

enum {
    RANKS = 3,
    MANY = 12,   /* on two nodes: even and odd ranks */
    SHORT = 100, /* bytes, less than a header */
    /* byte offsets in a header, which other versions rely on */
    MAGIC_AT = 0,
    WIRE_VERSION_AT = 4,
    ADDRESS_BYTES_AT = 8,
    NETWORK_AT = 16,
    NETWORK_BYTES = 64,
    KERNEL_AT = 144,
    CPUS_AT = 208
};

/* All ranks of a job. The bootstrap reads their blobs here. */
static struct rank {
    struct rcx_boot boot;
    struct rcx_transport transport;
    struct rcx_context context;
    struct lines lines;
    unsigned char blob[2048];
    size_t bytes;
    char address[16];
    int lookups; /* made by this rank */
} ranks[MANY];

/* The node summaries that the leaders of both nodes have sent. */
static struct {
    unsigned char blob[1024];
    size_t bytes;
} shown[2];

static inline rcx_status_t publish(struct rcx_boot *boot, const void *blob,
                                   size_t bytes)
{
    struct rank *r = (struct rank *)boot;

    assert_true(bytes <= sizeof r->blob);
    memcpy(r->blob, blob, bytes);
    r->bytes = bytes;
    return RCX_OK;
}

static inline rcx_status_t lookup(struct rcx_boot *boot, int rank,
                                  const void **blob_p, size_t *bytes_p)
{
    ((struct rank *)boot)->lookups++;
    *blob_p = ranks[rank].blob;
    *bytes_p = ranks[rank].bytes;
    return RCX_OK;
}

static inline rcx_status_t broadcast(struct rcx_boot *boot, const void *blob,
                                     size_t bytes, rcx_local_fn_t see,
                                     void *arg)
{
    const int node = boot->rank % 2;

    if (boot->rank == node) {
        assert_true(bytes <= sizeof shown->blob);
        memcpy(shown[node].blob, blob, bytes);
        shown[node].bytes = bytes;
    } else {
        see(node, shown[node].bytes == bytes ? shown[node].blob : NULL, arg);
    }
    return RCX_OK;
}

static inline rcx_status_t address(struct rcx_transport *t,
                                   const void **address_p, size_t *bytes_p)
{
    *address_p = ((struct rank *)((char *)t - offsetof(struct rank, transport)))
                     ->address;
    *bytes_p = sizeof ranks->address;
    return RCX_OK;
}

static inline void version_1(char *text, size_t bytes)
{
    snprintf(text, bytes, "NET 1");
}

static inline void version_2(char *text, size_t bytes)
{
    snprintf(text, bytes, "NET 2");
}

static const struct rcx_boot_ops boot = {.publish = publish, .lookup = lookup};
static const struct rcx_transport_ops net_1 = {.version = version_1,
                                               .address = address},
                                      net_2 = {.version = version_2,
                                               .address = address};

static inline void open_some(int n, const struct rcx_boot_ops *ops)
{
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < n; i++) {
        struct rank *r = &ranks[i];

        r->boot = (struct rcx_boot){.ops = ops, .rank = i, .size = n};
        r->transport.ops = &net_1;
        r->transport.ack_bytes = 1000;
        snprintf(r->address, sizeof r->address, "at %d", i);
        r->context.heap = RCX_HEAP_INIT;
        r->context.boot = &r->boot;
        r->context.transport = &r->transport;
        rcx_log_init(&r->context.log);
        r->context.log.fn = lines_keep;
        r->context.log.arg = &r->lines;
    }
}

/* Set-up: ranks with the same settings. */
static inline int open_all(void **state)
{
    (void)state;
    open_some(RANKS, &boot);
    return 0;
}

static inline void publish_all(void)
{
    for (int i = 0; i < RANKS; i++)
        assert_ok(rcx_config_publish(&ranks[i].context));
}

static inline rcx_status_t compare(int rank)
{
    return rcx_config_check(&ranks[rank].context);
}

/* Look up the address of rank 2 on rank 0. */
static inline rcx_status_t find(const void **address_p, size_t *bytes_p)
{
    return rcx_peer_address(&ranks[0].boot, &ranks[0].context.log, 2, "NET 1",
                            address_p, bytes_p);
}

/* rank has logged one line, which contains text. */
static inline void assert_logged(int rank, const char *text)
{
    assert_int_equal(ranks[rank].lines.count, 1);
    if (!strstr(ranks[rank].lines.last, text))
        fail_msg("\"%s\" is not in \"%s\"", text, ranks[rank].lines.last);
    ranks[rank].lines.count = 0;
}

#endif
