/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules: the only representation of an algorithm, a list of steps over
 * named buffers.
 *
 * A step names a buffer and a span of elements, never an address, and a rank of
 * the communicator, never an endpoint. So a schedule is a value: it can be
 * cached, printed, simulated, priced, and executed several times concurrently.
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
    RCX_COLL_BARRIER, /* RCX also uses it itself, at the start and the end of a
                         context */
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

/* How OUT overlaps IN. */
enum rcx_alias {
    RCX_ALIAS_NONE,  /* no overlap */
    RCX_ALIAS_SAME,  /* OUT[x] is IN[x] */
    RCX_ALIAS_BLOCK, /* OUT is this rank's block of IN */
    RCX_ALIAS_OWN    /* IN is this rank's block of OUT */
};

enum { RCX_PARAMS = 3 }; /* most parameters of an algorithm */

struct rcx_nodes;

/* Where the messages of a phase go. */
struct rcx_scope {
    const struct rcx_nodes *nodes; /* maps of its ranks; NULL: none divides
                                      them */
    const struct rcx_nodes *inner; /* map of a finer level that its messages
                                      cross, although it does not divide its
                                      ranks; NULL: none */
    int crosses; /* enum rcx_level plus one: the level whose groups its ranks
                    are; 0: its ranks are within one group */
    int leaders; /* of such a group, that take part in phases alike at once */
    int beside;  /* so many phases alike run at once over the same links; 0:
                    this one */
    int alike;   /* so many phases alike run at once in all; 0: this one */
    size_t longest; /* elements of the longest of these: all choose their own
                       phases by that; 0: count */
};

/* Positions of blocks in a caller's buffer, if they are not contiguous. */
struct rcx_places {
    const size_t *starts; /* start of each block; NULL: contiguous blocks */
    size_t reach;         /* largest end of a block */
};

/*
 * The neighbours of a rank that exchanges blocks with some ranks only: edges
 * that it sends over, and edges that it receives over. An edge is three
 * numbers: a rank, the start of a block, and its count. A rank may be on
 * several edges, and be this rank; the k-th edge to a rank belongs to the k-th
 * edge from this one there.
 */
enum { RCX_EDGE_RANK, RCX_EDGE_START, RCX_EDGE_COUNT, RCX_EDGE_NUMBERS };
struct rcx_neighbors {
    const size_t *to, *from;
    size_t tos, froms;          /* edges */
    size_t in_reach, out_reach; /* largest ends of a block */
};

/* The neighbours of lists of so many numbers. */
struct rcx_neighbors rcx_neighbors_of(const size_t to[], size_t to_numbers,
                                      const size_t from[], size_t from_numbers);

/* The input of an algorithm. An algorithm never sees in_places and out_places;
 * a frame translates blocks to them. */
struct rcx_shape {
    enum rcx_coll coll;
    int rank;
    int size;
    int root;     /* 0 if the collective has no root */
    size_t count; /* elements of the whole vector, all blocks together */
    const size_t *displs;  /* size + 1 starts of the vector's blocks; NULL:
                              nearly equal blocks */
    const size_t *gotten;  /* size + 1 starts of the blocks of OUT, if they
                              differ from those of IN */
    const size_t *passing; /* lengths of all blocks that this rank receives, in
                              transit and its own, in the algorithm's order;
                              NULL: all blocks are equal */
    const struct rcx_neighbors *neighbors;   /* alltoallv: these are all blocks;
                                              NULL: there is one for each
                                              rank */
    struct rcx_places in_places, out_places; /* positions of the blocks in IN,
                                                and in OUT */
    size_t elem_bytes;
    enum rcx_alias alias;
    bool commutative; /* the op commutes */
    bool at_once;     /* all operands of an element are combined at once: by
                     reductions of one rank, which are fused */
    const struct rcx_nodes *nodes; /* finest of the maps of the ranks; NULL:
                                      none is known, or divides them */
    const struct rcx_nodes *inner; /* of a phase: see struct rcx_scope */
    int crosses, leaders, beside, alike; /* the same */
    size_t longest;                      /* the same */
    int cores; /* number of cores of the machine that the ranks may use; 0: not
                  known, or several machines */
    const struct rcx_machine *machine; /* cost parameters; NULL: of the usual
                                          machine */
    double segments; /* the shape is that of one of so many segments, of which
                        window are in progress at most; its price is that of
                        all. 0 or 1: it is the whole call */
    unsigned window;
    bool uncut;                 /* the call takes no segments */
    int64_t params[RCX_PARAMS]; /* values of the algorithm's parameters, in the
                                   order of algo->params */
};

