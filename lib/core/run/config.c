/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/base/words.h"
#include "core/sched/params.h"

extern char **environ;

/* The place of text among names; -1 if it is not there. */
static int one_of(const char *text, const char *const names[],
                  struct rcx_config *config)
{
    struct rcx_guess guess = rcx_guess(text, strlen(text));

    for (int i = 0; names[i]; i++) {
        if (strcmp(text, names[i]) == 0)
            return i;
        rcx_guess_try(&guess, names[i]);
    }
    rcx_guess_print(&guess, "", config->guess, sizeof config->guess);
    return -1;
}

/* ---- Methods -------------------------------------------------------------- */

/* Parameters that go with every algorithm. */
enum { SEGMENT, COMMON_WINDOW, COMMON };
static const struct rcx_param common[] = {
    [SEGMENT] = {.name = "segment", .most = INT64_MAX},
    [COMMON_WINDOW] = {.name = "window", .least = 1, .most = RCX_WINDOW_MAX},
    [COMMON] = {.name = NULL},
};
static const struct rcx_algo any = {.name = "auto", .params = common};

/* There is no parameter of that name: tell those there are. */
static bool refuse_name(const char *name, const struct rcx_algo *algo,
                        struct rcx_config *config)
{
    const struct rcx_algo *const owners[] = {&any, algo};
    struct rcx_guess guess = rcx_guess(name, strlen(name));
    char names[RCX_CONFIG_VALID / 2];
    size_t used = 0;

    for (int i = 0; i < 2; i++) {
        const struct rcx_param *p = owners[i] ? owners[i]->params : NULL;

        for (; p && p->name && used < sizeof names; p++) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used ? ", " : "", p->name);
            rcx_guess_try(&guess, p->name);
        }
    }
    rcx_guess_print(&guess, "", config->guess, sizeof config->guess);
    snprintf(config->valid, sizeof config->valid,
             "\"%.32s\" is no parameter of %s; valid are %s", name,
             algo ? algo->name : any.name, names);
    return false;
}

static bool refuse_value(const struct rcx_param *p, const char *value,
                         struct rcx_config *config)
{
    char range[RCX_CONFIG_VALID / 2];

    if (p->names)
        one_of(value, p->names, config); /* for its guess */
    snprintf(config->valid, sizeof config->valid, "%s: valid is %s", p->name,
             rcx_param_range(p, range, sizeof range));
    return false;
}

/* One "name=value" after an algorithm's name. */
static bool parse_parameter(char *text, struct rcx_forced *forced,
                            struct rcx_config *config)
{
    int64_t numbers[COMMON] = {-1, -1};
    const struct rcx_algo *owner = forced->algo;
    const struct rcx_param *p;
    int64_t *values = forced->params;
    char *value = strchr(text, '=');

    if (value)
        *value++ = '\0';
    p = owner ? rcx_params_find(owner, text) : NULL;
    if (!p) {
        owner = &any;
        values = numbers;
        p = rcx_params_find(owner, text);
    }
    if (!p)
        return refuse_name(text, forced->algo, config);
    if (!value || !rcx_params_parse(owner, text, value, values))
        return refuse_value(p, value ? value : "", config);
    if (numbers[SEGMENT] >= 0)
        forced->segment_bytes = (size_t)numbers[SEGMENT];
    if (numbers[COMMON_WINDOW] >= 0)
        forced->window = (unsigned)numbers[COMMON_WINDOW];
    return true;
}

static bool refuse_algo(const char *name, enum rcx_coll coll,
                        struct rcx_config *config)
{
    struct rcx_guess guess = rcx_guess(name, strlen(name));

    rcx_guess_try(&guess, any.name);
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if ((*a)->coll == coll)
            rcx_guess_try(&guess, (*a)->name);
    rcx_guess_print(&guess, "", config->guess, sizeof config->guess);
    return false;
}

static bool parse_method(const char *text, enum rcx_coll coll,
                         struct rcx_config *config)
{
    static const char prefer[] = "prefer:";
    struct rcx_forced forced = {.segment_bytes = SIZE_MAX};
    char copy[128], *rest = copy, *parameters;

    forced.preferred = strncmp(text, prefer, strlen(prefer)) == 0;
    text += forced.preferred ? strlen(prefer) : 0;
    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(copy, text);
    parameters = strchr(copy, ':');
    if (parameters)
        *parameters++ = '\0';
    if (forced.preferred || strcmp(copy, any.name) != 0) {
        forced.algo = rcx_algo_find(coll, copy);
        if (!forced.algo)
            return refuse_algo(copy, coll, config);
        rcx_params_reset(forced.algo, forced.params);
    }
    for (rest = parameters; rest;) {
        char *parameter = strsep(&rest, ",");

        if (!parse_parameter(parameter, &forced, config))
            return false;
    }
    config->forced[coll] = forced;
    return true;
}

