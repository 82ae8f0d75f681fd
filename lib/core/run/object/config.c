/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the environment variables of RCX and the settings of the program, tells
 * of those that are not valid or not known, and hashes the settings that all
 * ranks must share. options.c has their table.
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

static bool find_option(const char *name, size_t length,
                        struct rcx_option *option_p)
{
    for (int i = 0; rcx_option_at(i, option_p); i++)
        if (strlen(option_p->name) == length &&
            strncmp(option_p->name, name, length) == 0)
            return true;
    return false;
}

enum { GUESS = sizeof((struct rcx_refusal *)NULL)->guess };

/* The option that may be meant by an unknown name, with or without prefix. */
static const char *guess_of(const char *name, size_t length, char text[GUESS])
{
    const size_t skip =
        length > PREFIX && strncmp(name, prefix, PREFIX) == 0 ? PREFIX : 0;
    struct rcx_suggestion guess = rcx_suggestion(name + skip, length - skip);
    struct rcx_option o;

    for (int i = 0; rcx_option_at(i, &o); i++)
        rcx_suggest_try(&guess, o.name + PREFIX);
    return rcx_suggest_print(&guess, prefix, text, GUESS);
}

static void warn_of(const char *name, size_t length, struct rcx_config *config)
{
    char text[GUESS];

    note(config, RCX_CONFIG_WARNINGS,
         "%.*s: no such variable; rcx_info lists them%s", (int)length, name,
         guess_of(name, length, text));
}

static void warn_of_unknown(struct rcx_config *config)
{
    struct rcx_option o;

    for (char **entry = environ; entry && *entry; entry++) {
        const size_t length = strcspn(*entry, "=");

        if ((*entry)[length] && strncmp(*entry, prefix, PREFIX) == 0 &&
            strncmp(*entry, "RCX_UCX_", 8) != 0 &&
            !find_option(*entry, length, &o))
            warn_of(*entry, length, config);
    }
}

/* Describe the error that the option's parser found in value. */
static void explain(const struct rcx_option *o, const char *value,
                    const struct rcx_refusal *refusal,
                    char text[RCX_CONFIG_TEXT])
{
    char names[512];

    if (refusal->valid[0]) {
        snprintf(text, RCX_CONFIG_TEXT, "%s=%s: %s%s", o->name, value,
                 refusal->valid, refusal->guess);
    } else {
        list_names(o, names, sizeof names);
        snprintf(text, RCX_CONFIG_TEXT, "%s=%s: valid is %s%s%s", o->name,
                 value, o->values, names, refusal->guess);
    }
}

/* ---- Settings of the program --------------------------------------------- */

/* The last one of this name with these flags that has a value; NULL: none. */
static const char *setting_of(const struct rcx_settings *given,
                              const char *name, unsigned flags)
{
    for (size_t i = given ? given->count : 0; i-- > 0;)
        if (given->list[i].flags == flags && given->list[i].value[0] &&
            strcmp(given->list[i].name, name) == 0)
            return given->list[i].value;
    return NULL;
}

/* Where the value of an option may come from, by precedence. */
enum { BY_PROGRAM, BY_ENVIRONMENT, BY_PROGRAM_FINALLY, SOURCES };

static void find_values(const struct rcx_option *o,
                        const struct rcx_settings *given,
                        const char *values[SOURCES])
{
    values[BY_PROGRAM] = setting_of(given, o->name, 0);
    values[BY_ENVIRONMENT] = rcx_option_set(o);
    values[BY_PROGRAM_FINALLY] = setting_of(given, o->name, RCX_SETTING_FINAL);
}

/* Why there is no such setting in this scope; NULL: there is. */
static const char *reject_name(const char *name, bool for_comm,
                               struct rcx_option *o, char text[RCX_CONFIG_TEXT])
{
    char guess[GUESS];

    if (!find_option(name, strlen(name), o))
        snprintf(text, RCX_CONFIG_TEXT,
                 "%s: no such setting; rcx_info lists them%s", name,
                 guess_of(name, strlen(name), guess));
    else if (o->scope == RCX_FOR_PROCESS)
        snprintf(text, RCX_CONFIG_TEXT, "%s: only the environment sets it",
                 name);
    else if (for_comm && o->scope != RCX_FOR_COMM)
        snprintf(text, RCX_CONFIG_TEXT,
                 "%s: is a setting of the context, which rcx_init() is given",
                 name);
    else
        return NULL;
    return text;
}

