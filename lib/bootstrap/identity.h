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
 * 0: claimed; or not, as the machine does not support claims, or another user
 * has taken the name. Greater: id of the live process of this user that has
 * claimed the rank. */
pid_t rcx_identity_claim(const char *job, const char *rank);

#endif
