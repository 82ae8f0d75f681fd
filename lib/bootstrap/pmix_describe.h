/* SPDX-License-Identifier: BSD-3-Clause */
/* What a PMIx server says of a job, for people. */
#ifndef RCX_BOOTSTRAP_PMIX_DESCRIBE_H
#define RCX_BOOTSTRAP_PMIX_DESCRIBE_H

#include <pmix.h>

/* A line a fact; PMIx is initialised, and this process is me. */
void rcx_pmix_describe_job(const pmix_proc_t *me,
                           void (*line)(const char *name, const char *value,
                                        void *arg),
                           void *arg);

#endif