/* loose is nothing to ask for: auto is in its place */
static bool parse_order(const char *text, struct rcx_config *config)
{
    const char *names[RCX_ORDER_CANONICAL + 2] = {"auto"};
    int i;

    for (i = RCX_ORDER_SAME; i <= RCX_ORDER_CANONICAL; i++)
        names[i] = rcx_order_name((rcx_order_t)i);
    i = one_of(text, names, config);
    config->order_is_set = i > 0;
    config->order = i > 0 ? (rcx_order_t)i : RCX_ORDER_SAME;
    return i >= 0;
}

static bool parse_wait(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"auto", "poll", "yield", "block", NULL};
    const int i = one_of(text, names, config);

    config->wait = (enum rcx_wait)i;
    return i >= 0;
}

static bool parse_timeout(const char *text, struct rcx_config *config)
{
    config->timeout_is_set = strcmp(text, "none") != 0;
    config->timeout_ns = 0;
    return !config->timeout_is_set || rcx_parse_time(text, &config->timeout_ns);
}

static bool parse_progress(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"call", "thread", NULL};
    const int i = one_of(text, names, config);

    config->progress_thread = i == 1;
    return i >= 0;
}

static bool parse_err_mode(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"none", "peer", NULL};
    const int i = one_of(text, names, config);

    config->looks_for_dead = i == 1;
    return i >= 0;
}

static bool parse_dump(const char *text, struct rcx_config *config)
{
    const bool wanted = strcmp(text, "none") != 0;

    if (strlen(text) >= sizeof config->dump || !*text)
        return false;
    strcpy(config->dump, wanted ? text : "");
    return true;
}

static bool parse_check(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"off", "cheap", "full", NULL};
    const int i = one_of(text, names, config);

    config->check = (enum rcx_check)i;
    return i >= 0;
}

static bool parse_log(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"error", "warn", "info", "debug", NULL};
    const int i = one_of(text, names, config);

    config->log_level = (rcx_log_level_t)i;
    return i >= 0;
}

static bool parse_isa(const char *text, struct rcx_config *config)
{
    const char *names[RCX_ISA_COUNT + 2] = {"auto"};
    int i;

    for (i = 0; i < RCX_ISA_COUNT; i++)
        names[i + 1] = rcx_isa_name((enum rcx_isa)i);
    i = one_of(text, names, config);
    config->isa = i > 0 ? (enum rcx_isa)(i - 1) : rcx_isa_best();
    return i >= 0 && rcx_isa_available(config->isa);
}

static bool parse_plan_cache(const char *text, struct rcx_config *config)
{
    return rcx_parse_bytes(text, &config->plan_cache_bytes);
}

static bool parse_allow_singleton(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"0", "1", NULL};
    const int i = one_of(text, names, config);

    config->allow_singleton = i == 1;
    return i >= 0;
}

/* Of no collective. */
static const struct rcx_option others[] = {
    {"RCX_ORDER", "auto", "auto, same, rank, uniform or canonical",
     "lowest order level of reductions; auto: what rcx_init() was given, or "
     "same",
     parse_order},
    {"RCX_WAIT", "auto", "auto, poll, yield or block",
     "how to wait: poll without end, yield the core after every empty poll, "
     "sleep after some, or yield soon where ranks outnumber cores and late "
     "elsewhere",
     parse_wait},
    {"RCX_PROGRESS", "call", "call or thread",
     "who makes progress: whoever calls RCX, or a thread as well, which sleeps "
     "while there is nothing to do",
     parse_progress},
    {"RCX_TIMEOUT", "none",
     "none, 0, or a time with its unit: 500ms, 30s, 10m, 1h",
     "deadline of every operation; 0: no end; none: what rcx_init() was given",
     parse_timeout},
    {"RCX_ERR_MODE", "none", "none or peer",
     "peer: UCX watches whether peers live, at the price of slower lanes (no "
     "CMA inside a node); none: only deadlines find the dead",
     parse_err_mode},
    {"RCX_CHECK", "cheap", "off, cheap or full",
     "find calls of different ranks that do not belong together: full compares "
     "them before data moves, cheap finds most of those that would hang",
     parse_check},
    {"RCX_DUMP", "none", "none, or a path of up to 255 bytes",
     "when a communicator fails, write its last operations to PATH.RANK.json, "
     "for rcx_trace",
     parse_dump},
    {"RCX_PLAN_CACHE", "16M", "a size: 0, 64K, 16M, 1G",
     "bytes of plans that a communicator keeps", parse_plan_cache},
    {"RCX_ISA", "auto", "auto, or a level of this CPU: baseline, avx2, avx512",
     "instruction set of the reduction kernels", parse_isa},
    {"RCX_LOG", "warn", "error, warn, info or debug",
     "least severe messages that are printed", parse_log},
    {"RCX_ALLOW_SINGLETON", "0", "0 or 1",
     "run as a single process though a launcher seems to have started several",
     parse_allow_singleton},
};
enum { OTHERS = sizeof others / sizeof *others };

