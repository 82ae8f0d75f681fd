/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses tuning rules, RCX's own and a user's, and finds the rules whose
 * conditions a call meets. Does not choose the method: see method.c.
 */
#include "core/sched/tuning.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/sched/price.h"

/* ---- Properties of a call ------------------------------------------------ */

/* Bytes of the vector, all blocks together. 0 if counts are local: each rank
 * knows only its own. */
static size_t total_of(const struct rcx_shape *s)
{
    return rcx_colls[s->coll].is_local ? 0 : s->count * s->elem_bytes;
}

/* Bytes of the vector, or of a block on average if there are blocks. */
static size_t bytes_of(const struct rcx_shape *s)
{
    const size_t parts = rcx_coll_has_blocks(s->coll) ? (size_t)s->size : 1;

    return total_of(s) / parts;
}

static bool holds(struct rcx_range range, size_t value)
{
    return range.from <= value && value <= range.to;
}

static bool answers(enum rcx_answer asked, bool is_so)
{
    return asked == RCX_ANSWER_ANY || (asked == RCX_ANSWER_YES) == is_so;
}

/* Whether rule applies to the machine. RCX's own rules for several nodes were
 * measured over TCP. They apply only if a message between nodes takes at least
 * tcp_alpha more, in seconds; otherwise the price decides. */
static bool is_of_machine(const struct rcx_rule *rule,
                          const struct rcx_shape *s)
{
    static const double tcp_alpha = 5e-6;

    return rule->is_users || !rcx_nodes_linked(s->nodes) ||
           rcx_machine_of(s)->link[RCX_LEVEL_NODE].alpha >= tcp_alpha;
}

/* Number of levels within nodes that divide the ranks. */
static size_t levels_of(const struct rcx_shape *s)
{
    size_t n = 0;

    for (const struct rcx_nodes *m = s->nodes; m; m = m->coarser)
        n += m->level > RCX_LEVEL_NODE && m->level < RCX_LEVEL_CORE;
    return n;
}

static bool is_met(const struct rcx_rule *rule, const struct rcx_shape *s)
{
    const struct rcx_nodes *n = rcx_nodes_linked(s->nodes);
    const size_t ranks = (size_t)s->size;

    return rule->coll == s->coll && is_of_machine(rule, s) &&
           holds(rule->ranks, ranks) &&
           holds(rule->nodes, n ? (size_t)n->count : 1) &&
           holds(rule->per_node, n ? (size_t)n->most : ranks) &&
           holds(rule->levels, levels_of(s)) &&
           holds(rule->bytes, bytes_of(s)) && holds(rule->total, total_of(s)) &&
           answers(rule->power, s->size == rcx_pow2_floor(s->size)) &&
           answers(rule->blocks, !n || n->in_order) &&
           answers(rule->shared, s->cores > 0 && s->size > s->cores);
}

const struct rcx_rule *rcx_tuning_next(const struct rcx_tuning *t,
                                       const struct rcx_shape *shape,
                                       const struct rcx_rule *last)
{
    int i = last ? (int)(last - t->rules) + 1 : 0;

    while (i < t->count && !is_met(&t->rules[i], shape))
        i++;
    return i < t->count ? &t->rules[i] : NULL;
}

/* ---- Parsing of a rule --------------------------------------------------- */

static const char blanks[] = " \t\r";

static const struct rcx_range all = {.from = 0, .to = SIZE_MAX};

/* Parse "A", "A..B", "A.." or "..B". */
static bool parse_range(char *text, struct rcx_range *range)
{
    char *dots = strstr(text, "..");
    char *last = dots ? dots + 2 : text;

    *range = all;
    if (dots)
        *dots = '\0';
    if (dots && !*text && !*last)
        return false;
    return (!*text || rcx_parse_bytes(text, &range->from)) &&
           ((dots && !*last) || rcx_parse_bytes(last, &range->to)) &&
           range->from <= range->to;
}

enum condition {
    RANKS,
    NODES,
    PER_NODE,
    BYTES,
    TOTAL,
    POWER,
    PLACED,
    CORES,
    WITHIN,
    CONDITIONS
};
static const char *const conditions[] = {
    [RANKS] = "ranks",   [NODES] = "nodes", [PER_NODE] = "per-node",
    [BYTES] = "bytes",   [TOTAL] = "total", [POWER] = "power",
    [PLACED] = "placed", [CORES] = "cores", [WITHIN] = "levels",
    [CONDITIONS] = NULL};

static bool parse_answer(const char *value, const char *const words[],
                         enum rcx_answer *answer_p, struct rcx_refusal *r)
{
    const int i = rcx_suggest_find(value, words, r);

    *answer_p = (enum rcx_answer)(i + 1);
    return i >= 0;
}

/* Parse "NAME=VALUE" into *rule. False: it is not valid, and r has the valid
 * conditions. */
