/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spelling suggestions from a list of names, for the options of tools.
 */
#include "common/suggest_list.h"

#include <stdio.h>
#include <string.h>

#include "core/base/suggest.h"

const char *suggest_list(const char *written, const void *table, size_t stride,
                         char *text, size_t bytes)
{
    struct rcx_suggestion g = rcx_suggestion(written, strcspn(written, ":"));
    const char *name;
    size_t used = 0;

    text[0] = '\0';
    for (const char *at = table;
         (name = *(const char *const *)(const void *)at); at += stride) {
        rcx_suggest_try(&g, name);
        if (used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s",
                                     used ? ", " : "", name);
    }
    if (used < bytes)
        rcx_suggest_print(&g, "", text + used, bytes - used);
    return text;
}
