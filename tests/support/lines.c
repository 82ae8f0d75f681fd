/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log functions of tests. They check nothing, and need rcx.h alone.
 */
#include "lines.h"

#include <stdio.h>

void lines_keep(rcx_log_level_t level, const char *text, void *arg)
{
    struct lines *lines = arg;

    lines->level = level;
    if (lines->count++ == 0)
        snprintf(lines->first, sizeof lines->first, "%s", text);
    snprintf(lines->last, sizeof lines->last, "%s", text);
    if (level == RCX_LOG_ERROR && lines->error[0] == '\0')
        snprintf(lines->error, sizeof lines->error, "%s", text);
}

void lines_discard(rcx_log_level_t level, const char *text, void *arg)
{
    (void)level, (void)text, (void)arg;
}
