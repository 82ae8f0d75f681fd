/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of settings of shared memory: how RCX_SHM is parsed and printed.
 * lib/transport/node/decide.c decides those that are not set.
 */
#include "core/iface/shm_settings.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/parse.h"

enum { KB = 1 << 10, MB = 1 << 20 };

struct setting {
    const char *name;
    const char *doc;
    size_t at; /* in the struct */
    size_t least, most;
    bool is_power; /* of two */
    bool may_be_off;
};

static const struct setting table[RCX_SHM_SETTINGS] = {
    {.name = "ring",
     .doc = "bytes of the ring from each rank to each other one",
     .at = offsetof(struct rcx_shm_settings, ring),
     .least = 8 * KB,
     .most = 4 * MB,
     .is_power = true},
    {.name = "chunk",
     .doc = "longest part of a message in a ring",
     .at = offsetof(struct rcx_shm_settings, chunk),
     .least = 1 * KB,
     .most = 1 * MB},
    {.name = "eager",
     .doc = "longest message that is sent whole at once",
     .at = offsetof(struct rcx_shm_settings, eager),
     .least = RCX_SHM_SHORT,
     .most = 1 * MB},
    {.name = "direct",
     .doc = "least message that is read where it is, in memory of "
            "rcx_mem_alloc()",
     .at = offsetof(struct rcx_shm_settings, direct),
     .least = RCX_SHM_SHORT,
     .most = (size_t)1 << 30,
     .may_be_off = true},
    {.name = "cma",
     .doc = "least message that is read by the kernel",
     .at = offsetof(struct rcx_shm_settings, cma),
     .least = RCX_SHM_SHORT,
     .most = (size_t)1 << 30,
     .may_be_off = true},
    {.name = "cico",
     .doc = "bytes of a rank's buffer for copies that several ranks read",
     .at = offsetof(struct rcx_shm_settings, cico),
     .least = 16 * KB,
     .most = 4 * MB,
     .is_power = true,
     .may_be_off = true},
    {.name = "stream",
     .doc = "operands and results of so many bytes: received data "
            "bypasses the caches",
     .at = offsetof(struct rcx_shm_settings, stream),
     .least = 4 * KB,
     .most = (size_t)1 << 40,
     .may_be_off = true},
    {.name = "polls",
     .doc = "empty polls that take as long as yielding the core",
     .at = offsetof(struct rcx_shm_settings, polls),
     .least = 1,
     .most = 1 * MB},
};

const char *rcx_shm_setting_doc(int i)
{
    return i < RCX_SHM_SETTINGS ? table[i].doc : NULL;
}

size_t *rcx_shm_setting(struct rcx_shm_settings *s, int i)
{
    return (size_t *)(void *)((char *)s + table[i].at);
}

static size_t value_of(const struct rcx_shm_settings *s, int i)
{
    return *rcx_shm_setting((struct rcx_shm_settings *)(uintptr_t)s, i);
}

static size_t either(size_t set, size_t other)
{
    return set ? set : other;
}

/* ---- Text ---------------------------------------------------------------- */

/* "64K", or SIZE_MAX as "off". */
static const char *print_size(size_t size, char text[32])
{
    static const char *const units[] = {"", "K", "M", "G"};
    int unit = 0;

    if (size == SIZE_MAX)
        return "off";
    while (unit < 3 && size > 0 && size % KB == 0) {
        size /= KB;
        unit++;
    }
    snprintf(text, 32, "%zu%s", size, units[unit]);
    return text;
}

const char *rcx_shm_settings_print(const struct rcx_shm_settings *s, char *text,
                                   size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < RCX_SHM_SETTINGS && used < bytes; i++) {
        char size[32];

        if (value_of(s, i) > 0)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s=%s",
                                     used ? "," : "", table[i].name,
                                     print_size(value_of(s, i), size));
    }
    return used ? text : strncpy(text, "auto", bytes);
}

