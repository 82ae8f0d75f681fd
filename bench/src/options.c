/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arguments of the timing loop: collectives, sizes, times. Those of the library
 * are not looked at.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "colls.h"
#include "options.h"

static int parse_sizes(const char *text, struct loop_options *o)
{
    o->n_sizes = 0;
    while (*text) {
        char *end;
        const unsigned long long bytes = strtoull(text, &end, 10);

        if (end == text || (*end && *end != ',') || bytes < sizeof(float) ||
            bytes % sizeof(float) || bytes > PTRDIFF_MAX ||
            o->n_sizes == LOOP_MAX_SIZES)
            return -1;
        o->bytes[o->n_sizes++] = (size_t)bytes;
        text = *end ? end + 1 : end;
    }
    return o->n_sizes ? 0 : -1;
}

static int parse_seconds(const char *text, double *seconds_p)
{
    char *end;
    const double seconds = strtod(text, &end);

    if (end == text || *end || !(seconds > 0 && seconds < 1e6))
        return -1;
    *seconds_p = seconds;
    return 0;
}

static int coll_of(const char *name, size_t length)
{
    for (int i = 0; i < LOOP_COLLS; i++)
        if (strlen(loop_colls[i].name) == length &&
            !memcmp(name, loop_colls[i].name, length))
            return i;
    return -1;
}

static int parse_colls(const char *text, struct loop_options *o)
{
    o->n_colls = 0;
    do {
        const size_t length = strcspn(text, ",");
        const int coll = coll_of(text, length);

        if (coll < 0 || o->n_colls == LOOP_COLLS)
            return -1;
        o->colls[o->n_colls++] = (enum loop_coll)coll;
        text += length;
    } while (*text++ == ',');
    return 0;
}

static int parse_count(const char *text, size_t most, size_t *count_p)
{
    char *end;

    *count_p = strtoul(text, &end, 10);
    return *end || *count_p < 1 || *count_p > most ? -1 : 0;
}

int loop_options_parse(int argc, char **argv, struct loop_options *o)
{
    double limit = 0;

    *o = (struct loop_options){
        .n_colls = 1, .seconds = 0.2, .pin = 1, .vectors = 8};
    parse_sizes("8,64,512,4096,16384,65536,262144,1048576,4194304,16777216", o);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        int bad = 0;

        if (!strcmp(argv[i], "--coll"))
            bad = parse_colls(value, o);
        else if (!strcmp(argv[i], "--sizes"))
            bad = parse_sizes(value, o);
        else if (!strcmp(argv[i], "--total"))
            bad = parse_count(value, SIZE_MAX, &o->total);
        else if (!strcmp(argv[i], "--time"))
            bad = parse_seconds(value, &o->seconds);
        else if (!strcmp(argv[i], "--first"))
            bad = parse_count(value, LOOP_FIRST_MOST, &o->first);
        else if (!strcmp(argv[i], "--limit"))
            bad = parse_seconds(value, &limit);
        else if (!strcmp(argv[i], "--vectors"))
            bad = parse_count(value, LOOP_VECTORS, &o->vectors);
        else if (!strcmp(argv[i], "--uneven"))
            o->uneven = 1;
        else if (!strcmp(argv[i], "--no-pin"))
            o->pin = 0;
        if (bad) {
            fprintf(stderr, "bench: %s '%s' is not valid\n", argv[i], value);
            return -1;
        }
    }
    o->limit = limit > 0 && limit < 1 ? 1 : (unsigned)limit;
    return 0;
}
