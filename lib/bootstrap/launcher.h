/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds hints in the environment at the launcher of this process. A process
 * that was started as one of several must never run as rank 0 of 1.
 */
#ifndef RCX_BOOTSTRAP_LAUNCHER_H
#define RCX_BOOTSTRAP_LAUNCHER_H

#include <stdbool.h>

#include "core/iface/bootstrap.h"

/* Whether the environment names a PMIx server, running or not. */
bool rcx_launcher_names_pmix(void);

/*
 * RCX_OK if this process may run alone: no variable hints at a launcher of
 * several processes, or the user allows it. Otherwise RCX_ERR_LAUNCH, logged.
 * reason is a clause that tells why the other processes are not found, such as
 * "PMIx_Init says UNREACHABLE".
 */
rcx_status_t rcx_launcher_check_alone(const struct rcx_boot_args *args,
                                      const char *reason);

/* Warn if rcxrun has started this process, whose environment names no launcher:
 * a program between them has dropped it. */
void rcx_launcher_warn_alone(const struct rcx_boot_args *args);

enum { RCX_LAUNCHER_TEXT = 160 };

/* Whether a variable hints at a launcher. Stores "NAME=value". */
bool rcx_launcher_find(char text[RCX_LAUNCHER_TEXT]);

/* Print one line for each launcher variable that is set. */
void rcx_launcher_describe(void (*line)(const char *name, const char *value,
                                        void *arg),
                           void *arg);

#endif
