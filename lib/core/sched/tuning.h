/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules by which methods are chosen: text, a line each, of RCX's own
 * (default.tuning) and of a user's file. docs/howto/tuning.md has how they are
 * written.
 */
#ifndef RCX_CORE_SCHED_TUNING_H
#define RCX_CORE_SCHED_TUNING_H

#include "core/base/heap.h"
#include "core/sched/method.h"
#include "core/sched/params.h"

/* Both belong to it. */
struct rcx_range {
    size_t from, to;
};

enum rcx_answer { RCX_ANSWER_ANY, RCX_ANSWER_YES, RCX_ANSWER_NO };

/* For calls that meet all its conditions. */
struct rcx_rule {
    enum rcx_coll coll;
    struct rcx_range ranks, nodes, per_node, bytes, total;
    enum rcx_answer power;  /* ranks are a power of two */
    enum rcx_answer blocks; /* ranks of a node are side by side */
    enum rcx_answer shared; /* there are more than cores, on one machine */
    struct rcx_method_spec spec;
    int line;      /* of its text */
    bool is_users; /* not RCX's own */
};

struct rcx_tuning {
    struct rcx_rule *rules; /* in the order in which they are asked */
    int count;
    struct rcx_machine machine; /* what prices are of */
    uint64_t hash; /* of the user's, and where they differ another */
};

/* The text of RCX's rules. */
extern const char rcx_tuning_own[];

/*
 * RCX's rules, and in front of them those of the file at path, if that is not
 * empty; its machine, or the usual one. RCX_ERR_CONFIG: the file is not valid,
 * and r says where, and they are RCX's alone. RCX_ERR_NOMEM: there are none. To
 * be closed in any case.
 */
rcx_status_t rcx_tuning_open(struct rcx_tuning *t, struct rcx_heap *heap,
                             const char *path, struct rcx_refusal *r);
void rcx_tuning_close(struct rcx_tuning *t, struct rcx_heap *heap);

/* The first rule behind last (NULL: of all) whose conditions a call of shape
 * meets; NULL: there is none. */
const struct rcx_rule *rcx_tuning_next(const struct rcx_tuning *t,
                                       const struct rcx_shape *shape,
                                       const struct rcx_rule *last);

/* The collective of that name, if it has methods; false: r has what may have
 * been meant. */
bool rcx_tuning_coll(const char *text, enum rcx_coll *coll_p,
                     struct rcx_refusal *r);

#endif
