/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spelling suggestions by the Damerau-Levenshtein distance.
 */
#include "core/base/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 40 }; /* letters of a word that are compared */

struct rcx_suggestion rcx_suggestion(const char *written, size_t length)
{
    return (struct rcx_suggestion){
        .written = written, .length = length, .distance = SIZE_MAX};
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Distance between the first n letters of a and the first m of b. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][LONGEST + 1], *before = rows[0], *last = rows[1],
                                 *next = rows[2];

    for (size_t k = 0; k <= m; k++)
        last[k] = k;
    for (size_t i = 1; i <= n; i++) {
        size_t *const oldest = before;

        next[0] = i;
        for (size_t k = 1; k <= m; k++) {
            next[k] = least(last[k] + 1, next[k - 1] + 1,
                            last[k - 1] + !same(a[i - 1], b[k - 1]));
            if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) &&
                same(a[i - 2], b[k - 1]) && before[k - 2] + 1 < next[k])
                next[k] = before[k - 2] + 1;
        }
        before = last;
        last = next;
        next = oldest;
    }
    return last[m];
}

void rcx_suggest_try(struct rcx_suggestion *g, const char *word)
{
    const size_t length = strlen(word);
    const size_t more =
        length > g->length ? length - g->length : g->length - length;
    size_t d;

    if (g->length > LONGEST || length > LONGEST || 3 * more > length)
        return; /* the distance is at least the difference in length */
    d = distance(g->written, g->length, word, length);
    if (d >= g->distance || 3 * d > length)
        return;
    g->distance = d;
    g->word = word;
}

const char *rcx_suggest_print(const struct rcx_suggestion *g,
                              const char *prefix, char *text, size_t bytes)
{
    text[0] = '\0';
    if (g->word)
        snprintf(text, bytes, "; did you mean %s%s?", prefix, g->word);
    return text;
}

int rcx_suggest_find(const char *text, const char *const names[],
                     struct rcx_refusal *r)
{
    struct rcx_suggestion guess = rcx_suggestion(text, strlen(text));

    for (int i = 0; names[i]; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    for (int i = 0; names[i]; i++)
        rcx_suggest_try(&guess, names[i]);
    rcx_suggest_print(&guess, "", r->guess, sizeof r->guess);
    return -1;
}

bool rcx_suggest_once(const char *text, int i, unsigned *seen,
                      struct rcx_refusal *r)
{
    const unsigned bit = 1u << i;
    const bool is_new = !(*seen & bit);

    if (!is_new)
        snprintf(r->valid, sizeof r->valid,
                 "\"%.32s\" is given twice; valid is once", text);
    *seen |= bit;
    return is_new;
}

int rcx_suggest_find_once(const char *text, const char *const names[],
                          unsigned *seen, struct rcx_refusal *r)
{
    const int i = rcx_suggest_find(text, names, r);

    return i >= 0 && rcx_suggest_once(text, i, seen, r) ? i : -1;
}
