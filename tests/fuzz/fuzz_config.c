/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the environment. The input is an environment, with a variable on each
 * line. The value of each line is also given to the parser of every variable.
 * Accepted values must be valid, and a method must survive being printed and
 * parsed.
 */
#include "fuzz.h"

#include <string.h>

#include "core/run/context/context.h"
#include "core/run/object/context.h"
#include "core/sched/params.h"

extern char **environ;

enum { MOST_VARIABLES = 4, METHOD_LETTERS = 136 };

/* Configuration of an empty environment; its instruction set is the CPU's
 * best. */
static struct rcx_config defaults;

/* ---- Validity ------------------------------------------------------------ */

static void check_params(const struct rcx_algo *algo, const int64_t values[])
{
    const struct rcx_param *p = algo->params;

    for (int i = 0; p && p[i].name; i++) {
        int64_t least = p[i].least, most = p[i].most;

        if (p[i].names)
            for (least = 0, most = -1; p[i].names[most + 1];)
                most++;
        if (values[i] == RCX_PARAM_AUTO)
            fuzz_require(p[i].candidate);
        else
            fuzz_require(values[i] >= least && values[i] <= most);
    }
}

static void check_config(const struct rcx_config *config)
{
    fuzz_require(config->order >= RCX_ORDER_SAME);
    fuzz_require(config->order <= RCX_ORDER_CANONICAL);
    fuzz_require(config->wait >= RCX_WAIT_AUTO);
    fuzz_require(config->wait <= RCX_WAIT_BLOCK);
    fuzz_require(config->check >= RCX_CHECK_OFF);
    fuzz_require(config->check <= RCX_CHECK_FULL);
    fuzz_require(config->timeout_ns >= 0);
    fuzz_require(config->timeout_is_set || config->timeout_ns == 0);
    fuzz_require(memchr(config->dump, '\0', sizeof config->dump));
    fuzz_require(config->log_level >= RCX_LOG_ERROR);
    fuzz_require(config->log_level <= RCX_LOG_DEBUG);
    fuzz_require(config->isa >= RCX_ISA_BASELINE);
    fuzz_require(config->isa <= defaults.isa);
    for (int i = 0; i < RCX_COLL_COUNT; i++) {
        const struct rcx_method_spec *spec = &config->spec[i];

        fuzz_require(spec->window <= RCX_WINDOW_MAX);
        fuzz_require(!spec->algo || spec->algo->coll == (enum rcx_coll)i);
        fuzz_require(spec->algo || !spec->preferred);
        if (spec->algo)
            check_params(spec->algo, spec->params);
    }
}

/* ---- A method, printed and parsed ---------------------------------------- */

/* A buffer that is too short must get the first part of the text, and no byte
 * beyond its end. */
static void print_into_little(const struct rcx_method_spec *spec,
                              const char *method)
{
    const size_t sizes[] = {1, strlen(method) / 2 + 1, strlen(method)};

    for (int i = 0; i < 3; i++) {
        char *text = malloc(sizes[i]);

        fuzz_require(text);
        rcx_algo_print(spec->algo, spec->params, text, sizes[i]);
        fuzz_require(strncmp(text, method, sizes[i] - 1) == 0);
        fuzz_require(text[sizes[i] - 1] == '\0');
        free(text);
    }
}

/* Append a parameter of the method behind the algorithm's name. */
static void append(char text[METHOD_LETTERS], const char *name, size_t value)
{
    const size_t used = strlen(text);

    snprintf(text + used, METHOD_LETTERS - used, "%c%s=%zu",
             strrchr(text, '=') ? ',' : ':', name, value);
    fuzz_require(strlen(text) < METHOD_LETTERS - 1);
}

static void print(const struct rcx_method_spec *spec, char text[METHOD_LETTERS])
{
    char method[METHOD_LETTERS] = RCX_METHOD_AUTO;
    size_t used;

    if (spec->algo) {
        used = (size_t)rcx_algo_print(spec->algo, spec->params, method,
                                      sizeof method);
        fuzz_require(used == strlen(method));
        print_into_little(spec, method);
    }
    used = (size_t)snprintf(text, METHOD_LETTERS, "%s%s",
                            spec->preferred ? "prefer:" : "", method);
    fuzz_require(used < METHOD_LETTERS);
    if (spec->segment_bytes != SIZE_MAX)
        append(text, "segment", spec->segment_bytes);
    if (spec->window)
        append(text, "window", spec->window);
}

