/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lane inside a node (lib/transport/shm) as a model: two ranks, which make
 * a step at a time.
 *
 * It has slots with turns, a ring of parts, what is taken told at times,
 * store() and wake(), and a rank that says it sleeps, looks at all and sleeps,
 * be it for want of messages or of room. A step is one load, store or
 * exchange. What a rank stores waits in a queue of its own, and is in memory at
 * any later time (x86's order); a seq_cst store, and an exchange, wait until
 * that queue is empty.
 *
 * It has no memory that is weaker than that (there C11's acquire and release
 * count), no parts of different sizes, no long messages, no third rank and no
 * turn that overflows. Of UCX it has that a wake comes: progress may take it at
 * any time but between arming and sleeping, and two under way are like one.
 */
#ifndef RCX_TESTS_PROOF_LANE_MODEL_H
#define RCX_TESTS_PROOF_LANE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { LANE_SLOTS = 2, LANE_PARTS_MOST = 2, LANE_PENDING_MOST = 16 };

enum lane_mutant {
    LANE_SOUND,
    LANE_NO_FENCE_PUBLISHING,
    LANE_NO_FENCE_TELLING,
    LANE_NO_FENCE_ARMING,
    LANE_HEAD_FIRST,   /* a head is stored before what it is of */
    LANE_SEES_FIRST,   /* whether the peer sleeps, before the store */
    LANE_ARMS_LAST,    /* having looked */
    LANE_TELLS_ALONE,  /* and wakes nobody */
    LANE_TELLS_FIRST,  /* what is taken, before it is read */
    LANE_SEES_NO_ROOM, /* and writes where it has none */
    LANE_SAME_TURN     /* in each lap */
};

enum lane_verdict {
    LANE_GOOD,
    LANE_STUCK,       /* some way does not lead to the end */
    LANE_UNWRITTEN,   /* it was read before it was written */
    LANE_STALE,       /* a message was taken again */
    LANE_OVERWRITTEN, /* by a later message, before it was read */
    LANE_TOO_MANY     /* states, or stores: there is no room for them */
};

/* What a rank has in its window; its peer sends to it. */
enum lane_cell {
    ASLEEP,
    SLOTS_TAKEN,
    PARTS_TAKEN,
    HEAD,
    TAG = HEAD + LANE_SLOTS,
    DATA = TAG + LANE_SLOTS,
    RING = DATA + LANE_SLOTS,
    CELLS = RING + LANE_PARTS_MOST
};

/* Bytes alone, so that equal states are equal bytes. */
struct lane_rank {
    uint8_t at;
    uint8_t what; /* it stores: HEAD, SLOTS_TAKEN or PARTS_TAKEN */
    uint8_t saw;  /* the peer asleep */
    uint8_t events, is_armed, is_woken, strays;
    uint8_t taken, read, told, parts_told;
    uint8_t sent, room, parts_room;
    uint8_t pending; /* stores, the oldest first: */
    uint8_t cells[LANE_PENDING_MOST], values[LANE_PENDING_MOST];
};

struct lane_state {
    uint8_t memory[2 * CELLS];
    struct lane_rank ranks[2];
};

struct lane_model {
    enum lane_mutant mutant;
    bool is_buffered;  /* what ranks store; else it is in memory at once */
    unsigned sleepers; /* a bit for each rank; others spin */
    int messages[2];   /* that a rank sends */
    unsigned whole;    /* a bit for each message: it is in the ring */
    int parts;         /* of the ring */
    int slots_told;    /* at once */
    int parts_told;
    int strays; /* wakes of a rank that are not the peer's */
    /* of all steps so far: */
    enum lane_verdict verdict;
    uint32_t seen; /* what has happened; a bit for each such thing */
};

/* STRAY: it wakes up for no reason of the lane's. */
enum lane_move { LANE_STEP, LANE_DRAIN, LANE_PROGRESS, LANE_STRAY, LANE_MOVES };

struct lane_state lane_first(const struct lane_model *m);
/* False: it cannot be made. */
bool lane_make(struct lane_model *m, struct lane_state *s, int rank,
               enum lane_move move);
const char *lane_move_name(const struct lane_state *s, int rank,
                           enum lane_move move);
/* Both have sent and received all. */
bool lane_is_done(const struct lane_state *s);
/* Something that is not among what is seen; NULL: there is nothing. */
const char *lane_unseen(uint32_t seen);

#endif
