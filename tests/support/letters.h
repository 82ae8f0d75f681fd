/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages inside a node, between ranks of one process, without a network. What
 * a letter says follows from its number; it is sent from a buffer that is
 * overwritten and freed as soon as it may be, and received between canaries.
 */
#ifndef RCX_TESTS_SUPPORT_LETTERS_H
#define RCX_TESTS_SUPPORT_LETTERS_H

#include <semaphore.h>

#include "transport/shm/channel.h"

enum {
    RANKS = 3,
    ANY = -1, /* any source */
    RING = 64 << 10,
    RING_LEAST = 16 << 10,
    HUGE = 600 << 10, /* read in several pieces */
    SEED = 11
};

/* What pairs may be like; MODES of all kinds, and two by which long messages go
 * in parts, or are read where they are; the last takes. What is taken is stored
 * in another form. */
struct mode {
    size_t ring, cma_from;
    bool never_sleeps;
    bool takes; /* most receives have a taker that is ready */
};
enum { MODES = 6 };
extern const struct mode modes[MODES], in_parts, in_place, taken_in_place;

struct rank {
    struct rcx_shm_lane lane; /* first */
    struct rcx_transport transport;
    struct rcx_heap heap;
    struct rcx_shm_channel pairs[RANKS];
    struct rcx_shm_fifo *inboxes[RANKS];
    _Atomic uint32_t asleep;
    sem_t woken;
    bool is_cut_off;  /* it reaches nobody */
    bool is_up_again; /* once woken, it looks before its waker goes on */
};

struct letter {
    struct rcx_message m; /* first */
    uint64_t number;
    size_t bytes;         /* of its buffer */
    unsigned char *space; /* EDGE, the buffer, EDGE; NULL: not looked after */
    bool is_send;
    bool is_late;         /* it was not done at once */
    size_t taken;         /* by its taker */
    unsigned completions; /* later */
};

extern struct rank ranks[RANKS];

static inline struct rcx_shm_channel *pair_of(int self, int peer)
{
    return &ranks[self].pairs[peer];
}

void ranks_open(const struct mode *mode);
/* Nothing must be left. */
void ranks_close(void);

/* At least HUGE bytes. */
const unsigned char *text_of(uint64_t number);

void letter_send(int self, int peer, struct letter *l, uint64_t tag,
                 uint64_t number, size_t bytes);
/* peer may be ANY. */
void letter_recv(int self, int peer, struct letter *l, uint64_t tag,
                 size_t room);
void letter_recv_masked(int self, int peer, struct letter *l, uint64_t tag,
                        uint64_t mask, size_t room);
/* Look for l, which is under way, as its transport would; whether it is
 * here. */
bool letter_expect(int self, int peer, struct letter *l, unsigned *polls);
/* l has received the letter of that number. */
void letter_check(struct letter *l, uint64_t number, size_t bytes);
/* Its buffer holds so many bytes of that text, if any; nothing else was
 * written. */
void letter_put_away(struct letter *l, const unsigned char *text, size_t bytes);

/* Progress of a channel; returns the number of events. A side that sleeps when
 * there were none must have missed nothing. */
unsigned look(int self, int peer);
/* All that can happen. */
void go_on(void);
/* A letter that nothing else has to do with. */
void exchange(int self, int peer, size_t bytes);

#endif
