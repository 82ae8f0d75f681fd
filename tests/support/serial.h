/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors of every kind, and what a reduction of them must give, computed by
 * one process from the definitions and with nothing of the library: operands
 * are functions of rank and seed, so each rank knows all of them.
 *
 * The usual numbers are chosen such that no order of combining rounds. Where it
 * does, what is expected is what the fixed tree of rcx_order_t gives.
 */
#ifndef RCX_TESTS_SUPPORT_SERIAL_H
#define RCX_TESTS_SUPPORT_SERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rcx/rcx.h"

/* A type and an op, and the operands that they meet. */
struct kind {
    rcx_datatype_t type;
    rcx_op_t op;
    size_t extent; /* of a type of the user's, with its op; else 0 */
    /* Where the usual ones will not do: an operand, zeros before, from any 64
     * bits; and left op right, where dst may be either. Else NULL. */
    void (*fill)(const struct kind *kind, void *element, uint64_t random);
    void (*combine)(const struct kind *kind, void *dst, const void *left,
                    const void *right);
    bool is_line; /* of sums of 64-bit integers, or of bytes: see below */
};

/* Sums of 64-bit integers. */
extern const struct kind sums;
/* The same of operands that are lines, each of another slope: so are their
 * sums, and to check many long ones takes no longer where ranks are many. */
extern const struct kind lines;

/* Elements of a result: the operands of ranks lo to hi - 1 from index on,
 * combined in the order of ranks. */
struct part {
    int lo, hi;
    size_t index, count;
};

enum {
    SERIAL_TYPES = 35,
    SERIAL_OP = 257,
    SERIAL_OPS = 272
}; /* numbers of
                        types are below, those of ops from one to the other */

/* Whether an op of the standard is defined on a type of the standard. */
bool serial_is_legal(rcx_datatype_t type, rcx_op_t op);

size_t serial_bytes(const struct kind *kind);

/* Write elements [first, first + count) of the operand of rank. */
void serial_fill(const struct kind *kind, void *vector, size_t first,
                 size_t count, int rank, uint64_t seed);

/* Whether vector is still elements [first, first + count) of rank's operand, to
 * the last byte. */
bool serial_keeps(const struct kind *kind, const void *vector, size_t first,
                  size_t count, int rank, uint64_t seed);

/* Whether result is that part. If not, stores the place of the first wrong
 * element in wrong_p, counted as index is. */
bool serial_check(const struct kind *kind, const void *result,
                  const struct part *part, uint64_t seed, size_t *wrong_p);

/*
 * The op of a kind of the user's; arg points to the kind. The usual one is
 * associative and does not commute.
 */
int serial_user_op(void *dst, const void *left, const void *right, size_t count,
                   rcx_datatype_t type, void *arg);

/* Any 64 bits for three numbers. */
uint64_t serial_mix(uint64_t a, uint64_t b, uint64_t c);

uint64_t serial_hash(const void *bytes, size_t count);

#endif
