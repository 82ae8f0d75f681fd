/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and evaluates the cost formulas of algorithms (syntax: formula.h), by
 * recursive descent. test_formulas.c compares the values with the algorithms'
 * cost functions.
 */
#include "formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 16, ROUNDING = 1 << 20 };

struct reader {
    const struct rcx_algo *algo;
    const struct rcx_shape *s;
    struct rcx_cost prices; /* values of a, b, g */
    const char *at;
    const char *end;   /* of the part before ';' */
    bool in_condition; /* names of parameters come first */
    int depth;         /* nesting of names within the values of names */
    const char *error; /* NULL: none */
};

static double sum(struct reader *r);

static void fail(struct reader *r, const char *why)
{
    if (!r->error)
        r->error = why;
    r->at = r->end;
}

static char peek(struct reader *r)
{
    while (r->at < r->end && *r->at == ' ')
        r->at++;
    return r->at < r->end ? *r->at : '\0';
}

static bool takes(struct reader *r, char c)
{
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

static void expect(struct reader *r, char c)
{
    if (!takes(r, c))
        fail(r, "something is missing");
}

/* Return the first c of text outside of all brackets; end: there is none. */
static const char *find(const char *text, const char *end, char c)
{
    for (int depth = 0; text < end; text++) {
        if (depth == 0 && *text == c)
            break;
        depth += strchr("([", *text) ? 1 : strchr(")]", *text) ? -1 : 0;
    }
    return text;
}

/* ---- Names --------------------------------------------------------------- */

struct word {
    const char *text;
    size_t length;
};

static bool is(struct word w, const char *text)
{
    return strlen(text) == w.length && strncmp(w.text, text, w.length) == 0;
}

static struct word word(struct reader *r)
{
    struct word w = {.text = r->at};

    while (r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '_'))
        r->at++;
    w.length = (size_t)(r->at - w.text);
    return w;
}

static bool find_parameter(const struct reader *r, struct word w,
                           double *value_p)
{
    const struct rcx_param *p = r->algo->params;

    for (int i = 0; p && p[i].name; i++) {
        if (is(w, p[i].name)) {
            *value_p = (double)r->s->params[i];
            return true;
        }
        for (int k = 0; r->in_condition && p[i].names && p[i].names[k]; k++) {
            if (is(w, p[i].names[k])) {
                *value_p = k;
                return true;
            }
        }
    }
    return false;
}

static bool find_constant(const struct reader *r, struct word w,
                          double *value_p)
{
    const struct {
        const char *name;
        double value;
    } known[] = {{"p", r->s->size},       {"n", (double)r->s->count},
                 {"root", r->s->root},    {"a", r->prices.rounds},
                 {"b", r->prices.volume}, {"g", r->prices.combines}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (is(w, known[i].name)) {
            *value_p = known[i].value;
            return true;
        }
    }
    return false;
}

/* Find the value of w in the definitions behind the expression: "name =
 * expression, ...". */
static bool find_definition(struct reader *r, struct word w, double *value_p)
{
    const char *colon = find(r->algo->formula, r->end, ':');
    const char *at =
        find(colon < r->end ? colon : r->algo->formula, r->end, ',');
    struct reader inner = *r;

    while (at < r->end) {
        struct word name;

        inner.at = at + 1;
        peek(&inner);
        name = word(&inner);
        at = find(at + 1, r->end, ',');
        if (!is(name, "") && name.length == w.length &&
            strncmp(name.text, w.text, w.length) == 0 && takes(&inner, '=')) {
            inner.in_condition = false;
            if (++inner.depth > DEEPEST)
                fail(&inner, "a name is its own value");
            *value_p = sum(&inner);
            r->error = r->error ? r->error : inner.error;
            return true;
        }
    }
    return false;
}

static double value_of(struct reader *r, struct word w)
{
    double value = 0;
    const bool known = r->in_condition ? find_parameter(r, w, &value) ||
                                             find_constant(r, w, &value) ||
                                             find_definition(r, w, &value)
                                       : find_constant(r, w, &value) ||
                                             find_definition(r, w, &value) ||
                                             find_parameter(r, w, &value);

    if (!known)
        fail(r, "an unknown name");
    return value;
}

