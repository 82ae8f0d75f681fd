/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Methods: how a collective is carried out, how users prescribe a method, and
 * how RCX chooses one.
 */
#ifndef RCX_CORE_SCHED_METHOD_H
#define RCX_CORE_SCHED_METHOD_H

#include "core/base/suggest.h"
#include "core/sched/algo.h"

/* A hash of the sources of all that chooses and builds schedules: algorithms,
 * prices, rules. Equal in ranks that choose the same methods. */
extern const uint64_t rcx_method_sources;

enum { RCX_WINDOW_MAX = 8 }; /* segments in flight; a power of two */
enum { RCX_LEVEL_ANY = -1 };

/* A method, completely determined. */
struct rcx_method {
    const struct rcx_algo *algo;
    int64_t params[RCX_PARAMS];    /* parameters of algo; no value is auto */
    const struct rcx_nodes *nodes; /* the map that a hierarchical algorithm
                                      divides by */
    size_t segment;                /* elements of a segment; 0: no segments */
    unsigned window;
};

/* The part of a method that a user or a rule prescribes; RCX chooses the
 * rest. */
struct rcx_method_spec {
    const struct rcx_algo *algo; /* NULL: any */
    bool preferred; /* ignore the spec in calls that algo does not suit */
    int64_t params[RCX_PARAMS];
    int level; /* enum rcx_level of the map that it divides by; ANY: any */
    size_t segment_bytes; /* SIZE_MAX: any; 0: no segments */
    unsigned window;      /* 0: any */
};

/* The syntax of a spec, for people; and the spec that prescribes nothing. */
/* clang-format off */
#define RCX_METHOD_VALUES "auto or [prefer:]NAME[:segment=BYTES][,window=1..8][,level=L][,PARAM=VALUE]"
/* clang-format on */
#define RCX_METHOD_AUTO "auto"
extern const struct rcx_method_spec rcx_method_any;

/* Parse text into *spec_p. False: it is not valid, and r may say why. */
bool rcx_method_parse(const char *text, enum rcx_coll coll,
                      struct rcx_method_spec *spec_p, struct rcx_refusal *r);

/* Hash of spec, which ranks compare: equal specs of different processes have
 * the same hash. */
uint64_t rcx_method_hash(const struct rcx_method_spec *spec);

/* Print "NAME:PARAMETER=VALUE,level=cache,segment=BYTES,window=3", without
 * default values, and without the level of nodes. */
void rcx_method_print(const struct rcx_method *m, size_t elem_bytes, char *text,
                      size_t bytes);

/*
 * Choose a method by rules: by the first rule whose conditions the call meets
 * and whose algorithm suits it. Returns the rule. NULL: there is none, and *m
 * has the cheapest algorithm; of several, the first. m->algo NULL: no algorithm
 * keeps the order level.
 */
struct rcx_rule;
struct rcx_tuning;
const struct rcx_rule *rcx_method_by_rule(const struct rcx_shape *shape,
                                          rcx_order_t needed,
                                          const struct rcx_tuning *tuning,
                                          struct rcx_method *m);

/* Make s the shape by which the algorithm of m builds its segments. */
void rcx_method_apply(const struct rcx_method *m, struct rcx_shape *s);

/*
 * Choose the method of a call that needs an order level. Of several algorithms
 * with the lowest price it is the one that takes least scratch; see tie.h.
 * Their schedules are built with b, whose log also gets errors.
 * RCX_ERR_UNSUPPORTED: the prescribed algorithm does not suit the call, or no
 * algorithm keeps the order level. RCX_ERR_NOMEM: no memory to break a tie. All
 * ranks choose the same method, since they have equal specs, rules, and shapes
 * apart from the rank.
 */
rcx_status_t rcx_method_choose(const struct rcx_shape *shape,
                               rcx_order_t needed,
                               const struct rcx_method_spec *spec,
                               const struct rcx_tuning *tuning,
                               struct rcx_builder *b,
                               struct rcx_method *method_p);

#endif