/* count elements of a buffer from offset on. buffer is 64 bits wide because
 * compilers copy spans in words of 8 bytes: loading such a word stalls if a
 * shorter store has just written it. */
struct rcx_span {
    uint64_t buffer; /* enum rcx_buffer */
    size_t offset;
    size_t count;
};

/* In the order in which ready steps are best issued: messages travel while this
 * rank posts its receives. */
enum rcx_step_kind {
    RCX_STEP_SEND,  /* send left to peer */
    RCX_STEP_RECV,  /* dst = data from peer */
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
    uint8_t dst, left, right; /* enum rcx_buffer of each span */
    int32_t peer;
    size_t dst_at, left_at, right_at;
    size_t count;     /* elements; 0: an acknowledgement */
    uint32_t message; /* number of the message among those to peer, or from
                         peer */
    uint32_t waits;   /* number of steps that must complete before this one
                         starts */
    union {
        uint32_t first_successor;
        uint32_t pair; /* in the builder only: see rcx_step_pair() */
    };
    uint32_t successor_count;
    uint32_t sink; /* of a RECV: index plus one of the step that may consume its
                      data on arrival; 0: none */
    uint32_t next_shared; /* of a SEND: index plus one of the next one, in a
                             circle, of those that send the same span and become
                             ready together; 0: it is alone */
    uint32_t
        fused;     /* of a REDUCE: index plus one of the first part of the fused
                       reduction that it belongs to; 0: none. Of a RECV: the
                       same of the only step that reads its data */
    bool is_final; /* dst is the caller's, and no other step reads it or writes
                      it again; not of a SEND */
};

/* The spans of a step. Spans that its kind does not use are undefined. */
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

/*
 * A fused reduction: REDUCE steps that run as one, with the last of them, as
 * only it needs the results of the others. Its parts, the steps in program
 * order, follow each other in plan->parts.
 */
enum { RCX_FUSED_OPERANDS = 8, RCX_FUSED_PARTS = RCX_FUSED_OPERANDS - 1 };
/* The same if operands are combined at once. */
enum {
    RCX_AT_ONCE_OPERANDS = 64,
    RCX_AT_ONCE_PARTS = RCX_AT_ONCE_OPERANDS - 1
};
struct rcx_fused_part {
    uint32_t step;
    /* Index plus one of the RECV whose data only this operand is; 0: none. */
    uint32_t left_from, right_from;
    /* The span is an intermediate result, which no other step sees. */
    bool dst_stays, left_stays, right_stays;
    bool is_last;
};

/* A finished schedule: constant, in one block of memory. */
struct rcx_plan {
    uint32_t step_count;
    uint32_t ready_count; /* number of steps that wait for no other step */
    const struct rcx_step *steps;
    const uint32_t *successors;
    const uint32_t *ready; /* indices of these steps, in the order of kinds */
    uint32_t part_count;
    const struct rcx_fused_part *parts; /* of all fused reductions */
    size_t scratch;                     /* elements of RCX_BUFFER_TMP */
    size_t combined; /* elements of OUT that final REDUCE steps store */
    size_t bytes;    /* size of this block */
};

/*
 * The builder: algorithms append steps in program order, as the pseudo-code of
 * their papers does. No call returns an error: the builder keeps the first
 * error, later calls have no effect, and rcx_sched_finish() returns the error.
 */
struct rcx_frame;
struct rcx_builder {
    struct rcx_heap *heap;
    const struct rcx_log *log;
    const struct rcx_shape *shape; /* within the frame, if there is one */
    const struct rcx_frame *frame; /* the frame that steps are translated by;
                                      NULL: none */
    struct rcx_step *steps;
    uint32_t step_count;
    uint32_t step_capacity;
    size_t scratch;
    uint32_t pair; /* the pair that new steps belong to; 0: none */
    uint32_t pair_window;
    rcx_status_t status;
    void *work; /* temporary memory, reused by later schedules */
    size_t work_bytes;
};

void rcx_builder_init(struct rcx_builder *b, struct rcx_heap *heap,
                      const struct rcx_log *log);
void rcx_builder_free(struct rcx_builder *b);

/* Begin a schedule for shape, which must stay valid until it is finished. */
void rcx_builder_begin(struct rcx_builder *b, const struct rcx_shape *shape);
void rcx_builder_fail(struct rcx_builder *b, rcx_status_t status);
/* Fail with RCX_ERR_INTERNAL and log why: the algorithm is wrong. */
void rcx_builder_refuse(struct rcx_builder *b, const char *why);

