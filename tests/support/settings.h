/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of the environment, read as a context does, and what is said of
 * them. */
#ifndef RCX_TESTS_SUPPORT_SETTINGS_H
#define RCX_TESTS_SUPPORT_SETTINGS_H

#include "capture.h"
#include "core/run/object/context.h"

extern struct capture settings_said;
extern struct rcx_config settings; /* as read last */

/* Set-up: no RCX_ variable of the caller's gets into the tests. */
int settings_clean(void **state);

rcx_status_t settings_read(const rcx_params_t *given);

/* Reads quietly with name=value in the environment. */
void settings_accept(const char *name, const char *value);

/* One line: the variable, its value, and word of what would be valid. */
void settings_refuse(const char *name, const char *value, const char *word);

/* What is said after the variable and its value, all of it. */
void settings_refuse_with(const char *name, const char *value,
                          const char *text);

#endif
