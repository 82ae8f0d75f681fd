/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The executor: runs plans. A plan is constant; the state of a run is in an
 * execution.
 */
#ifndef RCX_CORE_EXEC_EXEC_H
#define RCX_CORE_EXEC_EXEC_H

#include "core/exec/tag.h"
#include "core/iface/transport.h"
#include "core/op/reducer.h"
#include "core/sched/schedule.h"

enum { RCX_EXEC_OWN_BYTES = 96 };

/* Settings of all runs of an execution. */
struct rcx_exec_setting {
    struct rcx_transport *transport;
    const struct rcx_reducer *reducer;
    struct rcx_tag_layout layout;
    const int *endpoints; /* context's rank of each rank of the communicator;
                             NULL: equal */
    int rank;             /* this rank in the context */
    bool is_stepwise;     /* no reductions are fused, as with long vectors */
    bool streams;         /* final data bypasses the caches */
};

struct rcx_exec {
    const struct rcx_plan *plan;
    struct rcx_transport *transport;
    const struct rcx_reducer *reducer;
    struct rcx_exec *next; /* next idle execution of the pool */
    char *base[RCX_BUFFER_COUNT];
    struct rcx_tag_layout layout;
    uint64_t tag_base;
    size_t elem_bytes;
    rcx_status_t status; /* the first error; from then on sends are empty */
    int lost; /* peer of the lost message, a rank of the communicator */
    uint32_t steps_left; /* steps that are not complete; detached: messages in
                            flight */
    /* The queue of ready steps: messages from the front, local work from the
     * back. Steps that are ready at the start keep their slots there, so later
     * runs find them. */
    uint32_t first_message;
    uint32_t last_message;
    uint32_t first_local;
    uint32_t last_local;
    uint32_t ready_messages;
    uint32_t ready_local;
    bool is_stepwise; /* as in the setting */
    bool streams;     /* the same; a change is followed by
                         rcx_exec_set_step() */
    bool takes_less;  /* a message may be shorter than its receive */
    bool is_in_order; /* each step has completed before the next one began */
    struct rcx_message **queue;
    struct rcx_message **order;   /* order of steps while each one completes at
                                     once */
    struct rcx_message **due;     /* in order: the first step that is not
                                     complete */
    struct rcx_message *messages; /* one per step */
    void *home;                   /* the pool that this execution belongs to */
    const struct rcx_message *packed; /* a send whose data own[] has; NULL:
                                         none yet */
    /* The vector of RCX's own small calls, or the packed data of a send. It is
     * valid as long as messages are in flight. */
    _Alignas(16) unsigned char own[RCX_EXEC_OWN_BYTES];
    void *owner;
    uint64_t segment; /* number of the segment in the owner's operation */
};

/* Integers are added, since an empty buffer may be NULL. */
static inline char *rcx_exec_at(const struct rcx_exec *x, unsigned buffer,
                                size_t offset)
{
    return (char *)((uintptr_t)x->base[buffer] + offset);
}

/* Bytes of an execution of plan, with all arrays. Initialise an execution. */
size_t rcx_exec_bytes(const struct rcx_plan *plan);
void rcx_exec_init(struct rcx_exec *x, const struct rcx_plan *plan,
                   const struct rcx_exec_setting *setting);

/* Update x after a change of step i of its plan, or of x->elem_bytes. */
void rcx_exec_set_step(struct rcx_exec *x, uint32_t i);

/*
 * Start an execution whose base and tag_base are set. True: x is over, with
 * x->status. If steps are left, a message to or from x->lost is lost, and x
 * must be detached. False: call rcx_exec_go_on() next, which returns the same.
 * Work that need not precede the first messages can be done in between. polls:
 * how often to poll for a message that all other steps wait for.
 */
bool rcx_exec_begin(struct rcx_exec *x);
bool rcx_exec_go_on(struct rcx_exec *x, unsigned polls);
static inline bool rcx_exec_start(struct rcx_exec *x)
{
    return rcx_exec_begin(x) || rcx_exec_go_on(x, 0);
}

/* The same for a plan of one receive. It receives the first message whose tag
 * agrees with tag_base where mask has ones. The message may be shorter than the
 * buffer. RCX_ERR_TRUNCATED: it is longer. */
bool rcx_exec_start_masked(struct rcx_exec *x, uint64_t mask);

/* Handle a completed message, and start the steps that it makes ready. True: x
 * is over, as above. */
bool rcx_exec_advance(struct rcx_exec *x, struct rcx_message *m);

/*
 * Detach x: it starts no further step and has no owner. It is over when
 * steps_left messages have completed. Its receives are cancelled, and its sends
 * if the transport can. All completed messages must have been handled.
 */
void rcx_exec_detach(struct rcx_exec *x);
/* Number of messages of a kind that are in flight. */
uint32_t rcx_exec_under_way(const struct rcx_exec *x, enum rcx_step_kind kind);
/* Store the ranks that x has messages in flight with, up to most of them.
 * Returns their number. */
int rcx_exec_peers(const struct rcx_exec *x, int peers[], int most);

#endif
