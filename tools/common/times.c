/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of measured times: print and parse them.
 */
#include "common/times.h"

#include <string.h>

#include "core/base/suggest.h"
#include "core/sched/tuning.h"

bool times_print(FILE *file, const struct times_line *line)
{
    return fprintf(file, "%s %d %d %s %d %zu %.3f %s\n",
                   rcx_coll_name(line->coll), line->ranks, line->nodes,
                   line->is_scattered ? "scattered" : "blocks", line->cores,
                   line->bytes, 1e6 * line->seconds, line->method) > 0;
}

bool times_parse(const char *text, struct times_line *line)
{
    char coll[32], placed[16];
    struct rcx_refusal refusal;

    if (sscanf(text, "%31s %d %d %15s %d %zu %lf %127s", coll, &line->ranks,
               &line->nodes, placed, &line->cores, &line->bytes, &line->seconds,
               line->method) != 8)
        return false;
    line->seconds *= 1e-6;
    line->is_scattered = strcmp(placed, "scattered") == 0;
    return rcx_tuning_coll(coll, &line->coll, &refusal) && line->ranks > 0 &&
           line->nodes > 0 && line->ranks % line->nodes == 0;
}

bool times_meet(const struct times_line *a, const struct times_line *b)
{
    return a->coll == b->coll && a->ranks == b->ranks && a->nodes == b->nodes &&
           a->is_scattered == b->is_scattered && a->cores == b->cores &&
           a->bytes == b->bytes;
}
