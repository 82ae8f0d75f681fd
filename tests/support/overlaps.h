/* SPDX-License-Identifier: BSD-3-Clause */
/* Overlapping communicators, all in use at once (need 22). */
#ifndef RCX_TESTS_SUPPORT_OVERLAPS_H
#define RCX_TESTS_SUPPORT_OVERLAPS_H

#include <stddef.h>
#include <stdint.h>

#include "rcx/rcx.h"

/*
 * One rank's part, the others' with the same seed: 64 communicators of random
 * members, by create_group and split. Nonblocking and persistent operations of
 * 0 to most elements of 8 bytes are in flight on all of them, started and
 * waited for in an order of each rank's own. The process ends where a result is
 * not what it must be.
 */
void overlaps_use(rcx_comm_t *world, uint64_t seed, size_t most);

#endif