static bool parse_condition(char *text, struct rcx_rule *rule, unsigned *seen,
                            struct rcx_refusal *r)
{
    static const char *const yes_no[] = {"yes", "no", NULL};
    static const char *const places[] = {"blocks", "scattered", NULL};
    static const char *const cores[] = {"shared", "own", NULL};
    struct rcx_range *const ranges[] = {
        [RANKS] = &rule->ranks,       [NODES] = &rule->nodes,
        [PER_NODE] = &rule->per_node, [BYTES] = &rule->bytes,
        [TOTAL] = &rule->total,       [WITHIN] = &rule->levels};
    char *value = strchr(text, '=');
    int i;

    snprintf(
        r->valid, sizeof r->valid,
        "a condition is one of ranks, nodes, per-node, levels, bytes, total = A, "
        "A..B, A.. or ..B, power = yes or no, placed = blocks or scattered, cores = "
        "shared or own");
    if (!value)
        return false;
    *value++ = '\0';
    i = rcx_suggest_find_once(text, conditions, seen, r);
    if (i == POWER)
        return parse_answer(value, yes_no, &rule->power, r);
    if (i == PLACED)
        return parse_answer(value, places, &rule->blocks, r);
    if (i == CORES)
        return parse_answer(value, cores, &rule->shared, r);
    return i >= 0 && parse_range(value, ranges[i]);
}

static bool refuse_coll(const char *text, struct rcx_refusal *r)
{
    struct rcx_suggestion guess = rcx_suggestion(text, strlen(text));

    for (int i = 0; i < RCX_COLL_COUNT; i++)
        if (rcx_colls[i].variable)
            rcx_suggest_try(&guess, rcx_coll_name((enum rcx_coll)i));
    snprintf(r->valid, sizeof r->valid,
             "\"%.32s\" is no collective that has methods", text);
    rcx_suggest_print(&guess, "", r->guess, sizeof r->guess);
    return false;
}

bool rcx_tuning_coll(const char *text, enum rcx_coll *coll_p,
                     struct rcx_refusal *r)
{
    for (int i = 0; i < RCX_COLL_COUNT; i++) {
        *coll_p = (enum rcx_coll)i;
        if (rcx_colls[i].variable && strcmp(text, rcx_coll_name(*coll_p)) == 0)
            return true;
    }
    return refuse_coll(text, r);
}

static bool parse_method(const char *text, struct rcx_rule *rule,
                         struct rcx_refusal *r)
{
    if (rcx_method_parse(text, rule->coll, &rule->spec, r) &&
        !rule->spec.preferred)
        return true;
    if (!r->valid[0])
        snprintf(r->valid, sizeof r->valid, "\"%.64s\" is no method of %s",
                 text, rcx_coll_name(rule->coll));
    return false;
}

/* ---- Parsing of a line --------------------------------------------------- */

enum { NO_RULE, IS_RULE, WRONG };

/* Parse "COLLECTIVE [CONDITION=VALUE ...] METHOD [# ...]" into *rule, or
 * "machine NAME=TIME ..." into t->machine. Overwrites line. WRONG: r says why. */
static int parse_line(char *line, struct rcx_rule *rule, struct rcx_tuning *t,
                      struct rcx_refusal *r)
{
    char *rest = line, *word, *next;
    unsigned seen = 0;

    *r = (struct rcx_refusal){.valid = ""};
    line[strcspn(line, "#")] = '\0';
    word = strtok_r(line, blanks, &rest);
    if (!word)
        return NO_RULE;
    if (strcmp(word, "machine") == 0) {
        t->has_machine = true;
        return rcx_machine_parse(rest, &t->machine, r) ? NO_RULE : WRONG;
    }
    *rule = (struct rcx_rule){.ranks = all,
                              .nodes = all,
                              .levels = all,
                              .per_node = all,
                              .bytes = all,
                              .total = all};
    if (!rcx_tuning_coll(word, &rule->coll, r))
        return WRONG;
    word = strtok_r(NULL, blanks, &rest);
    snprintf(r->valid, sizeof r->valid, "a rule ends with a method");
    if (!word)
        return WRONG;
    for (; (next = strtok_r(NULL, blanks, &rest)); word = next)
        if (!parse_condition(word, rule, &seen, r))
            return WRONG;
    r->valid[0] = r->guess[0] = '\0';
    return parse_method(word, rule, r) ? IS_RULE : WRONG;
}

/* ---- All rules ----------------------------------------------------------- */

static uint64_t hash_of(uint64_t hash, const struct rcx_rule *rule)
{
    const struct rcx_range ranges[] = {rule->ranks, rule->nodes, rule->per_node,
                                       rule->bytes, rule->total, rule->levels};

    hash = rcx_hash(hash, (uint64_t)rule->coll);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        hash = rcx_hash(rcx_hash(hash, ranges[i].from), ranges[i].to);
    hash = rcx_hash(
        hash, (uint64_t)(9 * rule->shared + 3 * rule->power + rule->blocks));
    return rcx_hash(hash, rcx_method_hash(&rule->spec));
}