/*
 * Append completion acknowledgements behind an algorithm's last step. A peer
 * that has sent a message of least elements or more gets one when all its
 * messages have arrived. A peer that receives such a message sends one. See
 * completion_ack.c.
 */
void rcx_sched_completion_ack(struct rcx_builder *b, size_t least);
/* Append one end of an acknowledgement: kind is SEND or RECV. */
void rcx_step_ack(struct rcx_builder *b, enum rcx_step_kind kind, int peer);

/*
 * Finish the schedule: infer dependencies, number the messages of each peer,
 * and pack the plan. Dependencies follow from overlapping spans: read after
 * write, write after read, write after write. IN and OUT count as one buffer
 * where they alias. Message i + message_window waits for message i. An
 * acknowledgement waits for all messages that it acknowledges. Returns the
 * builder's first error. The caller frees the plan through the builder's heap.
 */
rcx_status_t rcx_sched_finish(struct rcx_builder *b, uint32_t message_window,
                              struct rcx_plan **plan_p);

/* Make builder->work at least bytes long; its content is lost. NULL: no
 * memory. */
void *rcx_builder_work(struct rcx_builder *b, size_t bytes);

/* Translate span to the one buffer that IN and OUT form where they alias.
 * Otherwise return span. */
struct rcx_span rcx_shape_resolve(const struct rcx_shape *s,
                                  struct rcx_span span);
/* Number of elements that this rank gives; that it gets. */
size_t rcx_shape_in_count(const struct rcx_shape *s);
size_t rcx_shape_out_count(const struct rcx_shape *s);
/* Extent of IN and OUT in elements, with the gaps between blocks. */
size_t rcx_shape_in_reach(const struct rcx_shape *s);
size_t rcx_shape_out_reach(const struct rcx_shape *s);
/* Block i of the vector. */
struct rcx_span rcx_shape_block(const struct rcx_shape *s, int i);
/* Start of block i in IN or OUT, which consists of blocks. */
size_t rcx_shape_place(const struct rcx_shape *s, enum rcx_buffer buffer,
                       int i);

/* Dependency edges, found in program order; see hazard.c. */
struct rcx_edge {
    uint32_t from, to;
};
struct rcx_edges {
    struct rcx_edge *list;
    size_t count;
    size_t capacity;
    uint32_t *last_to; /* per step: target plus one of its last edge, to skip
                          duplicates */
    struct rcx_heap *heap;
    bool failed;
};
void rcx_edge_add(struct rcx_edges *edges, uint32_t from, uint32_t to);
rcx_status_t rcx_hazards_find(struct rcx_builder *b, struct rcx_edges *edges);

/* Let steps read the operand instead of a copy of it. See forward.c. */
void rcx_copies_forward(struct rcx_builder *b);

/* Set the sink of each step. Edges must have been found and packed. See
 * combine.c. */
void rcx_sinks_find(struct rcx_step *steps, uint32_t count,
                    const uint32_t *successors);
/* Return the step, plus one, that alone reads the data of receive i; 0: none,
 * or several. */
uint32_t rcx_step_reader(const struct rcx_step *steps, uint32_t i,
                         const uint32_t *successors);

/* Find reductions that run as one, and store their parts. There is room for
 * rcx_reductions_count() of them. Edges must have been packed. False: no
 * memory. See fuse.c. */
uint32_t rcx_reductions_count(const struct rcx_builder *b);
bool rcx_reductions_fuse(struct rcx_builder *b, struct rcx_step *steps,
                         const uint32_t *successors,
                         struct rcx_fused_part *parts, uint32_t *part_count_p);
/* Whether every reduction of plan is a part of a fused one with so many
 * operands. */
bool rcx_plan_combines_at_once(const struct rcx_plan *plan, int operands);

/* Find sends that may share a copy of their data. Edges must have been found
 * and packed. See shared.c. */
void rcx_shared_sends_find(struct rcx_builder *b, struct rcx_step *steps,
                           uint32_t count, const uint32_t *successors);

/* Find steps whose data is final. Edges must have been found and packed.
 * Returns plan->combined. See final.c. */
size_t rcx_final_steps_find(const struct rcx_shape *s, struct rcx_step *steps,
                            uint32_t count, const uint32_t *successors);

/* Print one line per step, for people and for golden tests. */
void rcx_plan_print(const struct rcx_plan *plan, FILE *file);

#endif
