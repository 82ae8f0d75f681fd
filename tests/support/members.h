/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a communicator must be, seen by one of its members, on a thread of its
 * own: the process ends where it is not.
 */
#ifndef RCX_TESTS_SUPPORT_MEMBERS_H
#define RCX_TESTS_SUPPORT_MEMBERS_H

#include "attempt.h"
#include "rcx/rcx.h"

enum { MEMBERS_MOST = 16 };

/* All ranks, from the first on. */
extern const int in_order[MEMBERS_MOST];

/* The i-th of many of all ranks of world: by dup, split and create_group in
 * turn. Now and then a split that makes none goes before it. */
rcx_comm_t *members_make(rcx_comm_t *world, int i);

/* comm consists of these ranks of the world, in this order; me is the own one.
 * Collectives on it are right. */
void members_check(rcx_comm_t *comm, int me, const int ranks[], int n);

/* The k-th of many collectives on comm is right. */
void members_run(rcx_comm_t *comm, uint64_t k);
/* The same in two parts; data differs by seed. */
void members_start(struct attempt *a, rcx_comm_t *comm, uint64_t k,
                   uint64_t seed);
void members_finish(struct attempt *a);
/* What is complete is right. */
void members_judge(struct attempt *a);

/* A random number below n. */
int members_draw(uint64_t *state, int n);
/* 0..n-1 in random order. */
void members_shuffle(uint64_t *state, int list[], int n);

/* A log function that drops what is expected. */
void members_hush(rcx_log_level_t level, const char *text, void *arg);

#endif
