/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of long messages between two ranks of a node: through the ring, or
 * read by the kernel where they are (CMA). Both carry the same bytes. Which one
 * takes less time depends on where the two cores are, on the program and on
 * what else runs, and it changes while a program runs. So the receiver searches
 * for it: for each power of two of bytes, now and then, it lets some messages
 * take the other way, and compares medians of what they took. The first guess
 * follows from the figures of the node (decide.h).
 *
 * The receiver writes into the FIFO for which classes of sizes the first guess
 * is wrong. The sender looks there when it sends a message; the message says by
 * its kind which way it took. So each message is right whatever the word is.
 */
#ifndef RCX_TRANSPORT_SHM_WAY_H
#define RCX_TRANSPORT_SHM_WAY_H

#include "core/base/clock.h"
#include "transport/shm/channel.h"

enum rcx_way { RCX_WAY_RING, RCX_WAY_KERNEL, RCX_WAYS };

/* LEAST: shorter messages keep the first guess. CLASSES: powers of two from
 * LEAST on; the last one has all longer messages, too. TRIES: messages of each
 * way in a comparison. FIRST: messages before the first comparison, beside a
 * lap of the ring. SOON, RARELY: messages between two comparisons, after a
 * change, and at most. */
enum {
    RCX_WAY_LEAST = 16 << 10,
    RCX_WAY_CLASSES = 12,
    RCX_WAY_TRIES = 5,
    RCX_WAY_FIRST = 5,
    RCX_WAY_SOON = 64,
    RCX_WAY_RARELY = 2048
};

/* Of one class. Times are in ticks. */
struct rcx_way_search {
    uint32_t took[RCX_WAYS][RCX_WAY_TRIES];
    uint32_t usual;          /* what a message took, in the last comparison */
    uint16_t left, interval; /* messages until the next comparison */
    uint16_t lap;            /* messages that fill the ring */
    uint16_t cold;           /* messages of a comparison until it is warm */
    uint8_t tried[RCX_WAYS];
    uint8_t way;     /* the better one so far */
    uint8_t strange; /* messages in a row that took much more or less */
    bool compares;
};
struct rcx_way_searches {
    struct rcx_way_search of[RCX_WAY_CLASSES];
};

/* Set how the channels of lane, which has its settings, send long messages. A
 * message that takes the ring need not be shorter than what a guess lets the
 * kernel read, unless a user has set the longest eager one. */
static inline void rcx_way_open(struct rcx_shm_lane *lane, bool searches,
                                size_t eager_set)
{
    lane->searches_ways = searches;
    lane->eager =
        searches && !eager_set ? lane->settings.chunk : lane->settings.eager;
}

void rcx_way_search_begin(struct rcx_way_search *s, enum rcx_way guess,
                          uint16_t lap);
/* A message took so long by that way. Returns the way of the next one. */
enum rcx_way rcx_way_search_note(struct rcx_way_search *s, enum rcx_way way,
                                 uint64_t ticks);

/* The same for a message that p has received; the sender is told. */
void rcx_way_note(struct rcx_shm_channel *p, size_t bytes, enum rcx_way way,
                  uint64_t ticks);

/* Of a message of RCX_WAY_LEAST bytes or more. */
static inline unsigned rcx_way_class(size_t bytes)
{
    const unsigned power =
        (unsigned)__builtin_ctzll(RCX_WAY_LEAST) + RCX_WAY_CLASSES - 1;
    const unsigned log2 = 63 - (unsigned)__builtin_clzll(bytes);

    return RCX_WAY_CLASSES - 1 - (log2 < power ? power - log2 : 0);
}

/* Whether a message to the peer is to be read by the kernel. */
static inline bool rcx_way_is_read(const struct rcx_shm_channel *p,
                                   size_t bytes)
{
    const bool guess = bytes >= p->lane->settings.cma;

    if (bytes < RCX_WAY_LEAST || !p->out)
        return guess;
    return guess != (atomic_load_explicit(&p->out->wrong_guesses,
                                          memory_order_relaxed) >>
                         rcx_way_class(bytes) &
                     1);
}

/* Now, in ticks; 0: what a message of this length takes is not of interest. */
static inline uint64_t rcx_way_clock(const struct rcx_shm_channel *p,
                                     size_t bytes)
{
    return bytes >= RCX_WAY_LEAST && p->lane->searches_ways ? rcx_ticks() : 0;
}

/* A received message is complete. */
static inline void rcx_way_note_message(struct rcx_shm_channel *p,
                                        const struct rcx_message *m)
{
    if (rcx_shm_msg(m)->begun_at)
        rcx_way_note(p, m->bytes,
                     rcx_shm_msg(m)->is_request ? RCX_WAY_KERNEL : RCX_WAY_RING,
                     rcx_ticks() - rcx_shm_msg(m)->begun_at);
}

#endif
