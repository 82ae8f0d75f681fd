/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copy-in copy-out buffer of a rank: memory of its segment from which several
 * peers read one copy of a message. Each of them gets a slot in its FIFO that
 * says where the copy is.
 *
 * The buffer is used in parts, one after another. A part is used again when all
 * peers have read all that was put there for them. A peer counts what it has
 * read in the FIFO of which it is the writer, so each count has one writer. If
 * a peer has not read, no copy is shared for now, and messages are sent to each
 * peer by itself: nothing waits for a copy.
 */
#ifndef RCX_TRANSPORT_SHM_CICO_H
#define RCX_TRANSPORT_SHM_CICO_H

#include "transport/shm/mapped.h"

/* Whether a copy of buffer may be shared: it fits, is too long for a slot, and
 * is not in a region, where peers read it without a copy. */
static inline bool rcx_cico_takes(const struct rcx_shm_lane *lane,
                                  const void *buffer, size_t bytes)
{
    return bytes > RCX_SLOT_BYTES &&
           bytes <= lane->cico.bytes / RCX_CICO_PARTS &&
           !rcx_region_of(lane, buffer, bytes);
}

/* Copy buffer, which rcx_cico_takes(), for peers that are told next. Returns
 * the offset of the copy; SIZE_MAX: there is no room now. */
size_t rcx_cico_put(struct rcx_shm_lane *lane, const void *buffer,
                    size_t bytes);

/* Tell a peer where the copy is that was put last. False: it has no free slot,
 * or earlier messages to it wait. */
bool rcx_cico_tell(struct rcx_shm_channel *p, uint64_t tag, size_t at,
                   size_t bytes);

/* Where the peer's copy is mapped here. NULL: it cannot be mapped. */
const unsigned char *rcx_cico_find(struct rcx_shm_channel *p, size_t at);
/* A copy of the peer has been read, or is held. */
void rcx_cico_note_read(struct rcx_shm_channel *p);
/* Tell the peer of copies that have been read, up to the oldest held one. */
void rcx_cico_return(struct rcx_shm_channel *p);

#endif
