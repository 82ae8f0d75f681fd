/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints what a PMIx server tells about a job, for people. */
#ifndef RCX_BOOTSTRAP_PMIX_DESCRIBE_H
#define RCX_BOOTSTRAP_PMIX_DESCRIBE_H

#include <pmix.h>

/* Print one fact per line. PMIx is initialised, and this process is me. */
void rcx_pmix_describe_job(const pmix_proc_t *me,
                           void (*line)(const char *name, const char *value,
                                        void *arg),
                           void *arg);

#endif
