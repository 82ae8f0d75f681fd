/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors of every kind, and the results of their reductions, computed by one
 * process from the definitions and without the library. Operands are functions
 * of rank and seed, so each rank knows all of them.
 *
 * The default values are such that no order of combining rounds. If fill()
 * gives values that do round, the result is that of the fixed tree of
 * rcx_order_t. Those of RCX_SUM_EXACT and RCX_AVG_EXACT are hard to sum: of
 * all magnitudes, with infinities, NaN and -0 among them; the result is rounded
 * once. Those of RCX_SUM_FLOAT and RCX_AVG_FLOAT have sums that floats hold,
 * and the 16-bit formats do not.
 */
#ifndef RCX_TESTS_SUPPORT_SERIAL_H
#define RCX_TESTS_SUPPORT_SERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rcx/rcx.h"

/* A type, an op, and how operands are made and combined. */
struct kind {
    rcx_datatype_t type;
    rcx_op_t op;
    size_t extent; /* of a user-defined type, with its op; else 0 */
    /* NULL: the defaults. fill writes an operand element, over zeros, from any
     * 64 bits. combine: *dst = *left op *right; dst may be either. */
    void (*fill)(const struct kind *kind, void *element, uint64_t random);
    void (*combine)(const struct kind *kind, void *dst, const void *left,
                    const void *right);
    bool is_line; /* operands are lines of 64-bit integers or bytes */
};

/* Sums of 64-bit integers. */
extern const struct kind sums;
/* Sums of 64-bit integers whose operands are lines of different slopes. The sum
 * of lines is a line, so the time to check long vectors does not grow with the
 * number of ranks. */
extern const struct kind lines;

/* Elements of a result: the operands of ranks lo to hi - 1 from index on,
 * combined in the order of ranks. */
struct part {
    int lo, hi;
    size_t index, count;
};

enum {
    SERIAL_TYPES = 37,
    SERIAL_OP = 257,
    SERIAL_OPS = 276
}; /* types are below SERIAL_TYPES, ops from SERIAL_OP to SERIAL_OPS - 1 */

/* Whether a predefined op is defined on a predefined type. */
bool serial_is_legal(rcx_datatype_t type, rcx_op_t op);

size_t serial_bytes(const struct kind *kind);

/* Write elements [first, first + count) of the operand of rank. */
void serial_fill(const struct kind *kind, void *vector, size_t first,
                 size_t count, int rank, uint64_t seed);

/* Whether vector still holds elements [first, first + count) of rank's
 * operand. */
bool serial_keeps(const struct kind *kind, const void *vector, size_t first,
                  size_t count, int rank, uint64_t seed);

/* Whether result is that part. If not, stores the index of the first wrong
 * element in *wrong_p, counted like part->index. */
bool serial_check(const struct kind *kind, const void *result,
                  const struct part *part, uint64_t seed, size_t *wrong_p);

/*
 * The op of a user-defined kind; arg points to the kind. The default one is
 * associative and not commutative.
 */
int serial_user_op(void *dst, const void *left, const void *right, size_t count,
                   rcx_datatype_t type, void *arg);

/* Pseudo-random 64 bits from three numbers. */
uint64_t serial_mix(uint64_t a, uint64_t b, uint64_t c);

uint64_t serial_hash(const void *bytes, size_t count);

#endif
