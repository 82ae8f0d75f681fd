/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point to point: a message is an operation whose program has one step. That is
 * made anew for each, in a place which is kept, so that lengths and tags that
 * change all the time do not crowd the cache.
 *
 * Messages are apart from collectives: they take no sequence number, whose
 * window one that is received late would close; ranks need not have as many, so
 * they have a list, numbers and a recorder of their own.
 */
#ifndef RCX_CORE_RUN_P2P_H
#define RCX_CORE_RUN_P2P_H

#include "core/run/program.h"

struct rcx_request;

/* What is asked for; checked. */
struct rcx_p2p_call {
    bool sends;
    char *buffer;
    size_t count;
    rcx_datatype_t type;
    size_t elem_bytes;
    int peer; /* of the communicator; RCX_ANY_SOURCE */
    int tag;
};

struct rcx_p2p {
    struct rcx_piece piece;
    struct rcx_plan plan;
    struct rcx_step step;
    struct rcx_p2p_call call;
    uint64_t tag, mask;
    bool has_info; /* a message came */
    rcx_recv_info_t info;
    struct rcx_p2p *next;       /* of the idle ones */
    struct rcx_program program; /* comes last: its end is open */
};

static inline struct rcx_p2p *rcx_p2p_of(struct rcx_program *program)
{
    char *p = (char *)program - offsetof(struct rcx_p2p, program);

    return (struct rcx_p2p *)(void *)p;
}

/* A communicator's. */
struct rcx_mail {
    struct rcx_recorder recorder;
    struct rcx_p2p *idle;
    uint64_t warned; /* of the wait for the message of this number */
    struct rcx_request **end;
    struct rcx_request *first; /* active ones in the order of their start */
};

void rcx_mail_open(struct rcx_mail *mail, struct rcx_heap *heap);
/* All its programs were put back. */
void rcx_mail_close(struct rcx_mail *mail);

/* A program for call, with one pin, and back. Errors are logged. */
rcx_status_t rcx_p2p_get(struct rcx_comm *comm, const struct rcx_p2p_call *call,
                         struct rcx_p2p **p_p);
void rcx_p2p_put(struct rcx_mail *mail, struct rcx_p2p *p);

/* Start x, an execution of it. True: it is over already. */
bool rcx_p2p_start(struct rcx_p2p *p, struct rcx_exec *x);

/* A receive's execution is over with status: see what came, and what is to be
 * said of it. */
rcx_status_t rcx_p2p_judge(struct rcx_p2p *p, const struct rcx_comm *comm,
                           const struct rcx_exec *x, rcx_status_t status);

/* Whether a message to comm, which is freed, has come that nobody has received;
 * says so, and the consequence. */
bool rcx_mail_is_left(const struct rcx_comm *comm, const char *consequence);

/* "receive of up to 24 int64 from rank 3, tag 7" */
int rcx_p2p_print(const struct rcx_p2p *p, char *text, size_t bytes);

#endif
