/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of types and ops of a context: predefined and user-defined
 * ones. */
#ifndef RCX_CORE_OP_REGISTRY_H
#define RCX_CORE_OP_REGISTRY_H

#include "core/base/heap.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/op/kernels.h"
#include "core/op/reducer.h"

struct rcx_user_entry {
    uint32_t generation; /* odd: in use */
    uint32_t pins;       /* requests that use it */
    bool is_freed;       /* by the user; freed with the last pin */
    size_t extent_bytes; /* of a type */
    rcx_op_fn_t fn;      /* of an op */
    void *arg;
    unsigned flags;
};

/* Users' handles are above all predefined values. No op has the number of a
 * type. */
enum { RCX_USER_TYPE_FIRST = 1 << 12, RCX_USER_OP_FIRST = 1 << 29 };

/* A table of user-defined types or ops. A handle names slot and generation. */
struct rcx_user_table {
    int first; /* the lowest handle */
    struct rcx_user_entry *entries;
    uint32_t capacity;
};

struct rcx_registry {
    struct rcx_heap *heap;
    const struct rcx_log *log;
    enum rcx_isa isa;
    struct rcx_user_table types;
    struct rcx_user_table ops;
};

/* What a collective needs to know of its type and op. */
struct rcx_combine {
    struct rcx_reducer reducer;
    rcx_finish_fn_t finish;
    bool commutative;
    bool exact;
    bool rounds_once;     /* at the end: exact ones, SUM_FLOAT, AVG_FLOAT */
    bool in_float;        /* SUM_FLOAT, AVG_FLOAT */
    bool averages;        /* over all ranks: AVG, AVG_EXACT, AVG_FLOAT */
    bool may_fail;        /* ranks check afterwards whether it failed on any */
    unsigned op_flags;    /* of a user's op */
    uint32_t fingerprint; /* the same on all ranks, also for users' handles */
};

/* Whether op is defined on type, also for what could be a user's handle. */
bool rcx_registry_defines(rcx_op_t op, rcx_datatype_t type);

/* The lowest order level that is good enough for it where wanted is asked
 * for. */
rcx_order_t rcx_combine_order(const struct rcx_combine *combine,
                              rcx_order_t wanted);

/* Errors are logged: RCX_ERR_ARG, RCX_ERR_UNSUPPORTED. */
rcx_status_t rcx_registry_combine(const struct rcx_registry *r,
                                  rcx_datatype_t type, rcx_op_t op,
                                  struct rcx_combine *combine_p);

rcx_status_t rcx_registry_add_op(struct rcx_registry *r, rcx_op_fn_t fn,
                                 unsigned flags, void *arg, rcx_op_t *op_p);
rcx_status_t rcx_registry_add_type(struct rcx_registry *r, size_t extent_bytes,
                                   rcx_datatype_t *type_p);
rcx_status_t rcx_registry_remove_op(struct rcx_registry *r, rcx_op_t op);
rcx_status_t rcx_registry_remove_type(struct rcx_registry *r,
                                      rcx_datatype_t type);
void rcx_registry_free(struct rcx_registry *r);

/* Bytes of an element of a user's type; 0 if it is none. */
size_t rcx_registry_extent(const struct rcx_registry *r, rcx_datatype_t type);

/* Bytes of an element of any type; RCX_ERR_ARG: it is none, which is said. */
rcx_status_t rcx_registry_measure(const struct rcx_registry *r,
                                  rcx_datatype_t type, size_t *bytes_p);

/* While by != 0 in sum, the handle of a user's type or op that is removed is
 * not given out again. */
void rcx_registry_pin(struct rcx_registry *r, rcx_datatype_t type, rcx_op_t op,
                      int by);

#endif
