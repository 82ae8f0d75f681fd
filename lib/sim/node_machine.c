/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machines of the node model: reads their description, and places ranks on
 * their cores. A description is lines of words: "level NAME KEY=VALUE...",
 * "core KEY=VALUE...", "lane KEY=VALUE...", "name NAME". Several lines may set
 * keys of one level, and # begins a comment.
 */
#include "sim/node_machine.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/parse.h"

/* ---- Keys ---------------------------------------------------------------- */

enum unit { COUNT, SECONDS, BYTES, RATE };
enum line { LINE_LEVEL, LINE_CORE, LINE_LANE };
static const char *const line_names[] = {
    [LINE_LEVEL] = "level", [LINE_CORE] = "core", [LINE_LANE] = "lane"};
static const char *const unit_names[] = {[COUNT] = "a number from 1 on",
                                         [SECONDS] = "a time such as 25ns",
                                         [BYTES] = "a size such as 512K",
                                         [RATE] = "a rate such as 25GB/s"};

#define IN_LEVEL(field) offsetof(struct node_level, field)
#define IN_MACHINE(field) offsetof(struct node_machine, field)
static const struct key {
    enum line line;
    const char *name;
    enum unit unit;
    size_t at; /* in the level, or in the machine */
} keys[] = {
    {LINE_LEVEL, "cores", COUNT, IN_LEVEL(cores)},
    {LINE_LEVEL, "latency", SECONDS, IN_LEVEL(latency)},
    {LINE_LEVEL, "read", RATE, IN_LEVEL(read)},
    {LINE_LEVEL, "in", RATE, IN_LEVEL(in)},
    {LINE_LEVEL, "out", RATE, IN_LEVEL(out)},
    {LINE_LEVEL, "inside", RATE, IN_LEVEL(inside)},
    {LINE_LEVEL, "cache", BYTES, IN_LEVEL(cache)},
    {LINE_LEVEL, "cache-read", RATE, IN_LEVEL(cache_read)},
    {LINE_LEVEL, "memory", RATE, IN_LEVEL(memory)},
    {LINE_LEVEL, "memory-read", RATE, IN_LEVEL(memory_read)},
    {LINE_CORE, "copy", RATE, IN_MACHINE(copy)},
    {LINE_CORE, "combine", RATE, IN_MACHINE(combine)},
    {LINE_LANE, "send", SECONDS, IN_MACHINE(send)},
    {LINE_LANE, "recv", SECONDS, IN_MACHINE(recv)},
    {LINE_LANE, "line", SECONDS, IN_MACHINE(line)},
    {LINE_LANE, "flag", SECONDS, IN_MACHINE(flag)},
    {LINE_LANE, "gap", SECONDS, IN_MACHINE(gap)},
    {LINE_LANE, "readers", COUNT, IN_MACHINE(readers)},
    {LINE_LANE, "slot", BYTES, IN_MACHINE(slot)},
    {LINE_LANE, "chunk", BYTES, IN_MACHINE(chunk)},
    {LINE_LANE, "room", BYTES, IN_MACHINE(room)},
};
enum { KEYS = sizeof keys / sizeof *keys };

static bool parse_rate(const char *text, double *rate_p)
{
    char *end;
    const double value = strtod(text, &end);

    if (end == text || strcmp(end, "GB/s") != 0 || !(value > 0) ||
        !isfinite(value))
        return false;
    *rate_p = value * 1e9;
    return true;
}

static bool parse_value(enum unit unit, const char *text, void *at)
{
    switch (unit) {
    case SECONDS: return rcx_parse_seconds(text, at);
    case RATE: return parse_rate(text, at);
    case BYTES: return rcx_parse_bytes(text, at);
    default: return rcx_parse_bytes(text, at) && *(size_t *)at > 0;
    }
}

/* ---- Lines --------------------------------------------------------------- */

struct reader {
    struct node_machine *m;
    int line;
    char *why;
};

__attribute__((format(printf, 2, 3))) static bool
refuse(const struct reader *r, const char *format, ...)
{
    va_list args;
    const int used =
        r->line ? snprintf(r->why, NODE_TEXT, "line %d: ", r->line) : 0;

    va_start(args, format);
    vsnprintf(r->why + used, NODE_TEXT - (size_t)used, format, args);
    va_end(args);
    return false;
}

static bool set_key(const struct reader *r, enum line line, char *word,
                    struct node_level *level)
{
    char *value = strchr(word, '=');

    if (value)
        *value++ = '\0';
    for (int i = 0; value && i < KEYS; i++) {
        char *const owner = line == LINE_LEVEL ? (char *)level : (char *)r->m;

        if (keys[i].line != line || strcmp(keys[i].name, word) != 0)
            continue;
        return parse_value(keys[i].unit, value, owner + keys[i].at) ||
               refuse(r, "%s=%.20s: needs %s", word, value,
                      unit_names[keys[i].unit]);
    }
    return refuse(r, "\"%.24s\" is no key of %s", word, line_names[line]);
}

/* The level of that name, which is new if there is none. NULL: too many. */
static struct node_level *level_of(struct node_machine *m, const char *name)
{
    struct node_level *level = m->level;

