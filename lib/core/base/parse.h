/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsers of times and sizes. */
#ifndef RCX_CORE_BASE_PARSE_H
#define RCX_CORE_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "500ms", "30s", "10m", "2h", "0" (none): true if text is a time. A number
 * without a unit is not: it could mean seconds or milliseconds. */
bool rcx_parse_time(const char *text, int64_t *ns_p);

/* "0.15ns", "20us", "3s": true if text is such a time, in the C locale. */
bool rcx_parse_seconds(const char *text, double *seconds_p);

/* "64K", "1M", "3": true if text is a size. */
bool rcx_parse_bytes(const char *text, size_t *bytes_p);

#endif
