/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one representation of an algorithm: a list of steps over named buffers.
 *
 * A schedule names buffers and spans of elements, never addresses; ranks of
 * the communicator, never endpoints. It is a value: it can be cached, printed,
 * simulated, priced, and run many times at once.
 */
#ifndef RCX_CORE_SCHED_SCHEDULE_H
#define RCX_CORE_SCHED_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/heap.h"
#include "core/base/log.h"

enum rcx_coll {
    RCX_COLL_ALLREDUCE,
    RCX_COLL_REDUCE,
    RCX_COLL_REDUCE_SCATTER,
    RCX_COLL_BARRIER, /* RCX's own, too: start and end of a context's life */
    RCX_COLL_BCAST,
    RCX_COLL_GATHER,
    RCX_COLL_SCATTER,
    RCX_COLL_ALLGATHER,
    RCX_COLL_ALLTOALL,
    RCX_COLL_ALLTOALLV,
    RCX_COLL_SCAN,
    RCX_COLL_EXSCAN,
    RCX_COLL_COUNT
};

enum rcx_buffer { RCX_BUFFER_IN, RCX_BUFFER_OUT, RCX_BUFFER_TMP };
enum { RCX_BUFFER_COUNT = RCX_BUFFER_TMP + 1 };

/* How OUT lies over IN. */
enum rcx_alias {
    RCX_ALIAS_NONE,  /* apart */
    RCX_ALIAS_SAME,  /* OUT[x] is IN[x] */
    RCX_ALIAS_BLOCK, /* OUT is this rank's block of IN */
    RCX_ALIAS_OWN    /* IN is this rank's block of OUT */
};

enum { RCX_PARAMS = 3 }; /* the most that an algorithm has */

struct rcx_nodes;

/* Where a caller has blocks that do not lie side by side. */
struct rcx_places {
    const size_t *starts; /* of each block; NULL: side by side */
    size_t reach;         /* where the last one ends */
};

/* All that an algorithm may look at; it never sees places. */
struct rcx_shape {
    enum rcx_coll coll;
    int rank;
    int size;
    int root;              /* 0 where there is none */
    size_t count;          /* elements of the vector, of all its blocks */
    const size_t *displs;  /* size + 1 starts of its blocks; NULL: equal ones */
    const size_t *gotten;  /* the same of OUT's, where those are other ones */
    const size_t *passing; /* lengths of blocks that come on their way to others
                              or here, in the algorithm's order; NULL: the
                              same, of equal blocks */
    struct rcx_places in_places, out_places; /* in IN and OUT */
    size_t elem_bytes;
    enum rcx_alias alias;
    bool commutative;              /* the op commutes */
    const struct rcx_nodes *nodes; /* of all ranks, or their cores; NULL: nobody
                                      knows, or a phase's, which is on one side
                                      of links */
    int cores; /* that ranks may use, all of one machine; 0: nobody knows */
    const struct rcx_machine *machine; /* whose prices count; NULL: the usual */
    int64_t params[RCX_PARAMS]; /* the algorithm's, in the order of its list */
};

/* count elements of a buffer from offset on. It is copied eight bytes at a
 * time, for which a processor waits where fewer were just written. */
struct rcx_span {
    uint64_t buffer; /* an enum rcx_buffer */
    size_t offset;
    size_t count;
};

/* In the order in which ready steps are best issued: a message is on its way
 * while the receive that it answers is posted. */
enum rcx_step_kind {
    RCX_STEP_SEND,  /* peer gets left */
    RCX_STEP_RECV,  /* dst = what peer sends */
    RCX_STEP_COPY,  /* dst = left */
    RCX_STEP_REDUCE /* dst = left op right */
};
enum { RCX_STEP_KINDS = RCX_STEP_REDUCE + 1 };

static inline bool rcx_step_is_message(unsigned kind)
{
    return kind <= RCX_STEP_RECV;
}

struct rcx_step {
    uint8_t kind;
    uint8_t dst, left, right; /* buffers */
    int32_t peer;
    size_t dst_at, left_at, right_at;
    size_t count;     /* 0: an acknowledgement */
    uint32_t message; /* its number among the messages to, or from, peer */
    uint32_t waits;   /* steps that complete before this one starts */
    union {
        uint32_t first_successor;
        uint32_t pair; /* while it is built: see rcx_step_pair() */
    };
    uint32_t successor_count;
    uint32_t sink; /* of a RECV: the step that its data may be handed to,
                       plus one; 0: there is none */
};

/* Its spans; those that its kind has not are of no use. */
static inline struct rcx_span rcx_step_dst(const struct rcx_step *step)
{
    return (struct rcx_span){.buffer = (enum rcx_buffer)step->dst,
                             .offset = step->dst_at,
                             .count = step->count};
}
static inline struct rcx_span rcx_step_left(const struct rcx_step *step)
{
    return (struct rcx_span){.buffer = (enum rcx_buffer)step->left,
                             .offset = step->left_at,
                             .count = step->count};
}
static inline struct rcx_span rcx_step_right(const struct rcx_step *step)
{
    return (struct rcx_span){.buffer = (enum rcx_buffer)step->right,
                             .offset = step->right_at,
                             .count = step->count};
}

