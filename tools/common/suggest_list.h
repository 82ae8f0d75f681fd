/* SPDX-License-Identifier: BSD-3-Clause */
/* Spelling suggestions from a list of names. */
#ifndef RCX_TOOLS_COMMON_SUGGEST_LIST_H
#define RCX_TOOLS_COMMON_SUGGEST_LIST_H

#include <stddef.h>

/*
 * Store "A, B, C; did you mean B?", as rcx_suggest_print() does for one word,
 * and return text. Name i is *(const char **)(table + i * stride); NULL ends
 * the list. written is compared up to a ':', which parameters follow.
 */
const char *suggest_list(const char *written, const void *table, size_t stride,
                         char *text, size_t bytes);

#endif
