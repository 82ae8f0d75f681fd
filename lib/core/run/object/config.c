/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the environment variables of RCX, tells of those that are not valid or
 * not known, and hashes the settings that all ranks must share. options.c has
 * their table.
 */
#include "core/run/object/config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/suggest.h"

extern char **environ;

/* For a method, append the valid algorithms. */
static void list_names(const struct rcx_option *option, char *text,
                       size_t bytes)
{
    const enum rcx_coll coll = rcx_option_coll(option);
    size_t used = 0;

    text[0] = '\0';
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == coll && used < bytes)
            used +=
                (size_t)snprintf(text + used, bytes - used, "%s %s",
                                 used ? "," : "; NAME is one of", (*a)->name);
}

/* Append a line, if there is room. */
__attribute__((format(printf, 3, 4))) static void
note(struct rcx_config *config, enum rcx_config_kind kind, const char *format,
     ...)
{
    char *const lines = config->lines[kind];
    const size_t used = strlen(lines), room = RCX_CONFIG_LINES - used - 1;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(lines + used, room, format, args);
    va_end(args);
    if (used > 0 && (size_t)length >= room)
        lines[used] = '\0';
    else
        strcat(lines, "\n");
}

static const char prefix[] = "RCX_";
enum { PREFIX = sizeof prefix - 1 };

static bool is_option(const char *name, size_t length)
{
    struct rcx_option o;

    for (int i = 0; rcx_option_at(i, &o); i++)
        if (strlen(o.name) == length && strncmp(o.name, name, length) == 0)
            return true;
    return false;
}

static void warn_of(const char *name, size_t length, struct rcx_config *config)
{
    struct rcx_suggestion guess =
        rcx_suggestion(name + PREFIX, length - PREFIX);
    char text[sizeof config->refusal.guess];
    struct rcx_option o;

    for (int i = 0; rcx_option_at(i, &o); i++)
        rcx_suggest_try(&guess, o.name + PREFIX);
    note(config, RCX_CONFIG_WARNINGS,
         "%.*s: no such variable; rcx_info lists them%s", (int)length, name,
         rcx_suggest_print(&guess, prefix, text, sizeof text));
}

static void warn_of_unknown(struct rcx_config *config)
{
    for (char **entry = environ; entry && *entry; entry++) {
        const size_t length = strcspn(*entry, "=");

        if ((*entry)[length] && strncmp(*entry, prefix, PREFIX) == 0 &&
            strncmp(*entry, "RCX_UCX_", 8) != 0 && !is_option(*entry, length))
            warn_of(*entry, length, config);
    }
}

/* Describe the error that the option's parser found in value. */
static void explain(const struct rcx_option *o, const char *value,
                    struct rcx_config *config)
{
    char names[512];

    if (config->refusal.valid[0]) {
        note(config, RCX_CONFIG_ERRORS, "%s=%s: %s%s", o->name, value,
             config->refusal.valid, config->refusal.guess);
    } else {
        list_names(o, names, sizeof names);
        note(config, RCX_CONFIG_ERRORS, "%s=%s: valid is %s%s%s", o->name,
             value, o->values, names, config->refusal.guess);
    }
}

rcx_status_t rcx_config_read(struct rcx_config *config, struct rcx_log *log)
{
    rcx_status_t status = RCX_OK;
    struct rcx_option o;

    memset(config, 0, sizeof *config);
    for (int i = 0; rcx_option_at(i, &o); i++) {
        const char *value = rcx_option_set(&o);

        if (!rcx_option_parse(&o, o.fallback, config))
            return rcx_fail(log, RCX_ERR_INTERNAL,
                            "%s: its default is not valid", o.name);
        if (!value || rcx_option_parse(&o, value, config))
            continue;
        if (status == RCX_OK)
            explain(&o, value, config);
        rcx_option_parse(&o, o.fallback, config);
        status = RCX_ERR_CONFIG;
    }
    log->level = config->log_level;
    warn_of_unknown(config);
    return status;
}

rcx_status_t rcx_config_load(struct rcx_config *config, struct rcx_heap *heap,
                             const struct rcx_log *log)
{
    const rcx_status_t status = rcx_tuning_open(
        &config->tuning, heap, config->tuning_path, &config->refusal);
    struct rcx_refusal unused; /* they have been parsed before */

    config->measures_network &= !config->tuning.has_machine;
    if (status == RCX_ERR_CONFIG)
        note(config, RCX_CONFIG_ERRORS, "RCX_TUNING=%s: %s%s",
             config->tuning_path, config->refusal.valid, config->refusal.guess);
    else if (status != RCX_OK)
        rcx_fail(log, status, "no memory for the rules of methods");
    rcx_tuning_machine(config->machine, &config->tuning.machine, &unused);
    return status;
}

void rcx_config_unload(struct rcx_config *config, struct rcx_heap *heap)
{
    rcx_tuning_close(&config->tuning, heap);
}

void rcx_config_tell(struct rcx_config *config, enum rcx_config_kind kind,
                     const struct rcx_log *log)
{
    char *line = config->lines[kind], *end;

    while (!config->are_told[kind] && (end = strchr(line, '\n'))) {
        *end = '\0';
        rcx_log_line(log,
                     kind == RCX_CONFIG_ERRORS ? RCX_LOG_ERROR : RCX_LOG_WARN,
                     "%s", line);
        *end = '\n';
        line = end + 1;
    }
    config->are_told[kind] = true;
}

void rcx_config_tell_all(struct rcx_config *config, const struct rcx_log *log)
{
    for (int kind = 0; kind < RCX_CONFIG_KINDS; kind++)
        rcx_config_tell(config, (enum rcx_config_kind)kind, log);
}

uint64_t rcx_config_lines_hash(const struct rcx_config *config,
                               enum rcx_config_kind kind)
{
    return rcx_hash_text(config->lines[kind]);
}

void rcx_config_hash(const struct rcx_config *config,
                     uint64_t hashes[RCX_SHARED_SETTINGS])
{
    for (int i = 0; i < RCX_COLL_COUNT; i++)
        hashes[i] = rcx_method_hash(&config->spec[i]);
    hashes[RCX_COLL_COUNT] = (uint64_t)config->order;
    hashes[RCX_COLL_COUNT + 1] =
        config->check == RCX_CHECK_FULL; /* affects messages */
    hashes[RCX_COLL_COUNT + 2] = config->tuning.hash;
    hashes[RCX_COLL_COUNT + 3] = rcx_shm_settings_hash(&config->shm);
    hashes[RCX_COLL_COUNT + 4] = rcx_hash(
        config->measures_network, rcx_machine_hash(&config->tuning.machine));
}

const char *rcx_config_shared_name(int setting)
{
    static const char *const names[] = {"RCX_ORDER", "RCX_CHECK", "RCX_TUNING",
                                        "RCX_SHM", "RCX_MACHINE"};

    return setting < RCX_COLL_COUNT ? rcx_colls[setting].variable
                                    : names[setting - RCX_COLL_COUNT];
}