static int lines_of(const char *text)
{
    int lines = 1;

    while ((text = strchr(text, '\n'))) {
        text++;
        lines++;
    }
    return lines;
}

/* Append the rules of text, which is overwritten. */
static rcx_status_t add(struct rcx_tuning *t, char *text, bool is_users,
                        struct rcx_refusal *r)
{
    char *line;

    for (int number = 1; (line = strsep(&text, "\n")); number++) {
        struct rcx_rule *rule = &t->rules[t->count];
        const int kind = parse_line(line, rule, t, r);

        if (kind == WRONG) {
            char valid[sizeof r->valid];

            snprintf(valid, sizeof valid, "line %d: %.200s", number, r->valid);
            memcpy(r->valid, valid, sizeof valid);
            return RCX_ERR_CONFIG;
        }
        if (kind == NO_RULE)
            continue;
        rule->line = number;
        rule->is_users = is_users;
        if (is_users)
            t->hash = hash_of(t->hash, rule);
        t->count++;
    }
    if (is_users &&
        rcx_machine_hash(&t->machine) != rcx_machine_hash(&rcx_machine_usual))
        t->hash = rcx_hash(t->hash, rcx_machine_hash(&t->machine));
    return RCX_OK;
}

enum { LONGEST_FILE = 1 << 20 };

/* Read the whole file into *text_p. The caller frees it, after an error,
 * too. */
static rcx_status_t read_file(const char *path, struct rcx_heap *heap,
                              char **text_p, struct rcx_refusal *r)
{
    char *text = rcx_heap_alloc(heap, LONGEST_FILE + 1);
    ssize_t bytes;

    *text_p = text;
    if (!text)
        return RCX_ERR_NOMEM;
    bytes = rcx_file_read(path, text, LONGEST_FILE + 1);
    if (bytes < 0) {
        snprintf(r->valid, sizeof r->valid, "%s", strerror(errno));
        return RCX_ERR_CONFIG;
    }
    if (bytes <= LONGEST_FILE && !memchr(text, '\0', (size_t)bytes)) {
        text[bytes] = '\0';
        return RCX_OK;
    }
    snprintf(r->valid, sizeof r->valid, "not a text file of at most %d bytes",
             LONGEST_FILE);
    return RCX_ERR_CONFIG;
}

/* Append RCX's own rules, from a copy of their text, since add() overwrites
 * it. */
static rcx_status_t add_own(struct rcx_tuning *t, struct rcx_heap *heap)
{
    const size_t bytes = strlen(rcx_tuning_own) + 1;
    char *text = rcx_heap_alloc(heap, bytes);
    struct rcx_refusal refusal;
    rcx_status_t status = RCX_ERR_NOMEM;

    if (text) {
        memcpy(text, rcx_tuning_own, bytes);
        status = add(t, text, false, &refusal);
        assert(status == RCX_OK);
    }
    rcx_heap_free(heap, text);
    return status;
}

static rcx_status_t add_all(struct rcx_tuning *t, struct rcx_heap *heap,
                            char *text, struct rcx_refusal *r)
{
    const int lines = (text ? lines_of(text) : 0) + lines_of(rcx_tuning_own);
    rcx_status_t status = RCX_OK, own;

    t->rules = rcx_heap_alloc(heap, (size_t)lines * sizeof *t->rules);
    if (!t->rules)
        return RCX_ERR_NOMEM;
    if (text)
        status = add(t, text, true, r);
    if (status != RCX_OK) { /* the user's file is ignored completely */
        t->machine = rcx_machine_usual;
        t->has_machine = false;
        t->count = 0;
        t->hash = 0;
    }
    own = add_own(t, heap);
    return own == RCX_OK ? status : own;
}

rcx_status_t rcx_tuning_open(struct rcx_tuning *t, struct rcx_heap *heap,
                             const char *path, struct rcx_refusal *r)
{
    char *text = NULL;
    rcx_status_t read = RCX_OK, added;

    *t = (struct rcx_tuning){.rules = NULL, .machine = rcx_machine_usual};
    *r = (struct rcx_refusal){.valid = ""};
    if (path[0])
        read = read_file(path, heap, &text, r);
    added = add_all(t, heap, read == RCX_OK ? text : NULL, r);
    rcx_heap_free(heap, text);
    return added == RCX_OK ? read : added;
}

void rcx_tuning_close(struct rcx_tuning *t, struct rcx_heap *heap)
{
    rcx_heap_free(heap, t->rules);
    *t = (struct rcx_tuning){.rules = NULL};
}
