/* SPDX-License-Identifier: BSD-3-Clause */
/* Spelling suggestions for unknown words. */
#ifndef RCX_CORE_BASE_SUGGEST_H
#define RCX_CORE_BASE_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

/* The word that is nearest to the written one so far. */
struct rcx_suggestion {
    const char *written;
    size_t length;    /* of it */
    const char *word; /* NULL: none is near */
    size_t distance;
};

/* Begin with the first length letters of written. */
struct rcx_suggestion rcx_suggestion(const char *written, size_t length);

/* Try a word. An omission, an insertion, a change and a transposition each
 * count one, and may be a third of the word. Case does not count. */
void rcx_suggest_try(struct rcx_suggestion *g, const char *word);

/* Store "; did you mean WORD?", prefix before the word, or nothing. Returns
 * text. */
const char *rcx_suggest_print(const struct rcx_suggestion *g,
                              const char *prefix, char *text, size_t bytes);

/* Why a value was rejected. */
struct rcx_refusal {
    char valid[256]; /* valid values; empty: all that are documented */
    char guess[64];  /* a suggestion: see rcx_suggest_print() */
};

/* The index of text among names, which NULL ends; -1: it is not there, and r
 * has a suggestion. */
int rcx_suggest_find(const char *text, const char *const names[],
                     struct rcx_refusal *r);

/* The same for a name of a list, which has each at most once: *seen, 0 at its
 * begin, has a bit for each that was there. -1 also if this one was; r says
 * so. */
int rcx_suggest_find_once(const char *text, const char *const names[],
                          unsigned *seen, struct rcx_refusal *r);
/* Note number i of a list, whose name is text. False: it was there; r says
 * so. */
bool rcx_suggest_once(const char *text, int i, unsigned *seen,
                      struct rcx_refusal *r);

#endif
