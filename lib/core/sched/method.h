/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Methods: how a collective is carried out, what users may say of it, and how
 * it is chosen.
 */
#ifndef RCX_CORE_SCHED_METHOD_H
#define RCX_CORE_SCHED_METHOD_H

#include "core/base/suggest.h"
#include "core/sched/algo.h"

enum { RCX_WINDOW_MAX = 8 }; /* segments in flight; a power of two */

/* All settled. */
struct rcx_method {
    const struct rcx_algo *algo;
    int64_t params[RCX_PARAMS]; /* of algo; none is auto */
    size_t segment;             /* elements; 0: one piece */
    unsigned window;
};

/* What a user wants of a collective's method; the rest is chosen. */
struct rcx_method_spec {
    const struct rcx_algo *algo; /* NULL: any */
    bool preferred; /* all of this is for calls that the algorithm suits */
    int64_t params[RCX_PARAMS];
    size_t segment_bytes; /* SIZE_MAX: any; 0: no segments */
    unsigned window;      /* 0: any */
};

/* How it is written, for people; and what wants nothing. */
#define RCX_METHOD_VALUES                                                      \
    "auto or [prefer:]NAME[:segment=BYTES][,window=1..8][,PARAMETER=VALUE]"
#define RCX_METHOD_AUTO "auto"
extern const struct rcx_method_spec rcx_method_any;

/* False: text is none, and r may say more of it. */
bool rcx_method_parse(const char *text, enum rcx_coll coll,
                      struct rcx_method_spec *spec_p, struct rcx_refusal *r);

/* The same where ranks that want the same have the same calls. */
uint64_t rcx_method_hash(const struct rcx_method_spec *spec);

/* "NAME:PARAMETER=VALUE,segment=BYTES,window=3", without what is usual. */
void rcx_method_print(const struct rcx_method *m, size_t elem_bytes, char *text,
                      size_t bytes);

/*
 * What the first of the rules says that a call meets, and whose method suits
 * it; where none does (NULL), what costs least. m->algo NULL: nothing keeps
 * that order.
 */
struct rcx_rule;
struct rcx_tuning;
const struct rcx_rule *rcx_method_by_rule(const struct rcx_shape *shape,
                                          rcx_order_t needed,
                                          const struct rcx_tuning *tuning,
                                          struct rcx_method *m);

/*
 * The method of a call that needs an order level. Errors are logged:
 * RCX_ERR_UNSUPPORTED where what is wanted does not do the call. All ranks come
 * to the same, since they agree on shapes but for the rank, on specs, and on
 * rules.
 */
rcx_status_t rcx_method_choose(const struct rcx_shape *shape,
                               rcx_order_t needed,
                               const struct rcx_method_spec *spec,
                               const struct rcx_tuning *tuning,
                               const struct rcx_log *log,
                               struct rcx_method *method_p);

#endif
