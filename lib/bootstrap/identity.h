/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which process of this machine is a rank of a job. A child process inherits
 * the environment of its rank, so it could join the job as the same rank. Both
 * processes would then wait for ever.
 */
#ifndef RCX_BOOTSTRAP_IDENTITY_H
#define RCX_BOOTSTRAP_IDENTITY_H

#include <sys/types.h>

/* Claim a rank of a job for this process until it exits; keeps one descriptor.
 * 0: claimed, or the machine does not support claims. Greater: id of the live
 * process that has claimed the rank. -1: a process has claimed it, but its id
 * is not known. */
pid_t rcx_identity_claim(const char *job, const char *rank);

#endif
