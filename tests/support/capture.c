/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capture what RCX logs, through a log function and on stderr, and check that a
 * rejected call logs exactly one line with given words. Used by one thread at a
 * time.
 */
#include "capture.h"

#include <string.h>
#include <unistd.h>

#include "test.h"

static void append(struct capture *c, const char *text)
{
    const size_t used = strlen(c->text);

    snprintf(c->text + used, sizeof c->text - used, "%s", text);
}

void capture_line(rcx_log_level_t level, const char *text, void *arg)
{
    struct capture *c = arg;

    c->host_lines++;
    c->level = level;
    append(c, text);
    append(c, "\n");
}

void capture_begin(struct capture *c)
{
    c->host_lines = c->stderr_lines = 0;
    c->text[0] = '\0';
    fflush(stderr);
    c->saved = dup(STDERR_FILENO);
    c->file = tmpfile();
    assert_non_null(c->file);
    assert_true(dup2(fileno(c->file), STDERR_FILENO) >= 0);
}

void capture_end(struct capture *c)
{
    char line[1024];

    fflush(stderr);
    assert_true(dup2(c->saved, STDERR_FILENO) >= 0);
    close(c->saved);
    rewind(c->file);
    while (fgets(line, sizeof line, c->file)) {
        c->stderr_lines++;
        append(c, line);
    }
    fclose(c->file);
}

/* Whether text has a line prefix that names the function: "rcx_f: ", or for
 * rcx_if and rcx_f_init that of the blocking form rcx_f. The prefixes made from
 * names such as rcx_init or rcx_irecv occur in no message. */
static bool is_named(const char *text, char *name)
{
    char said[64];
    char *init = strstr(name, "_init");

    snprintf(said, sizeof said, "%s: ", name);
    if (strstr(text, said))
        return true;
    if (init)
        *init = '\0';
    snprintf(said, sizeof said, "rcx_%s: ", name + sizeof "rcx_i" - 1);
    if (strstr(text, said))
        return true;
    snprintf(said, sizeof said, "%s: ", name);
    return init && strstr(text, said);
}

/* If expression contains a call of rcx.h, the text must name its function. */
static void check_function(const struct capture *c, const char *expression)
{
    char name[48];
    int end;

    while ((expression = strstr(expression, "rcx_"))) {
        if (sscanf(expression, "%40[a-z_]%n", name, &end) == 1 &&
            expression[end] == '(')
            break;
        expression++;
    }
    if (!expression || is_named(c->text, name))
        return;
    print_error("no \"%s: \" in: %s", name, c->text);
    fail();
}

void capture_check(const struct capture *c, const char *expression,
                   rcx_status_t status, rcx_status_t expected,
                   const char *const words[])
{
    assert_status(status, expected);
    if (c->host_lines + c->stderr_lines != 1)
        print_error("not one line, but: \"%s\"\n", c->text);
    assert_int_equal(c->host_lines + c->stderr_lines, 1);
    for (int i = 0; words[i]; i++) {
        if (!strstr(c->text, words[i]))
            print_error("no \"%s\" in: %s", words[i], c->text);
        assert_non_null(strstr(c->text, words[i]));
    }
    if (c->asks_for_name)
        check_function(c, expression);
}