    while (level < m->level + m->levels && strcmp(level->name, name) != 0)
        level++;
    if (level == m->level + NODE_LEVELS)
        return NULL;
    if (level == m->level + m->levels) {
        m->levels++;
        level->inside = INFINITY;
        level->in = level->out = INFINITY;
        snprintf(level->name, NODE_NAME, "%s", name);
    }
    return level;
}

static bool read_name(const struct reader *r, char **rest, char *name)
{
    const char *word = strsep(rest, " \t\r");

    if (!word || !*word || strchr(word, '='))
        return refuse(r, "needs a name");
    snprintf(name, NODE_NAME, "%s", word);
    return true;
}

static bool read_line(const struct reader *r, char *text)
{
    struct node_level *level = NULL;
    char name[NODE_NAME], *word;
    int line = LINE_LEVEL;

    text[strcspn(text, "#")] = '\0';
    text += strspn(text, " \t\r");
    if (!*text)
        return true;
    word = strsep(&text, " \t\r");
    if (strcmp(word, "name") == 0)
        return read_name(r, &text, r->m->name);
    while (line <= LINE_LANE && strcmp(word, line_names[line]) != 0)
        line++;
    if (line > LINE_LANE)
        return refuse(r,
                      "\"%.24s\": a line begins with name, level, core or "
                      "lane",
                      word);
    if (line == LINE_LEVEL) {
        if (!read_name(r, &text, name))
            return false;
        level = level_of(r->m, name);
        if (!level)
            return refuse(r, "more than %d levels", NODE_LEVELS);
    }
    while ((word = strsep(&text, " \t\r")))
        if (*word && !set_key(r, (enum line)line, word, level))
            return false;
    return true;
}

/* ---- What a machine needs ------------------------------------------------ */

static bool check_level(const struct reader *r, int i)
{
    struct node_machine *m = r->m;
    const struct node_level *level = &m->level[i];

    if (i == 0)
        return (level->cores == 1 && level->cache > 0) ||
               refuse(r, "%s: the first level has cores=1, and a cache",
                      level->name);
    if (level->cores <= level[-1].cores ||
        level->cores % level[-1].cores != 0 || level->cores > NODE_CORES_MAX)
        return refuse(r,
                      "%s: needs several times the %zu cores of %s, at most "
                      "%d",
                      level->name, level[-1].cores, level[-1].name,
                      NODE_CORES_MAX);
    if (!(level->latency > 0 && level->read > 0))
        return refuse(r, "%s: needs latency and read", level->name);
    if (level->cache > 0 && (m->cache_level > 0 || !(level->cache_read > 0)))
        return refuse(r, "%s: one level has a shared cache, and its cache-read",
                      level->name);
    if (level->memory > 0 && (m->memory_level > 0 || !(level->memory_read > 0)))
        return refuse(r, "%s: one level has memory, and its memory-read",
                      level->name);
    if (level->cache > 0)
        m->cache_level = i;
    if (level->memory > 0)
        m->memory_level = i;
    return true;
}

static bool check(const struct reader *r)
{
    const struct node_machine *m = r->m;

    for (int i = 0; i < m->levels; i++)
        if (!check_level(r, i))
            return false;
    if (m->levels < 2 || m->cache_level == 0 || m->memory_level == 0)
        return refuse(r, "needs two levels or more, a shared cache and memory");
    if (m->cache_level > m->memory_level)
        return refuse(r, "the groups with a shared cache contain those with "
                         "memory");
    if (!(m->copy > 0 && m->combine > 0))
        return refuse(r, "needs copy and combine of core");
    if (m->chunk < NODE_LINE || m->room < m->chunk || m->readers == 0)
        return refuse(r, "needs readers, chunk and room of lane, and a chunk "
                         "is a line or more and fits into the room");
    return true;
}

bool node_machine_parse(struct node_machine *m, const char *text,
                        char why[NODE_TEXT])
{
    struct reader r = {.m = m, .why = why};
    char *copy = strdup(text), *rest = copy, *line;
    bool good = copy || refuse(&r, "no memory");

    *m = (struct node_machine){.name = "?"};
    while (good && (line = strsep(&rest, "\n"))) {
        r.line++;
        good = read_line(&r, line);
    }
    free(copy);
    r.line = 0;
    return good && check(&r);
}

enum { LONGEST_FILE = 1 << 16 };

bool node_machine_read(struct node_machine *m, const char *path,
                       char why[NODE_TEXT])
{
    char text[LONGEST_FILE + 1];
    const ssize_t bytes = rcx_file_read(path, text, LONGEST_FILE);

    if (bytes < 0) {
        snprintf(why, NODE_TEXT, "%s", strerror(errno));
        return false;
    }
    text[bytes] = '\0';
    return node_machine_parse(m, text, why);
}

/* ---- Placement ----------------------------------------------------------- */

static int scattered(const struct node_machine *m, int rank)
{
    int core = 0;

    for (int i = m->levels - 1; i > 0; i--) {
        const int within = (int)m->level[i - 1].cores;
        const int groups = (int)m->level[i].cores / within;

        core += rank % groups * within;
        rank /= groups;
    }
    return core;
}

void node_place(const struct node_machine *m, enum node_placement placement,
                int ranks, int core[])
{
    for (int i = 0; i < ranks; i++)
        core[i] = placement == NODE_SCATTER ? scattered(m, i) : i;
}
