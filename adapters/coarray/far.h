/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access to memory of images that cannot be reached by loads and stores: on
 * other nodes, or not in shared memory. The owner is asked by active messages
 * of a UCX worker beside RCX's, and answers whenever it is in the runtime.
 *
 * Why active messages, not UCX's puts, gets and atomics: a section with strides
 * is one message. Memory that only its owner knows (allocatable components) can
 * be reached. Atomics are the processor's own, which images of the owner's node
 * use directly; atomics of a network adapter, or UCX's emulation, are not
 * atomic with respect to these.
 */
#ifndef RCX_BINDINGS_COARRAY_FAR_H
#define RCX_BINDINGS_COARRAY_FAR_H

#include "section.h"

enum caf_atomic {
    CAF_ATOMIC_ADD = 1, /* the first four are numbered as in gfortran */
    CAF_ATOMIC_AND = 2,
    CAF_ATOMIC_OR = 3,
    CAF_ATOMIC_XOR = 4,
    CAF_ATOMIC_LOAD,
    CAF_ATOMIC_STORE,
    CAF_ATOMIC_SWAP_IF /* store value if the word equals compare */
};

/* An atomic operation on a word of 1 to 8 bytes. */
struct caf_change {
    enum caf_atomic op;
    int bytes;
    uint64_t value, compare;
};
/* Execute an atomic operation on memory of this process. Returns the previous
 * value. */
uint64_t caf_change_here(void *at, const struct caf_change *change);

/* Open the UCX worker, and exchange addresses. Collective over the initial
 * team. No effect if there is one image only. */
rcx_status_t caf_far_open(rcx_comm_t *comm);
void caf_far_close(void);
/* Answer the requests of other images. */
void caf_far_progress(void);
/* Make caf_far_progress() poll the worker from now on. To be called when there
 * is memory that is not shared, so that this image may be asked. */
void caf_far_expect(void);

/* Whether the connection to rank is broken. */
bool caf_far_has_lost(int rank);

/* Access memory of rank. RCX_ERR_PEER_FAILED: the image has failed. A put is
 * complete after the next caf_far_complete(), caf_far_get() or
 * caf_far_change(). */
rcx_status_t caf_far_get(int rank, const struct caf_section *s, char *packed);
rcx_status_t caf_far_put(int rank, const struct caf_section *s,
                         const char *packed);
rcx_status_t caf_far_change(int rank, uint64_t address,
                            const struct caf_change *change, uint64_t *old_p);
/* Wait until all puts are complete. RCX_ERR_PEER_FAILED: an image with puts has
 * failed; those to other images are complete. */
rcx_status_t caf_far_complete(void);

#endif
