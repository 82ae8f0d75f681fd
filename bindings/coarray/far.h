/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of images that cannot be reached by loads and stores: on other nodes,
 * or where it is not shared. Its owner is asked, by active messages of a UCX
 * worker beside RCX's, and answers whenever it is in the runtime.
 *
 * Active messages, not UCX's puts, gets and atomics: sections with strides are
 * one message, memory that only its owner knows (allocatable components) can be
 * reached, and atomics are the processor's, the same that neighbours use
 * directly, where those of a network adapter or of UCX's emulation would not
 * see these.
 */
#ifndef RCX_BINDINGS_COARRAY_FAR_H
#define RCX_BINDINGS_COARRAY_FAR_H

#include "section.h"

enum caf_atomic {
    CAF_ATOMIC_ADD = 1, /* as gfortran counts them */
    CAF_ATOMIC_AND = 2,
    CAF_ATOMIC_OR = 3,
    CAF_ATOMIC_XOR = 4,
    CAF_ATOMIC_LOAD,
    CAF_ATOMIC_STORE,
    CAF_ATOMIC_SWAP_IF /* what is there equals compare */
};

/* Of a word of 1 to 8 bytes. */
struct caf_change {
    enum caf_atomic op;
    int bytes;
    uint64_t value, compare;
};
/* What was there before. */
uint64_t caf_change_here(void *at, const struct caf_change *change);

/* Collective over the initial team; without other images there is nothing to
 * open. */
rcx_status_t caf_far_open(rcx_comm_t *comm);
void caf_far_close(void);
/* Answer the requests of other images. */
void caf_far_progress(void);
/* Somebody may ask from now on, or be asked: there is memory that is not
 * shared. */
void caf_far_expect(void);

/* Its connection broke. */
bool caf_far_has_lost(int rank);

/* RCX_ERR_PEER_FAILED: it does not live any more. A put is there after the next
 * caf_far_complete(), or any other call to that image. */
rcx_status_t caf_far_get(int rank, const struct caf_section *s, char *packed);
rcx_status_t caf_far_put(int rank, const struct caf_section *s,
                         const char *packed);
rcx_status_t caf_far_change(int rank, uint64_t address,
                            const struct caf_change *change, uint64_t *old_p);
rcx_status_t caf_far_complete(void);

#endif
