/* SPDX-License-Identifier: BSD-3-Clause */
/* rcx_info --config: the environment variables with their values, defaults and
 * documentation, from the library's table of options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rcx_info/rcx_info.h"

extern char **environ;

enum { COLUMNS = 80 };

void info_print_wrapped(const char *label, const char *text)
{
    int at = printf("%s", label);
    const int start = at;

    while (*text) {
        const int word = (int)strcspn(text, " ");

        if (at > start && at + 1 + word > COLUMNS)
            at = printf("\n%*s", start, "") - 1;
        else if (at > start)
            at += printf(" ");
        at += printf("%.*s", word, text);
        text += word;
        text += strspn(text, " ");
    }
    printf("\n");
}

enum info_source info_read_option(const struct rcx_option *o,
                                  struct rcx_config *config)
{
    const char *value = rcx_option_set(o);

    if (value && rcx_option_parse(o, value, config))
        return FROM_ENVIRONMENT;
    rcx_option_parse(o, o->fallback, config);
    return value ? NOT_VALID : FROM_DEFAULT;
}

/* The value that the environment has, if it may be shown. */
static const char *shown(const struct rcx_option *o)
{
    return o->is_secret ? "(not shown)" : getenv(o->name);
}

static void print_option(const struct rcx_option *o)
{
    static const char marks[] = {' ', '*', '!'};
    static const char *const notes[] = {"", "set by the environment",
                                        "NOT VALID"};
    struct rcx_config scratch = {0};
    const enum info_source source = info_read_option(o, &scratch);
    const bool given = source != FROM_DEFAULT;

    printf("%c %-22s %s", marks[source], o->name,
           given ? shown(o) : o->fallback);
    if (given)
        printf("   (%s; default %s)", notes[source], o->fallback);
    printf("\n");
    info_print_wrapped("      ", o->doc);
    info_print_wrapped("      valid: ", o->values);
}

/* Print UCX's variables that are set under RCX's prefix. Returns their
 * number. */
static int print_ucx_variables_set(void)
{
    static const char prefix[] = "RCX_UCX_";
    int n = 0;

    for (char **entry = environ; *entry; entry++) {
        const int length = (int)strcspn(*entry, "=");

        if (strncmp(*entry, prefix, sizeof prefix - 1) != 0)
            continue;
        printf("* %-22.*s %s   (set)\n", length, *entry,
               *entry + length + ((*entry)[length] == '='));
        n++;
    }
    return n;
}

void info_print_config(void)
{
    struct rcx_option o;

    printf("Environment variables   (* set, ! set to an invalid value; what a "
           "program sets\nis in its log with RCX_LOG=info)\n"
           "\n");
    for (int i = 0; rcx_option_at(i, &o); i++)
        print_option(&o);
    printf("  RCX_UCX_...\n");
    info_print_wrapped("      ",
                       "UCX's own variables, for RCX alone: RCX_UCX_TLS "
                       "replaces UCX_TLS for RCX, and for no other user of UCX "
                       "in the process; ucx_info -c lists them");
    print_ucx_variables_set();
    printf("\n");
}

/* Print the variables that are set, and a hint at the other options of
 * rcx_info. */
void info_print_changed(void)
{
    struct rcx_config scratch = {0};
    struct rcx_option o;
    int n = 0;

    printf("Environment variables that are set   (! to an invalid value)\n"
           "\n");
    for (int i = 0; rcx_option_at(i, &o); i++) {
        const enum info_source source = info_read_option(&o, &scratch);

        if (source == FROM_DEFAULT)
            continue;
        printf("%c %-22s %s   (%sdefault %s)\n",
               source == NOT_VALID ? '!' : '*', o.name, shown(&o),
               source == NOT_VALID ? "NOT VALID; " : "", o.fallback);
        n++;
    }
    if (n + print_ucx_variables_set() == 0)
        printf("  none\n");
    printf(
        "\nMore: --config all variables, --types ops and types, --algorithms, "
        "--machine,\n--launch, --explain COLLECTIVE; rcx_info --help.\n");
}
