/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layout of tags. UCP tags contain neither source nor communicator, so RCX's 64
 * bits do, from the highest bit: point to point 1 | communicator 13 | sequence
 * 13 | message 9 | fingerprint 6 | source rank 22. Numbers repeat modulo the
 * width of their field. The windows of executor and plans ensure that no two
 * uses of one tag are in flight. UCX keeps the order of messages with the same
 * sender and tag. For point to point, the bits between communicator and source
 * are the user's tag, and the source is a rank of the communicator.
 *
 * The widths are data, so that a test can shrink them to two bits.
 */
#ifndef RCX_CORE_EXEC_TAG_H
#define RCX_CORE_EXEC_TAG_H

#include <stdint.h>

struct rcx_tag_layout {
    uint8_t comm_bits, sequence_bits, message_bits, fingerprint_bits, rank_bits;
};

/* All bits of a tag that mean something. Transports give none a meaning. */
enum {
    RCX_TAG_RANK_BITS = 22,
    RCX_TAG_FINGERPRINT_BITS = 6,
    RCX_TAG_MESSAGE_BITS = 9,
    RCX_TAG_SEQUENCE_BITS = 13,
    RCX_TAG_COMM_BITS = 13,
    RCX_TAG_P2P_AT = 63
};
_Static_assert(RCX_TAG_RANK_BITS + RCX_TAG_FINGERPRINT_BITS +
                       RCX_TAG_MESSAGE_BITS + RCX_TAG_SEQUENCE_BITS +
                       RCX_TAG_COMM_BITS ==
                   RCX_TAG_P2P_AT,
               "the tag of a message is none of a collective");

#define RCX_TAG_LAYOUT                                                         \
    ((struct rcx_tag_layout){.comm_bits = RCX_TAG_COMM_BITS,                   \
                             .sequence_bits = RCX_TAG_SEQUENCE_BITS,           \
                             .message_bits = RCX_TAG_MESSAGE_BITS,             \
                             .fingerprint_bits = RCX_TAG_FINGERPRINT_BITS,     \
                             .rank_bits = RCX_TAG_RANK_BITS})
#define RCX_TAG_P2P (UINT64_C(1) << RCX_TAG_P2P_AT)

static inline uint64_t rcx_tag_low(uint64_t value, unsigned bits)
{
    return value & ((UINT64_C(1) << bits) - 1);
}

/* The part of a tag that is common to all calls of one kind on a communicator:
 * its id, and a fingerprint of the call. Executions add the other fields. */
static inline uint64_t rcx_tag_base(const struct rcx_tag_layout *l,
                                    uint64_t comm, uint64_t fingerprint)
{
    const unsigned below_comm =
        l->sequence_bits + l->message_bits + l->fingerprint_bits + l->rank_bits;

    return rcx_tag_low(comm, l->comm_bits) << below_comm |
           rcx_tag_low(fingerprint, l->fingerprint_bits) << l->rank_bits;
}

/* The number of a call in the bits of the fingerprint. It is added by exclusive
 * or, so that segments of different calls do not match if ranks are out of
 * step. */
static inline uint64_t rcx_tag_mark(const struct rcx_tag_layout *l,
                                    uint64_t call)
{
    return rcx_tag_low(call, l->fingerprint_bits) << l->rank_bits;
}

static inline unsigned rcx_tag_sequence_shift(const struct rcx_tag_layout *l)
{
    return l->message_bits + l->fingerprint_bits + l->rank_bits;
}
static inline uint64_t rcx_tag_sequence(const struct rcx_tag_layout *l,
                                        uint64_t sequence)
{
    return rcx_tag_low(sequence, l->sequence_bits) << rcx_tag_sequence_shift(l);
}

/* The part of a tag for message number message from source. */
static inline uint64_t rcx_tag_message(const struct rcx_tag_layout *l,
                                       uint32_t message, int source)
{
    return rcx_tag_low(message, l->message_bits)
               << (l->fingerprint_bits + l->rank_bits) |
           (uint32_t)source;
}

/* Mask that identifies a call and its communicator: all fields except message
 * and source. */
static inline uint64_t rcx_tag_call_mask(const struct rcx_tag_layout *l)
{
    return RCX_TAG_P2P | rcx_tag_base(l, UINT64_MAX, UINT64_MAX) |
           rcx_tag_sequence(l, UINT64_MAX);
}

/* The highest tag that a user's message can have. */
static inline uint64_t rcx_tag_user_most(const struct rcx_tag_layout *l)
{
    return (UINT64_C(1) << (l->sequence_bits + l->message_bits +
                            l->fingerprint_bits)) -
           1;
}

/* The tag of a user's message from source. */
static inline uint64_t rcx_tag_p2p(const struct rcx_tag_layout *l,
                                   uint64_t comm, uint64_t tag, uint64_t source)
{
    return RCX_TAG_P2P | rcx_tag_base(l, comm, 0) | tag << l->rank_bits |
           rcx_tag_low(source, l->rank_bits);
}

/* Mask for receives from any source: the whole tag except the source. */
static inline uint64_t rcx_tag_any_source(const struct rcx_tag_layout *l)
{
    return ~rcx_tag_low(UINT64_MAX, l->rank_bits);
}

/* Mask that identifies all users' messages of a communicator. */
static inline uint64_t rcx_tag_p2p_mask(const struct rcx_tag_layout *l)
{
    return RCX_TAG_P2P | rcx_tag_base(l, UINT64_MAX, 0);
}

static inline uint32_t rcx_tag_message_window(const struct rcx_tag_layout *l)
{
    return UINT32_C(1) << l->message_bits;
}

static inline uint64_t rcx_tag_sequence_window(const struct rcx_tag_layout *l)
{
    return UINT64_C(1) << l->sequence_bits;
}

#endif
