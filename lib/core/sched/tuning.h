/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning rules, by which methods are chosen: RCX's own (default.tuning), and
 * those of a user's file. A rule is a line of text; docs/howto/tuning.md
 * describes the syntax.
 */
#ifndef RCX_CORE_SCHED_TUNING_H
#define RCX_CORE_SCHED_TUNING_H

#include "core/base/heap.h"
#include "core/sched/method.h"
#include "core/sched/params.h"

/* A range that includes both ends. */
struct rcx_range {
    size_t from, to;
};

enum rcx_answer { RCX_ANSWER_ANY, RCX_ANSWER_YES, RCX_ANSWER_NO };

/* A rule: the method of calls that meet all its conditions. */
struct rcx_rule {
    enum rcx_coll coll;
    struct rcx_range ranks, nodes, per_node, bytes, total;
    struct rcx_range levels; /* within nodes, that divide the ranks */
    enum rcx_answer power;   /* whether the number of ranks is a power of two */
    enum rcx_answer blocks;  /* whether the ranks of each node are contiguous */
    enum rcx_answer shared;  /* whether ranks outnumber cores, on one machine */
    struct rcx_method_spec spec;
    int line;      /* line number in its text, from 1 */
    bool is_users; /* from the user's file */
};

struct rcx_tuning {
    struct rcx_rule *rules; /* in the order of trial */
    int count;
    struct rcx_machine machine; /* by which algorithms are priced */
    bool has_machine;           /* the user's file says so */
    uint64_t hash; /* of the user's rules, and of machine if it is not the usual
                      one; 0: no user's rules */
};

/* The text of RCX's own rules. */
extern const char rcx_tuning_own[];

/*
 * Read RCX's own rules, and before them those of the file at path, unless path
 * is empty. t->machine is that of the file, or the usual one. RCX_ERR_CONFIG:
 * the file is not valid, r says why, and t has only RCX's own rules.
 * RCX_ERR_NOMEM: rules are missing. t must be closed after an error, too.
 */
rcx_status_t rcx_tuning_open(struct rcx_tuning *t, struct rcx_heap *heap,
                             const char *path, struct rcx_refusal *r);
void rcx_tuning_close(struct rcx_tuning *t, struct rcx_heap *heap);

/* Return the first rule behind last (NULL: of all rules) whose conditions the
 * call meets; NULL: there is none. */
const struct rcx_rule *rcx_tuning_next(const struct rcx_tuning *t,
                                       const struct rcx_shape *shape,
                                       const struct rcx_rule *last);

/* Find the collective of that name, if users can choose its method. False:
 * there is none, and r may suggest a name. */
bool rcx_tuning_coll(const char *text, enum rcx_coll *coll_p,
                     struct rcx_refusal *r);

#endif