/* ---- Expressions --------------------------------------------------------- */

/* Round away errors of floating point: floor() would make 2 of 2.9999999. */
static double near(double x)
{
    return round(x * ROUNDING) / ROUNDING;
}

static bool compares(struct reader *r)
{
    const double left = near(sum(r));
    const bool less = takes(r, '<'), more = !less && takes(r, '>');
    const bool equal = takes(r, '=');
    const double right = near(sum(r));

    if (!less && !more && !equal)
        fail(r, "no comparison");
    return (less && left < right) || (more && left > right) ||
           (equal && left == right);
}

static bool holds(struct reader *r, char end)
{
    const bool outer = r->in_condition;
    bool all = true;

    r->in_condition = true;
    do
        all &= compares(r);
    while (takes(r, ','));
    expect(r, end);
    r->in_condition = outer;
    return all;
}

static double twos(double x)
{
    double n = 0;

    while (x > 0 && fmod(x, 2) == 0) {
        x /= 2;
        n++;
    }
    return n;
}

static double power(struct reader *r);

static double of_two(struct reader *r, struct word name)
{
    double x, y;

    expect(r, '(');
    x = sum(r);
    expect(r, ',');
    y = sum(r);
    expect(r, ')');
    return is(name, "min") ? fmin(x, y) : fmax(x, y);
}

static double factor(struct reader *r)
{
    const char c = peek(r);
    struct word name;
    double value;
    char *end;

    if (isdigit((unsigned char)c)) {
        value = strtod(r->at, &end);
        r->at = end;
        return value;
    }
    if (takes(r, '[')) {
        return holds(r, ']');
    }
    if (takes(r, '(')) {
        value = sum(r);
        expect(r, ')');
        return value;
    }
    name = word(r);
    if (is(name, "floor"))
        return floor(near(power(r)));
    if (is(name, "ceil"))
        return ceil(near(power(r)));
    if (is(name, "lg"))
        return log2(power(r));
    if (is(name, "twos"))
        return twos(power(r));
    if (is(name, "min") || is(name, "max"))
        return of_two(r, name);
    return value_of(r, name);
}

static double power(struct reader *r)
{
    const double base = factor(r);

    return takes(r, '^') ? pow(base, power(r)) : base;
}

static double product(struct reader *r)
{
    double value = power(r);

    for (;;) {
        const char c = peek(r);

        if (takes(r, '/'))
            value /= power(r);
        else if (c == '(' || c == '[' || isalnum((unsigned char)c))
            value *= power(r);
        else
            return value;
    }
}

static double sum(struct reader *r)
{
    double value = product(r);

    for (;;) {
        if (takes(r, '+'))
            value += product(r);
        else if (takes(r, '-'))
            value -= product(r);
        else
            return value;
    }
}

/* ---- A formula ----------------------------------------------------------- */

/* Evaluate the expression with one price of 1. It ends at a comma or at the end
 * of the formula. */
static double price(struct reader r, struct rcx_cost prices,
                    const char **error_p)
{
    double value;

    r.prices = prices;
    value = sum(&r);
    if (peek(&r) && *r.at != ',')
        fail(&r, "more than an expression");
    *error_p = *error_p ? *error_p : r.error;
    return value;
}

bool formula_cost(const struct rcx_algo *algo, const struct rcx_shape *s,
                  struct rcx_cost *cost_p, const char **error_p)
{
    const char *end = algo->formula + strcspn(algo->formula, ";");
    struct reader r = {.algo = algo, .s = s, .at = algo->formula, .end = end};
    const bool has_conditions = find(r.at, end, ':') < end;

    *error_p = NULL;
    if (has_conditions && !holds(&r, ':')) {
        *error_p = r.error;
        return false;
    }
    cost_p->rounds = price(r, (struct rcx_cost){.rounds = 1}, error_p);
    cost_p->volume = price(r, (struct rcx_cost){.volume = 1}, error_p);
    cost_p->combines = price(r, (struct rcx_cost){.combines = 1}, error_p);
    *error_p = *error_p ? *error_p : r.error;
    return !*error_p;
}
