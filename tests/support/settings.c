/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read the configuration from the environment as a context does, and check the
 * result and the log lines. For tests of one process; no context is opened.
 */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

#include "core/run/context/context.h"
#include "test.h"

struct capture settings_said;
struct rcx_config settings;

int settings_clean(void **state)
{
    struct rcx_option o;

    (void)state;
    for (int i = 0; rcx_option_at(i, &o); i++)
        unsetenv(o.name);
    unsetenv("RCX_TYPO");
    memset(&settings, 0x77, sizeof settings);
    return 0;
}

rcx_status_t settings_read(const rcx_params_t *given)
{
    rcx_params_t params = given ? *given : (rcx_params_t){0};
    struct rcx_log log;
    rcx_status_t status;

    params.field_mask |= RCX_PARAM_LOG;
    params.log = capture_line;
    params.log_arg = &settings_said;
    status = rcx_context_configure(&params, &log, &settings);
    rcx_config_tell_all(&settings, &log);
    return status;
}

void settings_accept(const char *name, const char *value)
{
    setenv(name, value, 1);
    capture_begin(&settings_said);
    assert_ok(settings_read(NULL));
    capture_end(&settings_said);
    assert_string_equal(settings_said.text, "");
    unsetenv(name);
}

void settings_refuse(const char *name, const char *value, const char *word)
{
    char pair[512];

    snprintf(pair, sizeof pair, "%s=%s:", name, value);
    setenv(name, value, 1);
    assert_refused(&settings_said, settings_read(NULL), RCX_ERR_CONFIG, pair,
                   "valid", word);
    assert_int_equal(settings_said.host_lines, 1);
    assert_int_equal(settings_said.level, RCX_LOG_ERROR);
    unsetenv(name);
}

void settings_refuse_with(const char *name, const char *value,
                          const char *said_p)
{
    char line[512];

    snprintf(line, sizeof line, "%s=%s: %s\n", name, value, said_p);
    setenv(name, value, 1);
    assert_refused(&settings_said, settings_read(NULL), RCX_ERR_CONFIG, line);
    assert_string_equal(settings_said.text, line);
    unsetenv(name);
}
