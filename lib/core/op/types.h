/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined types and ops: names, sizes, properties. Which op is legal on
 * which type is what core/op/kernels.h has a kernel for.
 */
#ifndef RCX_CORE_OP_TYPES_H
#define RCX_CORE_OP_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "rcx/rcx.h"

/* One more than the largest predefined number; 0 is no type and no op. */
enum {
    RCX_TYPE_END = RCX_EXACT_FLOAT64 + 1,
    RCX_OP_FIRST = RCX_MAX,
    RCX_OP_END = RCX_AVG_FLOAT + 1,
    RCX_OPS = RCX_OP_END - RCX_OP_FIRST
};

/* The place of a predefined op in a table. */
#define RCX_OP_INDEX(op) ((op)-RCX_OP_FIRST)

enum rcx_type_class {
    RCX_CLASS_SIGNED,
    RCX_CLASS_UNSIGNED,
    RCX_CLASS_FLOAT,
    RCX_CLASS_COMPLEX,
    RCX_CLASS_BOOL,
    RCX_CLASS_BYTE,
    RCX_CLASS_PAIR,
    RCX_CLASS_EXACT
};

struct rcx_type_info {
    const char *name; /* the enumerator without RCX_, in lower case */
    size_t bytes;     /* of one element in an array, padding included */
    enum rcx_type_class class;
    rcx_datatype_t canonical; /* see rcx_type_canonical() */
};

struct rcx_op_info {
    const char *name; /* the enumerator without RCX_, in lower case */
    bool commutative; /* a op b == b op a, bit for bit */
};

/* What is known of a predefined type or op; NULL if it is none. */
const struct rcx_type_info *rcx_type_predefined(rcx_datatype_t type);
const struct rcx_op_info *rcx_op_predefined(rcx_op_t op);

/*
 * The fixed-width type that a C integer type (RCX_INT, RCX_LONG, ...) is on
 * this platform; any other value, predefined or not, is returned as it is.
 */
rcx_datatype_t rcx_type_canonical(rcx_datatype_t type);

/*
 * Whether op on type is associative bit for bit (NaN payloads excepted), so
 * that no order of combining can be told from another: false for SUM, PROD
 * and AVG of floating and complex types, for pairs that are not legal and for
 * ops that are not predefined. REPLACE and NO_OP are exact on every type.
 */
bool rcx_op_exact(rcx_op_t op, rcx_datatype_t type);

#endif