static struct rcx_option method_option(enum rcx_coll coll)
{
    return (struct rcx_option){
        .name = rcx_colls[coll].variable,
        .fallback = any.name,
        .values = "auto or [prefer:]NAME[:segment=BYTES][,window=1..8]"
                  "[,PARAMETER=VALUE]",
        .doc = rcx_colls[coll].chooses};
}

enum rcx_coll rcx_option_coll(const struct rcx_option *option)
{
    int coll = 0;

    while (coll < RCX_COLL_COUNT && option->name != rcx_colls[coll].variable)
        coll++;
    return (enum rcx_coll)coll;
}

bool rcx_option_at(int i, struct rcx_option *option_p)
{
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++) {
        if (rcx_colls[coll].variable && i-- == 0) {
            *option_p = method_option((enum rcx_coll)coll);
            return true;
        }
    }
    if (i < OTHERS)
        *option_p = others[i];
    return i < OTHERS;
}

bool rcx_option_parse(const struct rcx_option *option, const char *text,
                      struct rcx_config *config)
{
    return option->parse ? option->parse(text, config)
                         : parse_method(text, rcx_option_coll(option), config);
}

/* For a method, the valid algorithm names follow the values' grammar. */
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

/* One line more, if there is room. */
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

static void warn_of_unknown(struct rcx_config *config)
{
    static const char prefix[] = "RCX_";
    const size_t before = strlen(prefix);

    for (char **entry = environ; entry && *entry; entry++) {
        const size_t length = strcspn(*entry, "=");
        struct rcx_guess guess;
        struct rcx_option o;
        char text[RCX_CONFIG_GUESS];
        bool known = false;

        if (!(*entry)[length] || strncmp(*entry, prefix, before) != 0 ||
            strncmp(*entry, "RCX_UCX_", 8) == 0)
            continue;
        guess = rcx_guess(*entry + before, length - before);
        for (int i = 0; rcx_option_at(i, &o); i++) {
            known |= strlen(o.name) == length &&
                     strncmp(o.name, *entry, length) == 0;
            rcx_guess_try(&guess, o.name + before);
        }
        if (!known)
            note(config, RCX_CONFIG_WARNINGS,
                 "%.*s: no such variable; rcx_info lists them%s", (int)length,
                 *entry, rcx_guess_print(&guess, prefix, text, sizeof text));
    }
}

/* config has what the option's parser said of value. */
static void explain(const struct rcx_option *o, const char *value,
                    struct rcx_config *config)
{
    char names[512];

    if (config->valid[0]) {
        note(config, RCX_CONFIG_ERRORS, "%s=%s: %s%s", o->name, value,
             config->valid, config->guess);
    } else {
        list_names(o, names, sizeof names);
        note(config, RCX_CONFIG_ERRORS, "%s=%s: valid is %s%s%s", o->name,
             value, o->values, names, config->guess);
    }
}

rcx_status_t rcx_config_read(struct rcx_config *config, struct rcx_log *log)
{
    rcx_status_t status = RCX_OK;
    struct rcx_option o;

    memset(config, 0, sizeof *config);
    for (int i = 0; rcx_option_at(i, &o); i++) {
        const char *value = getenv(o.name);

        if (!rcx_option_parse(&o, o.fallback, config))
            return rcx_fail(log, RCX_ERR_INTERNAL, "%s: default", o.name);
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
    const char *c = config->lines[kind];
    uint64_t hash = *c != '\0';

    for (; *c; c++)
        hash = rcx_hash(hash, (unsigned char)*c);
    return hash;
}

static uint64_t hash_of_forced(const struct rcx_forced *forced)
{
    uint64_t hash = rcx_hash(forced->segment_bytes, forced->window);

    if (!forced->algo)
        return hash;
    hash = rcx_hash(hash, forced->preferred);
    for (const char *c = forced->algo->name; *c; c++)
        hash = rcx_hash(hash, (unsigned char)*c);
    for (int i = 0; i < RCX_PARAMS; i++)
        hash = rcx_hash(hash, (uint64_t)forced->params[i]);
    return hash;
}

void rcx_config_hash(const struct rcx_config *config,
                     uint64_t hashes[RCX_SHARED_SETTINGS])
{
    for (int i = 0; i < RCX_COLL_COUNT; i++)
        hashes[i] = hash_of_forced(&config->forced[i]);
    hashes[RCX_COLL_COUNT] = (uint64_t)config->order;
    hashes[RCX_COLL_COUNT + 1] = config->check == RCX_CHECK_FULL; /* messages */
}

const char *rcx_config_shared_name(int setting)
{
    static const char *const names[] = {"RCX_ORDER", "RCX_CHECK"};

    return setting < RCX_COLL_COUNT ? rcx_colls[setting].variable
                                    : names[setting - RCX_COLL_COUNT];
}
