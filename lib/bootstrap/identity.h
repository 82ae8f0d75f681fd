/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which process of this machine is a rank of a job. A process that a rank
 * starts has the rank's environment; if both joined the job, both would wait
 * for ever.
 */
#ifndef RCX_BOOTSTRAP_IDENTITY_H
#define RCX_BOOTSTRAP_IDENTITY_H

#include <sys/types.h>

/* This process is that rank, until it ends: it keeps one descriptor. 0; or the
 * process that is it already, and lives; -1: such a process, it cannot be told
 * which. Where the machine cannot tell: 0. */
pid_t rcx_identity_claim(const char *job, const char *rank);

#endif
