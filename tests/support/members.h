/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of a communicator by one of its members, each on its own thread. A
 * failed check ends the process.
 */
#ifndef RCX_TESTS_SUPPORT_MEMBERS_H
#define RCX_TESTS_SUPPORT_MEMBERS_H

#include "attempt.h"
#include "rcx/rcx.h"

enum { MEMBERS_MOST = 16 };

/* 0 to MEMBERS_MOST - 1. */
extern const int in_order[MEMBERS_MOST];

/* Make communicator number i of all ranks of world, by dup, split and
 * create_group in turn. If i is a multiple of 5, a split without any part
 * precedes it. */
rcx_comm_t *members_make(rcx_comm_t *world, int i);

/* Begin to make communicator number i, by the nonblocking calls in turn. */
void members_begin(rcx_comm_t *world, int i, rcx_comm_t **new_p,
                   rcx_request_t **request_p);

/* Check that comm has these n ranks of the world in this order, and that
 * collectives on it give correct results. me: own rank in the world. */
void members_check(rcx_comm_t *comm, int me, const int ranks[], int n);

/* Run collective number k on comm, and check it. */
void members_run(rcx_comm_t *comm, uint64_t k);
/* The same in two parts, with operands for seed. */
void members_start(struct attempt *a, rcx_comm_t *comm, uint64_t k,
                   uint64_t seed);
void members_finish(struct attempt *a);
/* Check a completed call. */
void members_verify(struct attempt *a);

/* A random number below n. */
int members_draw(uint64_t *state, int n);
/* 0..n-1 in random order. */
void members_shuffle(uint64_t *state, int list[], int n);

#endif
