/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each rank publishes at start: a header of constant size, followed by the
 * address of its transport. run/context/config_check.c fills in the header and
 * compares it with those of other ranks.
 */
#ifndef RCX_CORE_IFACE_PEER_H
#define RCX_CORE_IFACE_PEER_H

#include <sched.h>

#include "core/base/places.h"
#include "core/iface/bootstrap.h"
#include "core/sched/schedule.h"

/* SETTINGS: hashes of settings that must be equal on all ranks. LINES: hashes
 * of lines about the environment, errors and warnings. */
enum {
    RCX_PEER_TEXT = 64,
    RCX_PEER_SETTINGS = RCX_COLL_COUNT + 6,
    RCX_PEER_LINES = 2,
    RCX_PEER_VERSION =
        RCX_VERSION_MAJOR << 20 | RCX_VERSION_MINOR << 10 | RCX_VERSION_PATCH
};

/* The layout on the wire. A change needs another wire version. */
struct rcx_peer_header {
    char magic[4];
    uint32_t wire_version;
    uint64_t address_bytes;
    char transport[RCX_PEER_TEXT]; /* name and version */
    char host[RCX_PEER_TEXT];      /* for texts */
    char kernel[RCX_PEER_TEXT];    /* rcx_kernel_id(): equal on one machine */
    cpu_set_t cpus;                /* that the rank may run on */
    uint64_t settings[RCX_PEER_SETTINGS];
    uint64_t ack_bytes;
    uint64_t ahead;
    uint64_t lines[RCX_PEER_LINES]; /* lines that it has to log; 0: none */
    uint64_t node;                  /* rcx_boot_node() */
    struct rcx_place place;         /* within the machine */
    uint32_t job;         /* of rank 0: number of the job in status pages */
    uint32_t version;     /* RCX_PEER_VERSION */
    uint32_t user;        /* the effective user, in its namespace of users */
    uint64_t user_space;  /* that namespace */
    uint64_t methods;     /* rcx_method_sources */
    uint64_t address_sum; /* checksum of the address */
    uint64_t sum;         /* checksum of the header, up to here */
};

/* Fill in what describes the library, the host, the kernel and the user; all
 * else is 0. */
void rcx_peer_header_init(struct rcx_peer_header *h);

/* Write the checksums of a blob that is bytes long. A blob shorter than a
 * header stays unchanged. Tests that alter a blob on purpose seal it again. */
void rcx_peer_seal(void *blob, size_t bytes);

/*
 * Copy the header that rank has published, and point to the address behind it,
 * which stays valid until boot is closed. RCX_ERR_LAUNCH, logged: it is too
 * short, of another library, or altered. Does not check the address's own
 * checksum.
 */
rcx_status_t rcx_peer_lookup(struct rcx_boot *boot, const struct rcx_log *log,
                             int rank, struct rcx_peer_header *h,
                             const void **address_p);

/* The address of a peer's transport. version is the caller's own.
 * RCX_ERR_LAUNCH, logged: as above, or the peer's transport has another
 * version. */
rcx_status_t rcx_peer_address(struct rcx_boot *boot, const struct rcx_log *log,
                              int rank, const char *version,
                              const void **address_p, size_t *bytes_p);

/* The node of a peer, which has published it; 0: not known. */
uint64_t rcx_peer_node(struct rcx_boot *boot, const struct rcx_log *log,
                       int rank);

/* The host that a peer runs on; "?" if not known. */
void rcx_peer_host(struct rcx_boot *boot, const struct rcx_log *log, int rank,
                   char *text, size_t bytes);

#endif
