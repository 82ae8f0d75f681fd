/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the environment says about the launcher of this process. A process that
 * was started as one of several must never run as rank 0 of 1.
 */
#ifndef RCX_BOOTSTRAP_LAUNCHER_H
#define RCX_BOOTSTRAP_LAUNCHER_H

#include <stdbool.h>

#include "core/iface/bootstrap.h"

/* True where the environment points to a PMIx server, dead or alive. */
bool rcx_launcher_names_pmix(void);

/*
 * RCX_OK where this process may run alone: nothing hints at a launcher of
 * several, or the user allows it. Else RCX_ERR_LAUNCH, logged; reason, a clause
 * such as "PMIx_Init says UNREACHABLE", tells why the others are not found.
 */
rcx_status_t rcx_launcher_check_alone(const struct rcx_boot_args *args,
                                      const char *reason);

enum { RCX_LAUNCHER_TEXT = 160 };

/* True, and "NAME=value" stored, where a variable hints at a launcher. */
bool rcx_launcher_find(char text[RCX_LAUNCHER_TEXT]);

/* One line for every variable that is looked at and set. */
void rcx_launcher_describe(void (*line)(const char *name, const char *value,
                                        void *arg),
                           void *arg);

#endif
