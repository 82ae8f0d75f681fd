/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parsers of times and sizes.
 */
#include "core/base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool rcx_parse_bytes(const char *text, size_t *bytes_p)
{
    static const char units[] = "KMGT";
    char *end;
    size_t bytes;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    bytes = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    if (*end) {
        const char *unit = strchr(units, toupper((unsigned char)*end));
        const int shift = unit ? 10 * (int)(unit - units + 1) : 0;

        if (!unit || bytes > SIZE_MAX >> shift)
            return false;
        bytes <<= shift;
        end++;
        if (toupper((unsigned char)*end) == 'B')
            end++;
    }
    if (*end)
        return false;
    *bytes_p = bytes;
    return true;
}

bool rcx_parse_time(const char *text, int64_t *ns_p)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {
        {"ns", 1},
        {"us", 1000},
        {"ms", 1000000},
        {"s", 1000000000},
        {"m", INT64_C(60000000000)},
        {"h", INT64_C(3600000000000)},
    };
    char *end;
    unsigned long long number;

    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    number = strtoull(text, &end, 10);
    *ns_p = 0;
    if (number == 0 && !*end) /* in any unit */
        return true;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0)
            return errno == 0 && number <= INT64_MAX &&
                   !__builtin_mul_overflow((int64_t)number, units[i].ns, ns_p);
    return false;
}

/* "12.5"; strtod() would use the locale's decimal point. */
static double parse_decimal(const char *text, const char **end_p)
{
    double number = 0, place = 1;

    for (; isdigit((unsigned char)*text); text++)
        number = 10 * number + (*text - '0');
    if (*text == '.')
        for (text++; isdigit((unsigned char)*text); text++)
            number += (place /= 10) * (*text - '0');
    *end_p = text;
    return number;
}

bool rcx_parse_seconds(const char *text, double *seconds_p)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    const char *end;
    const double number = parse_decimal(text, &end);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        *seconds_p = number * units[i].seconds;
        if (isdigit((unsigned char)*text) && number < 1e9 &&
            strcmp(end, units[i].name) == 0)
            return true;
    }
    return false;
}
