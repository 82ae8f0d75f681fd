/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of messages through shared memory. RCX_SHM sets them, as a list like
 * "ring=1M,direct=4K"; a transport decides those that are not set. They change
 * how data travels, and no bit of a result.
 */
#ifndef RCX_CORE_IFACE_SHM_SETTINGS_H
#define RCX_CORE_IFACE_SHM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/suggest.h"

/* Sizes are in bytes. In what a user sets, 0 is not set. */
struct rcx_shm_settings {
    size_t ring;   /* of the ring from each rank to each other one; 2^k */
    size_t chunk;  /* longest part of a message that is in a ring */
    size_t eager;  /* longest message that is sent whole at once */
    size_t direct; /* messages from this size on are read where they are, if
                      that is mapped memory; SIZE_MAX: none */
    size_t cico;   /* of a rank's buffer for what several peers read; SIZE_MAX:
                      none */
    size_t cma;    /* messages from this size on are read by the kernel;
                      SIZE_MAX: none */
    size_t stream; /* calls with so many bytes of operands and results write
                      these past the caches; SIZE_MAX: none do */
    size_t polls;  /* empty polls that take as long as yielding the core */
};

/* SHORT: messages up to this size are always eager. PART: chunks are multiples
 * of it. CHUNKS: of a ring, at least. */
enum {
    RCX_SHM_SHORT = 112,
    RCX_SHM_PART = 64,
    RCX_SHM_CHUNKS = 4,
    RCX_SHM_SETTINGS = 8
};

/* Parse "auto" or a list. False: it is not valid, and r says why. */
bool rcx_shm_settings_parse(const char *text, struct rcx_shm_settings *set,
                            struct rcx_refusal *r);

/* Make chunk and eager fit the ring, and eager shorter than what is read. */
void rcx_shm_settings_limit(struct rcx_shm_settings *s);

/* Print them as RCX_SHM has them. Returns text. */
const char *rcx_shm_settings_print(const struct rcx_shm_settings *s, char *text,
                                   size_t bytes);

uint64_t rcx_shm_settings_hash(const struct rcx_shm_settings *s);

/* Setting i: what it is, and its value. NULL: there are fewer. */
const char *rcx_shm_setting_doc(int i);
size_t *rcx_shm_setting(struct rcx_shm_settings *s, int i);

#endif
