/* SPDX-License-Identifier: BSD-3-Clause */
/* What somebody may have meant who wrote a word that is none. */
#ifndef RCX_CORE_BASE_WORDS_H
#define RCX_CORE_BASE_WORDS_H

#include <stddef.h>

/* The word that is the nearest so far to the one that was written. */
struct rcx_guess {
    const char *written;
    size_t length;    /* of it */
    const char *word; /* NULL: none is near */
    size_t distance;
};

/* Of the first length letters of written. */
struct rcx_guess rcx_guess(const char *written, size_t length);

/* Is it this one? Letters left out, put in, changed, or swapped with the next
 * count one each, and may be a third of the word. Case does not count. */
void rcx_guess_try(struct rcx_guess *g, const char *word);

/* Store "; did you mean WORD?", prefix before the word, or nothing. Returns
 * text. */
const char *rcx_guess_print(const struct rcx_guess *g, const char *prefix,
                            char *text, size_t bytes);

/*
 * All of that for a word of a list: store "A, B, C; did you mean B?" and return
 * text. Name i is *(const char **)(table + i * stride), NULL is the end;
 * written is looked at up to a ':', behind which parameters stand.
 */
const char *rcx_guess_offer(const char *written, const void *table,
                            size_t stride, char *text, size_t bytes);

/* What is said of a value that is refused. */
struct rcx_refusal {
    char valid[256]; /* what would be; empty: all that is documented */
    char guess[64];  /* what may have been meant: see rcx_guess_print() */
};

/* The place of text among names, which NULL ends; -1: it is not there, and r
 * has a guess. */
int rcx_word_find(const char *text, const char *const names[],
                  struct rcx_refusal *r);

#endif
