/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of a context: predefined and user-defined types and ops.
 */
#include "core/op/registry.h"

#include <string.h>

#include "core/op/exact_wire.h"
#include "core/op/float_rows.h"

enum {
    SLOT_BITS = 12,
    SLOTS = 1 << SLOT_BITS,
    GENERATIONS = 1 << 16,
    OP_FLAGS = RCX_OP_COMMUTATIVE | RCX_OP_EXACT | RCX_OP_NO_FAIL
};

/* The generation is in the upper bits, so a stale handle does not match the
 * slot's next user. */
static int handle_of(const struct rcx_user_table *t, uint32_t slot,
                     uint32_t generation)
{
    return t->first + (int)(slot + ((generation % GENERATIONS) << SLOT_BITS));
}

static struct rcx_user_entry *entry_of(const struct rcx_user_table *t,
                                       int handle)
{
    const uint32_t value = (uint32_t)handle - (uint32_t)t->first;
    const uint32_t slot = value % SLOTS;

    if (handle < t->first || slot >= t->capacity)
        return NULL;

    struct rcx_user_entry *entry = &t->entries[slot];

    return entry->generation % 2 == 1 &&
                   handle_of(t, slot, entry->generation) == handle
               ? entry
               : NULL;
}

/* NULL: it was freed, and only requests use it. */
static struct rcx_user_entry *live_entry_of(const struct rcx_user_table *t,
                                            int handle)
{
    struct rcx_user_entry *entry = entry_of(t, handle);

    return entry && !entry->is_freed ? entry : NULL;
}

static rcx_status_t add(struct rcx_registry *r, struct rcx_user_table *t,
                        struct rcx_user_entry entry, int *handle_p)
{
    uint32_t slot = 0;

    while (slot < t->capacity && t->entries[slot].generation % 2 == 1)
        slot++;
    if (slot == SLOTS)
        return rcx_fail(r->log, RCX_ERR_LIMIT,
                        "%d user-defined ops or types exist already, the most "
                        "at once",
                        SLOTS);
    if (slot == t->capacity) {
        const uint32_t capacity = t->capacity ? 2 * t->capacity : 16;
        struct rcx_user_entry *grown =
            rcx_heap_grow(r->heap, t->entries, t->capacity * sizeof *grown,
                          capacity * sizeof *grown);

        if (!grown)
            return rcx_fail(r->log, RCX_ERR_NOMEM,
                            "no memory for a user-defined op or type");
        memset(grown + t->capacity, 0,
               (capacity - t->capacity) * sizeof *grown);
        t->entries = grown;
        t->capacity = capacity;
    }
    entry.generation = t->entries[slot].generation + 1;
    t->entries[slot] = entry;
    *handle_p = handle_of(t, slot, entry.generation);
    return RCX_OK;
}

/* The slot is free once no request uses its content. */
static void free_entry(struct rcx_user_entry *entry)
{
    if (entry->is_freed && entry->pins == 0)
        entry->generation++;
}

static rcx_status_t free_handle(struct rcx_registry *r,
                                struct rcx_user_table *t, const char *what,
                                int handle)
{
    struct rcx_user_entry *entry = live_entry_of(t, handle);

    if (!entry)
        return rcx_fail(r->log, RCX_ERR_ARG,
                        "%s=%d: not user-defined, or freed already", what,
                        handle);
    entry->is_freed = true;
    free_entry(entry);
    return RCX_OK;
}

rcx_status_t rcx_registry_add_op(struct rcx_registry *r, rcx_op_fn_t fn,
                                 unsigned flags, void *arg, rcx_op_t *op_p)
{
    if (!fn)
        return rcx_fail(r->log, RCX_ERR_ARG, "fn=NULL: needs a function");
    if (flags & ~(unsigned)OP_FLAGS)
        return rcx_fail(r->log, RCX_ERR_ARG,
                        "flags=%#x: valid bits are %#x (RCX_OP_...)", flags,
                        (unsigned)OP_FLAGS);
    return add(r, &r->ops,
               (struct rcx_user_entry){.fn = fn, .arg = arg, .flags = flags},
               op_p);
}

rcx_status_t rcx_registry_add_type(struct rcx_registry *r, size_t extent_bytes,
                                   rcx_datatype_t *type_p)
{
    if (extent_bytes < 1)
        return rcx_fail(r->log, RCX_ERR_ARG,
                        "extent_bytes=0: needs at least 1");
    return add(r, &r->types,
               (struct rcx_user_entry){.extent_bytes = extent_bytes}, type_p);
}

rcx_status_t rcx_registry_remove_op(struct rcx_registry *r, rcx_op_t op)
{
    return free_handle(r, &r->ops, "op", op);
}

rcx_status_t rcx_registry_remove_type(struct rcx_registry *r,
                                      rcx_datatype_t type)
{
    return free_handle(r, &r->types, "datatype", type);
}

size_t rcx_registry_extent(const struct rcx_registry *r, rcx_datatype_t type)
{
    const struct rcx_user_entry *entry = live_entry_of(&r->types, type);

    return entry ? entry->extent_bytes : 0;
}

rcx_status_t rcx_registry_measure(const struct rcx_registry *r,
                                  rcx_datatype_t type, size_t *bytes_p)
{
    const struct rcx_type_info *info = rcx_type_predefined(type);
    const size_t bytes = info ? info->bytes : rcx_registry_extent(r, type);

    if (bytes == 0)
        return rcx_fail(r->log, RCX_ERR_ARG,
                        "datatype=%d: neither predefined (1..%d) nor created "
                        "by rcx_type_create()%s",
                        type, RCX_TYPE_END - 1,
                        rcx_op_predefined(type) ? "; it is an op" : "");
    *bytes_p = bytes;
    return RCX_OK;
}

