/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the executor needs of a network: tagged messages and progress.
 * Implementations: lib/transport.
 */
#ifndef RCX_CORE_TRANSPORT_H
#define RCX_CORE_TRANSPORT_H

#include <stdbool.h>

#include "core/bootstrap.h"

struct rcx_transport;

/*
 * A message under way. The transport completes it by rcx_message_complete()
 * from inside progress, or by its return value; never both.
 */
struct rcx_message {
    struct rcx_message *next; /* in the list of completed ones */
    void *owner;
    struct rcx_transport *transport; /* where it is under way */
    uint32_t step;
    rcx_status_t status;
    size_t bytes;             /* of a receive: what arrived */
};

struct rcx_transport {
    const struct rcx_transport_ops *ops;
    struct rcx_message *done; /* completed, not yet taken by the engine */
    struct rcx_message **done_end;
};

static inline void rcx_transport_reset_done(struct rcx_transport *t)
{
    t->done = NULL;
    t->done_end = &t->done;
}

static inline void rcx_message_complete(struct rcx_transport *t,
                                        struct rcx_message *m,
                                        rcx_status_t status)
{
    m->status = status;
    m->next = NULL;
    *t->done_end = m;
    t->done_end = &m->next;
}

struct rcx_transport_args {
    struct rcx_boot *boot;
    struct rcx_heap *heap;
    struct rcx_log *log;
};

struct rcx_transport_ops {
    const char *name;
    /* version text, for rcx_info */
    void (*version)(char *text, size_t bytes);

    /* Open, and give the address that peers need. */
    rcx_status_t (*open)(const struct rcx_transport_args *args,
                         struct rcx_transport **t_p);
    rcx_status_t (*address)(struct rcx_transport *t, const void **address_p,
                            size_t *bytes_p);

    /*
     * RCX_OK: done at once (recv: m->bytes is set). RCX_IN_PROGRESS: m is
     * completed later, by progress. Errors are logged.
     */
    rcx_status_t (*send)(struct rcx_transport *t, int peer, const void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m);
    rcx_status_t (*recv)(struct rcx_transport *t, int peer, void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m);

    /* Events handled. */
    unsigned (*progress)(struct rcx_transport *t);

    /* Close all connections, with progress; then free t. The barriers around
     * it are the context's. */
    void (*disconnect)(struct rcx_transport *t);
    void (*close)(struct rcx_transport *t);
};

/* The networks compiled in, best first, ended by NULL. */
extern const struct rcx_transport_ops *const rcx_transport_table[];

/* Where a transport finds its peers; version is its own, and must be theirs. */
rcx_status_t rcx_peer_address(struct rcx_boot *boot, const struct rcx_log *log,
                              int rank, const char *version,
                              const void **address_p, size_t *bytes_p);

#endif
