/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The executor: runs plans. A plan is constant; what changes while it runs is
 * in its execution.
 */
#ifndef RCX_CORE_EXEC_EXEC_H
#define RCX_CORE_EXEC_EXEC_H

#include "core/exec/tag.h"
#include "core/iface/transport.h"
#include "core/op/reducer.h"
#include "core/sched/schedule.h"

enum { RCX_EXEC_OWN_BYTES = 96 };

/* What all runs of an execution have in common. */
struct rcx_exec_setting {
    struct rcx_transport *transport;
    const struct rcx_reducer *reducer;
    struct rcx_tag_layout layout;
    const int *endpoints; /* ranks in the context; NULL: equal */
    int rank;             /* in the context */
};

struct rcx_exec {
    const struct rcx_plan *plan;
    struct rcx_transport *transport;
    const struct rcx_reducer *reducer;
    struct rcx_exec *next; /* in the pool's list of idle ones */
    char *base[RCX_BUFFER_COUNT];
    struct rcx_tag_layout layout;
    uint64_t tag_base;
    size_t elem_bytes;
    rcx_status_t status;    /* the first error; sends are empty from then on */
    int lost;               /* the peer of the lost message */
    uint32_t steps_left;    /* detached: messages in flight */
    uint32_t first_message; /* the queue of ready steps: messages from */
    uint32_t last_message;  /* the front, local work from the back; what */
    uint32_t first_local;   /* is ready at the start keeps its place */
    uint32_t last_local;
    uint32_t ready_messages;
    uint32_t ready_local;
    bool takes_less;  /* a message may be shorter than its receive */
    bool is_in_order; /* each step has completed before the next began */
    struct rcx_message **queue;
    struct rcx_message **order;   /* of steps, while each completes at once */
    struct rcx_message **due;     /* in it: the first that is not complete */
    struct rcx_message *messages; /* per step */
    void *home;                   /* the pool that it belongs to */
    /* the vector of RCX's own small calls: it lives as long as messages do */
    _Alignas(16) unsigned char own[RCX_EXEC_OWN_BYTES];
    void *owner;
    uint64_t segment; /* of the owner's operation */
};

/* Bytes of an execution of plan, with all arrays; and its layout. */
size_t rcx_exec_bytes(const struct rcx_plan *plan);
void rcx_exec_init(struct rcx_exec *x, const struct rcx_plan *plan,
                   const struct rcx_exec_setting *setting);

/* Step i of its plan, or its elem_bytes, have changed. */
void rcx_exec_set_step(struct rcx_exec *x, uint32_t i);

/*
 * Start an execution whose base and tag_base are set. True: it is over, with
 * x->status: complete, or with steps left, as a message with x->lost is lost
 * and x must be detached. False: call rcx_exec_go_on() next, which returns the
 * same; work that need not precede the first messages fits between. polls: how
 * often a message that all others wait for is polled for.
 */
bool rcx_exec_begin(struct rcx_exec *x);
bool rcx_exec_go_on(struct rcx_exec *x, unsigned polls);
static inline bool rcx_exec_start(struct rcx_exec *x)
{
    return rcx_exec_begin(x) || rcx_exec_go_on(x, 0);
}

/* The same for a plan of one receive: of the first message whose tag agrees
 * with tag_base where mask has ones. It may be shorter than the buffer.
 * RCX_ERR_TRUNCATED: it is longer. */
bool rcx_exec_start_masked(struct rcx_exec *x, uint64_t mask);

/* Handle a completed message. True: x is over, as above. */
bool rcx_exec_advance(struct rcx_exec *x, struct rcx_message *m);

/*
 * Detach x: it starts no further step, has no owner, and is over when
 * steps_left messages have completed. Its receives are cancelled. All completed
 * messages must have been handled.
 */
void rcx_exec_detach(struct rcx_exec *x);
/* Messages of a kind that are in flight. */
uint32_t rcx_exec_under_way(const struct rcx_exec *x, enum rcx_step_kind kind);
/* Ranks that x has messages in flight with. Returns how many, at most most. */
int rcx_exec_peers(const struct rcx_exec *x, int peers[], int most);

#endif
