/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages inside a node, between ranks of one process, without a network. The
 * text of a message follows from its number. A send buffer is overwritten and
 * freed on completion. Receive buffers lie between canaries.
 */
#ifndef RCX_TESTS_SUPPORT_SHM_RANKS_H
#define RCX_TESTS_SUPPORT_SHM_RANKS_H

#include <semaphore.h>

#include "transport/shm/channel.h"

enum {
    CICO = 64 << 10,
    RANKS = 3,
    ANY = -1, /* any source */
    RING = 64 << 10,
    RING_LEAST = 16 << 10,
    HUGE = 600 << 10, /* read by CMA in several pieces */
    SEED = 11
};

/* Properties of the channels in a test; modes has combinations of them.
 * in_parts: a long message goes through the ring in parts. in_place: the
 * receiver reads it from the sender's buffer. sink_in_place: the same with
 * sinks, which store data in a changed form. holding: in_parts, and data is
 * held until it is checked. */
struct mode {
    size_t ring, cma_from;
    size_t eager; /* longest eager message; 0: a chunk */
    bool never_sleeps;
    bool has_sinks;     /* receives have a sink, and most sinks are ready */
    bool may_hold;      /* most receives allow that their data is held */
    bool searches_ways; /* long messages take one way or the other */
};
enum { MODES = 13 };
extern const struct mode modes[MODES], in_parts, in_place, sink_in_place,
    holding;

struct rank {
    struct rcx_shm_lane lane; /* must be first */
    unsigned char cico[CICO];
    struct rcx_transport transport;
    struct rcx_heap heap;
    struct rcx_shm_channel channels[RANKS];
    struct rcx_shm_fifo *fifos[RANKS];
    _Atomic uint32_t asleep;
    sem_t woken;
    bool is_cut_off;  /* cannot connect to a peer */
    bool is_up_again; /* progresses inside the call that wakes it */
};

struct test_msg {
    struct rcx_message m; /* must be first */
    uint64_t number;
    size_t bytes;         /* of its buffer */
    unsigned char *space; /* EDGE, buffer, EDGE bytes; NULL: freed */
    bool is_send;
    bool is_late;         /* completes after the call that posts it */
    size_t sink_bytes;    /* bytes passed to its sink */
    unsigned completions; /* number of later completions */
};

extern struct rank ranks[RANKS];

static inline struct rcx_shm_channel *channel_of(int self, int peer)
{
    return &ranks[self].channels[peer];
}

void ranks_open(const struct mode *mode);
/* Check that no message or memory is left, and close all channels. */
void ranks_close(void);

/* Text of at least HUGE bytes. */
const unsigned char *text_of(uint64_t number);

void msg_send(int self, int peer, struct test_msg *l, uint64_t tag,
              uint64_t number, size_t bytes);
/* peer may be ANY. */
void msg_recv(int self, int peer, struct test_msg *l, uint64_t tag,
              size_t room);
void msg_recv_masked(int self, int peer, struct test_msg *l, uint64_t tag,
                     uint64_t mask, size_t room);
/* Poll for l, which is in progress, as a transport does when a caller waits for
 * one message. Returns whether l is complete. */
bool msg_expect(int self, int peer, struct test_msg *l, unsigned *polls);
/* Check that l has received the message with that number, release it if it is
 * held, and free its buffer. */
void msg_check(struct test_msg *l, uint64_t number, size_t bytes);
/* Check that l's buffer holds bytes of text, unless text is NULL, and that
 * nothing else was written. Frees the buffer. */
void msg_check_and_free(struct test_msg *l, const unsigned char *text,
                        size_t bytes);

/* Progress one channel; returns the number of events. If there is none, no
 * message may have completed: a rank that sleeps then must not miss one. */
unsigned look(int self, int peer);
/* Progress all channels until there are no events. */
void go_on(void);
/* Send one message from self to peer, independent of all others, and check
 * it. */
void exchange(int self, int peer, size_t bytes);

#endif
