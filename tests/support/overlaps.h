/* SPDX-License-Identifier: BSD-3-Clause */
/* Overlapping communicators, all in use at once (need 22). */
#ifndef RCX_TESTS_SUPPORT_OVERLAPS_H
#define RCX_TESTS_SUPPORT_OVERLAPS_H

#include <stddef.h>
#include <stdint.h>

#include "rcx/rcx.h"

/*
 * One rank's part of the test; all ranks pass the same seed. create_group and
 * split make 64 communicators of random members. Nonblocking and persistent
 * operations of 0 to most elements of 8 bytes are in flight on all of them.
 * Each rank starts and waits for them in an order of its own. A wrong result
 * ends the process.
 */
void overlaps_use(rcx_comm_t *world, uint64_t seed, size_t most);

#endif
