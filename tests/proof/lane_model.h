/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of the shared-memory lane inside a node (lib/transport/shm): two ranks,
 * which make one step at a time.
 *
 * The model has slots with laps, a ring of parts, slots and parts that are
 * returned several at once, store() and wake(), and a rank that arms, polls all
 * and sleeps, for lack of messages or of room. A receiver may hold a message in
 * the ring: it reads it later, or when no part would be left for the sender.
 *
 * A step is one load, store or exchange. A store waits in a queue of its rank,
 * and reaches memory at any later time (x86's order). A seq_cst store or an
 * exchange waits until that queue is empty.
 *
 * The model has no weaker memory order (there C11's acquire and release count),
 * no parts of different sizes, no long messages, no third rank, one hold at a
 * time, and no lap number that overflows. Of UCX it has only that a wake-up
 * arrives. Progress may consume the wake-up at any time except between arming
 * and sleeping, and two pending wake-ups are like one.
 */
#ifndef RCX_TESTS_PROOF_LANE_MODEL_H
#define RCX_TESTS_PROOF_LANE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { LANE_SLOTS = 2, LANE_PARTS_MOST = 2, LANE_PENDING_MOST = 16 };

enum lane_mutant {
    LANE_SOUND,
    LANE_NO_FENCE_PUBLISHING,
    LANE_NO_FENCE_RETURNING,
    LANE_NO_FENCE_ARMING,
    LANE_HEAD_FIRST,       /* a head is stored before its message */
    LANE_SEES_FIRST,       /* ASLEEP is loaded before the store */
    LANE_ARMS_LAST,        /* the rank arms after polling */
    LANE_RETURNS_SILENTLY, /* returns slots without a wake-up */
    LANE_RETURNS_FIRST,    /* slots are returned before they are read */
    LANE_SEES_NO_ROOM,     /* writes without room */
    LANE_SAME_LAP,         /* every lap has the same number */
    LANE_RETURNS_HELD,     /* parts are returned while they are held */
    LANE_HOLDS_ON          /* a hold ends only by its release */
};

enum lane_verdict {
    LANE_GOOD,
    LANE_STUCK,       /* some state has no path to the end */
    LANE_UNWRITTEN,   /* data is read before it is written */
    LANE_STALE,       /* a message is taken twice */
    LANE_OVERWRITTEN, /* a later message overwrites it unread */
    LANE_TOO_MANY     /* states or stores: limit exceeded */
};

/* Words in the segment of a rank; its peer sends there. */
enum lane_cell {
    ASLEEP,
    SLOTS_RETURNED,
    PARTS_RETURNED,
    HEAD,
    TAG = HEAD + LANE_SLOTS,
    DATA = TAG + LANE_SLOTS,
    RING = DATA + LANE_SLOTS,
    CELLS = RING + LANE_PARTS_MOST
};

/* All fields are bytes, so that equal states have equal bytes. */
struct lane_rank {
    uint8_t at;
    uint8_t what; /* what it stores: HEAD, SLOTS_RETURNED or PARTS_RETURNED */
    uint8_t saw;  /* whether it saw the peer asleep */
    uint8_t events, is_armed, is_woken, strays;
    uint8_t taken, read, returned, parts_returned;
    uint8_t held; /* number of a message, plus one; 0: none */
    uint8_t sent, room, parts_room;
    uint8_t pending; /* number of queued stores; these, oldest first: */
    uint8_t cells[LANE_PENDING_MOST], values[LANE_PENDING_MOST];
};

struct lane_state {
    uint8_t memory[2 * CELLS];
    struct lane_rank ranks[2];
};

struct lane_model {
    enum lane_mutant mutant;
    bool is_buffered;  /* stores are queued; else they reach memory at once */
    unsigned sleepers; /* a bit for each rank that sleeps; the others spin */
    unsigned holders;  /* a bit for each rank that may hold a message */
    int messages[2];   /* number of messages that each rank sends */
    unsigned whole;    /* a bit for each message that is in the ring */
    int parts;         /* number of parts of the ring */
    int slots_batch;   /* slots that are returned at once */
    int parts_batch;
    int strays; /* wake-ups of a rank that its peer has not caused */
    /* results of all steps so far: */
    enum lane_verdict verdict;
    uint32_t seen; /* a bit for each step and event that occurred */
};

/* LANE_DRAIN: the oldest queued store reaches memory. LANE_PROGRESS: UCX
 * progress consumes a wake-up. LANE_HOLD: a message is not read, but held.
 * Moves that may never come: LANE_STRAY, a wake-up that the lane has not
 * caused; LANE_RELEASE, a message that is held is read. */
enum lane_move {
    LANE_STEP,
    LANE_DRAIN,
    LANE_PROGRESS,
    LANE_HOLD,
    LANE_STRAY,
    LANE_RELEASE,
    LANE_MOVES
};

struct lane_state lane_first(const struct lane_model *m);
/* Make a move. False: it is not possible in this state. */
bool lane_make(struct lane_model *m, struct lane_state *s, int rank,
               enum lane_move move);
const char *lane_move_name(const struct lane_state *s, int rank,
                           enum lane_move move);
/* Whether both ranks have sent and received all messages. */
bool lane_is_done(const struct lane_state *s);
/* Return a step or event that is not in seen; NULL: there is none. */
const char *lane_unseen(uint32_t seen);

#endif