static bool check_names(const struct rcx_settings *given,
                        struct rcx_config *config)
{
    char text[RCX_CONFIG_TEXT];
    struct rcx_option o;

    for (size_t i = 0; given && i < given->count; i++) {
        if (!reject_name(given->list[i].name, false, &o, text))
            continue;
        note(config, RCX_CONFIG_ERRORS, "params.settings: %s", text);
        return false;
    }
    return true;
}

void rcx_config_tell_sources(const struct rcx_settings *given,
                             const struct rcx_log *log, rcx_log_level_t level)
{
    static const char *const texts[SOURCES] = {
        "by the program", "by the environment",
        "by the program, for which the environment does not count"};
    struct rcx_option o;

    for (int i = 0; rcx_option_at(i, &o); i++) {
        const char *values[SOURCES];
        int source = SOURCES - 1;

        find_values(&o, given, values);
        while (source >= 0 && !values[source])
            source--;
        if (source >= 0)
            rcx_log_line(log, level, "%s=%s is set %s", o.name,
                         o.is_secret ? "(not shown)" : values[source],
                         texts[source]);
    }
}

rcx_status_t rcx_config_set(struct rcx_config *config, const char *name,
                            const char *value, char text[RCX_CONFIG_TEXT])
{
    struct rcx_option o;

    if (reject_name(name, true, &o, text))
        return RCX_ERR_CONFIG;
    memset(&config->refusal, 0, sizeof config->refusal);
    if (rcx_option_parse(&o, value[0] ? value : o.fallback, config))
        return RCX_OK;
    explain(&o, value, &config->refusal, text);
    return RCX_ERR_CONFIG;
}

/* ---- All ----------------------------------------------------------------- */

/* The last value that is given counts. False: one is not valid, and config has
 * the default; the first time it is explained. */
static bool read_option(const struct rcx_option *o,
                        const struct rcx_settings *given,
                        struct rcx_config *config)
{
    const char *values[SOURCES];
    char text[RCX_CONFIG_TEXT];

    find_values(o, given, values);
    for (int i = 0; i < SOURCES; i++) {
        if (!values[i] || rcx_option_parse(o, values[i], config))
            continue;
        explain(o, values[i], &config->refusal, text);
        if (!config->lines[RCX_CONFIG_ERRORS][0])
            note(config, RCX_CONFIG_ERRORS, "%s%s",
                 i == BY_ENVIRONMENT ? "" : "params.settings: ", text);
        rcx_option_parse(o, o->fallback, config);
        return false;
    }
    return true;
}

rcx_status_t rcx_config_read(struct rcx_config *config,
                             const struct rcx_settings *given,
                             struct rcx_log *log)
{
    rcx_status_t status = RCX_OK;
    struct rcx_option o;

    memset(config, 0, sizeof *config);
    for (int i = 0; rcx_option_at(i, &o); i++) {
        if (!rcx_option_parse(&o, o.fallback, config))
            return rcx_fail(log, RCX_ERR_INTERNAL,
                            "%s: its default is not valid", o.name);
        if (!read_option(&o, given, config))
            status = RCX_ERR_CONFIG;
    }
    if (status == RCX_OK && !check_names(given, config))
        status = RCX_ERR_CONFIG;
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
    if (config->machine[0])
        rcx_machine_parse(config->machine, &config->tuning.machine, &unused);
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
    hashes[RCX_COLL_COUNT + 5] =
        (config->profile[0] != 0) | (config->trace[0] != 0) << 1;
}

const char *rcx_config_shared_name(int setting)
{
    static const char *const names[] = {
        "RCX_ORDER", "RCX_CHECK",   "RCX_TUNING",
        "RCX_SHM",   "RCX_MACHINE", "RCX_PROFILE or RCX_TRACE"};

    return setting < RCX_COLL_COUNT ? rcx_colls[setting].variable
                                    : names[setting - RCX_COLL_COUNT];
}
