/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores that bypass the caches, for results that are longer than these. */
#ifndef RCX_CORE_BASE_STREAM_H
#define RCX_CORE_BASE_STREAM_H

#include <stddef.h>

/*
 * Copy bytes from src to dst, which do not overlap. The lines of dst are
 * written to memory without being fetched, and are in no cache afterwards.
 * Later stores of this thread are visible to others only after the copy is. On
 * processors other than x86-64 it is memcpy().
 *
 * It ends with a fence, which waits for memory: one long copy is faster than
 * several short ones.
 */
void rcx_stream_copy(void *dst, const void *src, size_t bytes);

#endif
