/* SPDX-License-Identifier: BSD-3-Clause */
/* Spelling suggestions for unknown words. */
#ifndef RCX_CORE_BASE_SUGGEST_H
#define RCX_CORE_BASE_SUGGEST_H

#include <stddef.h>

/* The word that is the nearest so far to the one that was written. */
struct rcx_suggestion {
    const char *written;
    size_t length;    /* of it */
    const char *word; /* NULL: none is near */
    size_t distance;
};

/* Of the first length letters of written. */
struct rcx_suggestion rcx_suggestion(const char *written, size_t length);

/* Is it this one? Letters left out, put in, changed, or swapped with the next
 * count one each, and may be a third of the word. Case does not count. */
void rcx_suggest_try(struct rcx_suggestion *g, const char *word);

/* Store "; did you mean WORD?", prefix before the word, or nothing. Returns
 * text. */
const char *rcx_suggest_print(const struct rcx_suggestion *g,
                              const char *prefix, char *text, size_t bytes);

/*
 * All of that for a word of a list: store "A, B, C; did you mean B?" and return
 * text. Name i is *(const char **)(table + i * stride), NULL is the end;
 * written is looked at up to a ':', behind which parameters stand.
 */
const char *rcx_suggest_list(const char *written, const void *table,
                             size_t stride, char *text, size_t bytes);

/* What is said of a value that is refused. */
struct rcx_refusal {
    char valid[256]; /* what would be; empty: all that is documented */
    char guess[64];  /* what may have been meant: see rcx_suggest_print() */
};

/* The place of text among names, which NULL ends; -1: it is not there, and r
 * has a guess. */
int rcx_suggest_find(const char *text, const char *const names[],
                     struct rcx_refusal *r);

#endif
