/* SPDX-License-Identifier: BSD-3-Clause */
/* Read settings from the environment as a context does, and check what is
 * logged about them. */
#ifndef RCX_TESTS_SUPPORT_SETTINGS_H
#define RCX_TESTS_SUPPORT_SETTINGS_H

#include "capture.h"
#include "core/run/object/context.h"

extern struct capture settings_said;
extern struct rcx_config settings; /* as read last */

/* Set-up function: unset all RCX_ variables that the caller may have set. */
int settings_clean(void **state);

rcx_status_t settings_read(const rcx_params_t *given);

/* Check that name=value is read without a log line. */
void settings_accept(const char *name, const char *value);

/* Check that name=value is rejected with one line, which has the variable, its
 * value, "valid" and word. */
void settings_refuse(const char *name, const char *value, const char *word);

/* Check that name=value is rejected with exactly the line "NAME=VALUE:
 * text". */
void settings_refuse_with(const char *name, const char *value,
                          const char *text);

#endif