static void check_round_trip(const struct rcx_option *o,
                             const struct rcx_config *config)
{
    const enum rcx_coll coll = rcx_option_coll(o);
    const struct rcx_method_spec *before, *after;
    struct rcx_config again;
    char text[METHOD_LETTERS];

    if (coll == RCX_COLL_COUNT)
        return;
    before = &config->spec[coll];
    after = &again.spec[coll];
    print(before, text);
    fuzz_require(rcx_option_parse(o, text, &again));
    fuzz_require(after->algo == before->algo);
    fuzz_require(after->preferred == before->preferred);
    fuzz_require(after->segment_bytes == before->segment_bytes);
    fuzz_require(after->window == before->window);
    fuzz_require(memcmp(after->params, before->params, sizeof before->params) ==
                 0);
}

/* ---- The input ----------------------------------------------------------- */

struct lines {
    int errors, warnings;
};

static void keep_line(rcx_log_level_t level, const char *text, void *arg)
{
    struct lines *lines = arg;

    fuzz_require(text[0] != '\0' && strlen(text) < 1024);
    lines->errors += level == RCX_LOG_ERROR;
    lines->warnings += level == RCX_LOG_WARN;
}

static void configure(char *variables[], struct rcx_config *config)
{
    struct lines lines = {0, 0};
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = keep_line, .log_arg = &lines};
    char **saved = environ;
    struct rcx_option o;
    struct rcx_log log;
    rcx_status_t status;

    environ = variables;
    status = rcx_context_configure(&params, &log, config);
    rcx_config_tell_all(config, &log);
    environ = saved;
    fuzz_require(status == RCX_OK || status == RCX_ERR_CONFIG);
    fuzz_require(lines.errors == (status == RCX_ERR_CONFIG));
    fuzz_require(lines.warnings <= MOST_VARIABLES);
    if (status != RCX_OK)
        return;
    check_config(config);
    for (int i = 0; rcx_option_at(i, &o); i++)
        check_round_trip(&o, config);
}

static void parse_each(const char *value)
{
    struct rcx_option o;

    for (int i = 0; rcx_option_at(i, &o); i++) {
        struct rcx_config config = defaults;

        if (!rcx_option_parse(&o, value, &config))
            continue;
        check_config(&config);
        check_round_trip(&o, &config);
    }
}

/* Return a copy of the input, followed by that many zeros; store its lines. */
static char *split(const uint8_t *data, size_t bytes, size_t zeros,
                   char *lines[MOST_VARIABLES + 1])
{
    char *text = calloc(1, bytes + zeros), *rest = text;
    int n = 0;

    fuzz_require(text);
    if (bytes > 0)
        memcpy(text, data, bytes);
    while (n < MOST_VARIABLES && rest)
        lines[n++] = strsep(&rest, "\n");
    lines[n] = NULL;
    return text;
}

/* With two zeros: glibc's getenv() reads two bytes of a variable, even of an
 * empty one. RCX's own parsers must not read beyond the first zero. */
static void configure_by(const uint8_t *data, size_t bytes)
{
    char *variables[MOST_VARIABLES + 1];
    char *text = split(data, bytes, 2, variables);
    struct rcx_config config;

    configure(variables, &config);
    free(text);
}

int fuzz_input(const uint8_t *data, size_t bytes)
{
    char *lines[MOST_VARIABLES + 1], *none[] = {NULL};
    char *text = split(data, bytes, 1, lines);
    static bool is_ready;

    if (!is_ready)
        configure(none, &defaults);
    is_ready = true;
    configure_by(data, bytes);
    for (int i = 0; lines[i]; i++) {
        const char *equals = strchr(lines[i], '=');

        parse_each(equals ? equals + 1 : lines[i]);
    }
    free(text);
    return 0;
}