static void refuse_value(const struct setting *s, struct rcx_refusal *r)
{
    char least[32], most[32];

    snprintf(r->valid, sizeof r->valid, "valid is %s=auto, %s%s from %s to %s",
             s->name, s->may_be_off ? "off, or " : "or ",
             s->is_power ? "a power of two" : "a size",
             print_size(s->least, least), print_size(s->most, most));
}

static bool parse_value(const struct setting *s, const char *text,
                        size_t *value_p)
{
    size_t value;

    *value_p = strcmp(text, "off") == 0 ? SIZE_MAX : 0;
    if (strcmp(text, "auto") == 0 || *value_p)
        return !*value_p || s->may_be_off;
    if (!rcx_parse_bytes(text, &value) || value < s->least || value > s->most ||
        (s->is_power && (value & (value - 1)) != 0))
        return false;
    *value_p = value;
    return true;
}

static int find(const char *name, unsigned *seen, struct rcx_refusal *r)
{
    const char *names[RCX_SHM_SETTINGS + 1] = {NULL};

    for (int i = 0; i < RCX_SHM_SETTINGS; i++)
        names[i] = table[i].name;
    return rcx_suggest_find_once(name, names, seen, r);
}

/* "NAME=VALUE". */
static bool parse_one(char *text, struct rcx_shm_settings *set, unsigned *seen,
                      struct rcx_refusal *r)
{
    char *value = strchr(text, '=');
    int i;

    if (value)
        *value++ = '\0';
    i = find(text, seen, r);
    if (i < 0 || !value)
        return false;
    if (parse_value(&table[i], value, rcx_shm_setting(set, i)))
        return true;
    refuse_value(&table[i], r);
    return false;
}

/* Whether a setting would be lowered to most by others that are set. */
static bool is_beyond(const char *name, size_t set, size_t most,
                      struct rcx_refusal *r)
{
    char size[32];

    if (set <= most)
        return false;
    snprintf(r->valid, sizeof r->valid,
             "valid is %s=%s at most, by the other settings", name,
             print_size(most, size));
    return true;
}

/* Settings that are not set are as large as possible here. */
static bool agree(const struct rcx_shm_settings *set, struct rcx_refusal *r)
{
    struct rcx_shm_settings s = {.ring = either(set->ring, 4 * MB),
                                 .chunk = either(set->chunk, 1 * MB),
                                 .eager = either(set->eager, RCX_SHM_SHORT),
                                 .cma = either(set->cma, SIZE_MAX)};
    const size_t chunk = set->chunk - set->chunk % RCX_SHM_PART;

    rcx_shm_settings_limit(&s);
    return !is_beyond("chunk", chunk, s.chunk, r) &&
           !is_beyond("eager", set->eager, s.eager, r);
}

bool rcx_shm_settings_parse(const char *text, struct rcx_shm_settings *set,
                            struct rcx_refusal *r)
{
    char list[256], *rest = list, *one;
    unsigned seen = 0;

    memset(set, 0, sizeof *set);
    if (strcmp(text, "auto") == 0)
        return true;
    if (snprintf(list, sizeof list, "%s", text) >= (int)sizeof list)
        return false;
    while ((one = strsep(&rest, ",")) != NULL)
        if (!parse_one(one, set, &seen, r))
            return false;
    return agree(set, r);
}

/* ---- Values -------------------------------------------------------------- */

void rcx_shm_settings_limit(struct rcx_shm_settings *s)
{
    if (s->chunk > s->ring / RCX_SHM_CHUNKS)
        s->chunk = s->ring / RCX_SHM_CHUNKS;
    s->chunk -= s->chunk % RCX_SHM_PART;
    if (s->eager > s->chunk)
        s->eager = s->chunk;
    if (s->eager >= s->cma)
        s->eager = s->cma - 1;
    if (s->eager < RCX_SHM_SHORT)
        s->eager = RCX_SHM_SHORT;
}

uint64_t rcx_shm_settings_hash(const struct rcx_shm_settings *s)
{
    uint64_t hash = 0;

    for (int i = 0; i < RCX_SHM_SETTINGS; i++)
        hash = rcx_hash(hash, value_of(s, i));
    return hash;
}
