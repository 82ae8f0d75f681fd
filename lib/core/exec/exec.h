/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The executor: runs plans. A plan is read-only; all that changes while it
 * runs lives in an execution.
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
    const int *endpoints; /* the context's rank of each; NULL: equal */
    int rank;             /* the context's */
};

struct rcx_exec {
    const struct rcx_plan *plan;
    struct rcx_transport *transport;
    const struct rcx_reducer *reducer;
    struct rcx_exec *next; /* of the pool's idle ones */
    char *base[RCX_BUFFER_COUNT];
    struct rcx_tag_layout layout;
    uint64_t tag_base;
    size_t elem_bytes;
    rcx_status_t status;    /* the first error; sends are empty from then */
    int lost;               /* the peer of the message that is */
    uint32_t steps_left;    /* abandoned: messages under way */
    uint32_t first_message; /* the queue of ready steps: messages from */
    uint32_t last_message;  /* the front, local work from the back; what */
    uint32_t first_local;   /* is ready at the start stays in its place */
    uint32_t last_local;
    uint32_t ready_messages;
    uint32_t ready_local;
    bool takes_less;  /* what comes may be shorter than what is due */
    bool is_in_order; /* each step was over when the next began, until now */
    struct rcx_message **queue;
    struct rcx_message **order;   /* of steps, where each is over at once; */
    struct rcx_message **due;     /* in it: the first that is not */
    struct rcx_message *messages; /* per step */
    void *home;                   /* the pool it goes back to */
    /* the vector of RCX's own small calls: it lives as long as messages do */
    _Alignas(16) unsigned char own[RCX_EXEC_OWN_BYTES];
    void *owner;
    uint64_t segment; /* of the owner's operation */
};

/* Bytes of an execution of plan, all arrays included; and its layout. */
size_t rcx_exec_bytes(const struct rcx_plan *plan);
void rcx_exec_init(struct rcx_exec *x, const struct rcx_plan *plan,
                   const struct rcx_exec_setting *setting);

/* Step i of its plan is another one, or its elem_bytes are. */
void rcx_exec_set_step(struct rcx_exec *x, uint32_t i);

/*
 * Start: base and tag_base are set by the caller. True: it is over already,
 * with x->status; complete, or with steps left, since a message of x->lost is
 * lost and x is to be abandoned. False: rcx_exec_go_on() comes next, which says
 * the same; in between is time for what need not be done before the first
 * messages travel. A message without which nothing goes on is looked for so many
 * times.
 */
bool rcx_exec_begin(struct rcx_exec *x);
bool rcx_exec_go_on(struct rcx_exec *x, unsigned polls);
static inline bool rcx_exec_start(struct rcx_exec *x)
{
    return rcx_exec_begin(x) || rcx_exec_go_on(x, 0);
}

/* The same of a plan that is one receive: of the first message whose tag is
 * tag_base where mask has ones. It may be shorter, and is known by its tag;
 * RCX_ERR_TRUNCATED: it is longer. */
bool rcx_exec_start_masked(struct rcx_exec *x, uint64_t mask);

/* Take a completed message into account. True: x is over, as above. */
bool rcx_exec_advance(struct rcx_exec *x, struct rcx_message *m);

/*
 * Give x up: it starts no step any more, has no owner, and is over when
 * steps_left messages have completed; receives are cancelled. Nothing that
 * completed may be left to be told by rcx_exec_advance().
 */
void rcx_exec_detach(struct rcx_exec *x);
/* Messages of a kind that are under way. */
uint32_t rcx_exec_under_way(const struct rcx_exec *x, enum rcx_step_kind kind);
/* Ranks that x has messages with under way; how many, at most most. */
int rcx_exec_peers(const struct rcx_exec *x, int peers[], int most);

#endif