void rcx_registry_free(struct rcx_registry *r)
{
    rcx_heap_free(r->heap, r->types.entries);
    rcx_heap_free(r->heap, r->ops.entries);
}

void rcx_registry_pin(struct rcx_registry *r, rcx_datatype_t type, rcx_op_t op,
                      int by)
{
    struct rcx_user_entry *entries[] = {entry_of(&r->types, type),
                                        entry_of(&r->ops, op)};

    for (int i = 0; i < 2; i++) {
        if (!entries[i])
            continue;
        entries[i]->pins += (uint32_t)by;
        free_entry(entries[i]);
    }
}

/* REPLACE and NO_OP on a user's type need no kernel, only its extent. */
static int take_right(void *dst, const void *left, const void *right,
                      size_t count, rcx_datatype_t type, void *arg)
{
    (void)left, (void)type;
    memmove(dst, right, count * (size_t)(uintptr_t)arg);
    return 0;
}

static int take_left(void *dst, const void *left, const void *right,
                     size_t count, rcx_datatype_t type, void *arg)
{
    return take_right(dst, right, left, count, type, arg);
}

static rcx_status_t combine_predefined(const struct rcx_registry *r,
                                       rcx_datatype_t type,
                                       const char *type_name, rcx_op_t op,
                                       struct rcx_combine *c)
{
    const struct rcx_op_info *info = rcx_op_predefined(op);

    c->commutative = info->commutative;
    c->in_float = op == RCX_SUM_FLOAT || op == RCX_AVG_FLOAT;
    c->rounds_once = c->in_float || op == RCX_SUM_EXACT || op == RCX_AVG_EXACT;
    c->averages = op == RCX_AVG || op == RCX_AVG_EXACT || op == RCX_AVG_FLOAT;
    c->fingerprint += 1 + (uint32_t)RCX_OP_INDEX(op);
    if (rcx_type_predefined(type)) {
        c->reducer.kernel = rcx_kernel_find(r->isa, op, type);
        c->reducer.rows = c->in_float ? rcx_float_rows_find(r->isa, op, type)
                                      : rcx_exact_rows_find(r->isa, op, type);
        c->reducer.wire = rcx_exact_wire_find(op, type);
        c->finish = rcx_finish_find(r->isa, op, type);
        c->exact = rcx_op_exact(op, type);
    } else if (op == RCX_REPLACE || op == RCX_NO_OP) {
        c->reducer.fn = op == RCX_REPLACE ? take_right : take_left;
        c->reducer.arg = (void *)(uintptr_t)c->reducer.elem_bytes;
        c->exact = true;
    }
    if (!c->reducer.kernel && !c->reducer.fn)
        return rcx_fail(r->log, RCX_ERR_UNSUPPORTED,
                        "op %s is not defined on datatype %s", info->name,
                        type_name);
    return RCX_OK;
}

bool rcx_registry_defines(rcx_op_t op, rcx_datatype_t type)
{
    const bool is_known = rcx_type_predefined(type) != NULL;

    if ((!is_known &&
         (type < RCX_USER_TYPE_FIRST || type >= RCX_USER_OP_FIRST)) ||
        (!rcx_op_predefined(op) && op < RCX_USER_OP_FIRST))
        return false;
    if (op >= RCX_USER_OP_FIRST || op == RCX_REPLACE || op == RCX_NO_OP)
        return true;
    return is_known && rcx_kernel_find(RCX_ISA_BASELINE, op, type);
}

rcx_status_t rcx_registry_combine(const struct rcx_registry *r,
                                  rcx_datatype_t type, rcx_op_t op,
                                  struct rcx_combine *combine_p)
{
    const struct rcx_type_info *info = rcx_type_predefined(type);
    const struct rcx_user_entry *user_op = live_entry_of(&r->ops, op);
    struct rcx_combine c = {.reducer.type = type};
    rcx_status_t status = rcx_registry_measure(r, type, &c.reducer.elem_bytes);

    if (status != RCX_OK)
        return status;
    if (!user_op && !rcx_op_predefined(op))
        return rcx_fail(r->log, RCX_ERR_ARG,
                        "op=%d: neither predefined (%d..%d) nor created by "
                        "rcx_op_create()%s",
                        op, RCX_OP_FIRST, RCX_OP_END - 1,
                        rcx_type_predefined(op) ? "; it is a datatype" : "");
    /* handles of users differ between ranks, their meaning does not */
    c.fingerprint = 64 * (info ? (uint32_t)rcx_type_canonical(type)
                               : (uint32_t)c.reducer.elem_bytes + RCX_TYPE_END);
    if (user_op) {
        c.reducer.fn = user_op->fn;
        c.reducer.arg = user_op->arg;
        c.commutative = user_op->flags & RCX_OP_COMMUTATIVE;
        c.exact = user_op->flags & RCX_OP_EXACT;
        c.op_flags = user_op->flags;
        c.may_fail = !(user_op->flags & RCX_OP_NO_FAIL);
        c.fingerprint += 1 + RCX_OPS + user_op->flags;
    } else {
        status = combine_predefined(r, type, info ? info->name : "user-defined",
                                    op, &c);
    }
    if (status == RCX_OK)
        *combine_p = c;
    return status;
}

rcx_order_t rcx_combine_order(const struct rcx_combine *combine,
                              rcx_order_t wanted)
{
    const rcx_order_t floor =
        combine->commutative ? RCX_ORDER_LOOSE : RCX_ORDER_RANK;

    return combine->exact || wanted < floor ? floor : wanted;
}