/* A finished schedule; read-only from then on. One block of memory. */
struct rcx_plan {
    uint32_t step_count;
    uint32_t ready_count; /* steps that wait for nothing */
    const struct rcx_step *steps;
    const uint32_t *successors;
    const uint32_t *ready; /* in the order of kinds */
    size_t scratch;        /* elements of TMP */
    size_t bytes;          /* of this block */
};

/*
 * The builder: algorithms append steps in program order, as their paper's
 * pseudo-code does. No call returns an error: the first failure latches, later
 * calls do nothing, and rcx_sched_finish() reports it.
 */
struct rcx_frame;
struct rcx_builder {
    struct rcx_heap *heap;
    const struct rcx_log *log;
    const struct rcx_shape *shape; /* inside of the frame */
    const struct rcx_frame *frame; /* through which steps go; NULL: none */
    struct rcx_step *steps;
    uint32_t step_count;
    uint32_t step_capacity;
    size_t scratch;
    uint32_t pair; /* that steps are of; 0: of none */
    uint32_t pair_window;
    rcx_status_t status;
    void *work; /* of rcx_sched_finish(), kept from one schedule to the next */
    size_t work_bytes;
};

void rcx_builder_init(struct rcx_builder *b, struct rcx_heap *heap,
                      const struct rcx_log *log);
void rcx_builder_free(struct rcx_builder *b);

/* Begin a schedule for shape, which stays valid until it is finished. */
void rcx_builder_begin(struct rcx_builder *b, const struct rcx_shape *shape);
void rcx_builder_fail(struct rcx_builder *b, rcx_status_t status);
/* The algorithm is wrong: fails, and says why. */
void rcx_builder_refuse(struct rcx_builder *b, const char *why);

/*
 * After an algorithm's last step: every peer that messages of least elements or
 * more came from gets an acknowledgement once all of its messages are here, and
 * every one that such messages went to sends one. See completion_ack.c.
 */
void rcx_sched_completion_ack(struct rcx_builder *b, size_t least);
/* One end of it, a SEND or a RECV. */
void rcx_step_ack(struct rcx_builder *b, enum rcx_step_kind kind, int peer);

/*
 * Infer from overlapping spans which step must wait for which (read after
 * write, write after read, write after write; IN and OUT are one buffer where
 * they alias), number the messages of each peer, and pack the plan. Message
 * i + message_window waits for message i, and an acknowledgement for all that
 * it is of. The caller frees the plan through
 * the builder's heap. Reports the first error of the builder.
 */
rcx_status_t rcx_sched_finish(struct rcx_builder *b, uint32_t message_window,
                              struct rcx_plan **plan_p);

/* Make builder->work at least bytes long; its content is lost. */
void *rcx_builder_work(struct rcx_builder *b, size_t bytes);

/* Where a span lies once IN and OUT are one buffer. */
struct rcx_span rcx_shape_resolve(const struct rcx_shape *s,
                                  struct rcx_span span);
/* Elements that this rank gives, and gets. */
size_t rcx_shape_in_count(const struct rcx_shape *s);
size_t rcx_shape_out_count(const struct rcx_shape *s);
/* How far IN and OUT reach, with gaps between blocks that have places. */
size_t rcx_shape_in_reach(const struct rcx_shape *s);
size_t rcx_shape_out_reach(const struct rcx_shape *s);
/* Block i of the vector. */
struct rcx_span rcx_shape_block(const struct rcx_shape *s, int i);
/* Where block i of a buffer that has blocks begins in it. */
size_t rcx_shape_place(const struct rcx_shape *s, enum rcx_buffer buffer,
                       int i);

/* The dependency edges, found in program order; see hazard.c. */
struct rcx_edge {
    uint32_t from, to;
};
struct rcx_edges {
    struct rcx_edge *list;
    size_t count;
    size_t capacity;
    uint32_t *last_to; /* per step: the last edge's target plus one */
    struct rcx_heap *heap;
    bool failed;
};
void rcx_edge_add(struct rcx_edges *edges, uint32_t from, uint32_t to);
rcx_status_t rcx_hazards_find(struct rcx_builder *b, struct rcx_edges *edges);

/* Have steps read the operand instead of copies of it. See forward.c. */
void rcx_copies_forward(struct rcx_builder *b);

/* Set each step's sink; the edges are found and packed. See combine.c. */
void rcx_sinks_find(struct rcx_step *steps, uint32_t count,
                    const uint32_t *successors);

/* A line a step, for people and golden tests. */
void rcx_plan_print(const struct rcx_plan *plan, FILE *file);

#endif
