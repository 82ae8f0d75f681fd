/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors of every kind, and what a reduction of them must give, computed by
 * one process from the definitions and with nothing of the library: operands
 * are functions of rank and seed, so each rank knows all of them.
 *
 * Numbers are chosen such that no order of combining rounds; what rounding
 * does to results is a matter of the order contract, tested elsewhere.
 */
#ifndef RCX_TESTS_SERIAL_H
#define RCX_TESTS_SERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rcx/rcx.h"

/* A type and an op; user-defined ones where extent is not 0. */
struct serial_kind {
    rcx_datatype_t type;
    rcx_op_t op;
    size_t extent;
};

enum { SERIAL_TYPES = 35, SERIAL_OPS = 16 }; /* numbers are below */

/* Whether an op of the standard is defined on a type of the standard. */
bool serial_is_legal(rcx_datatype_t type, rcx_op_t op);

size_t serial_bytes(const struct serial_kind *kind);

/* Write elements [first, first + count) of the operand of rank. */
void serial_fill(const struct serial_kind *kind, void *vector, size_t first,
                 size_t count, int rank, uint64_t seed);

/*
 * Whether result is elements [first, first + count) of the combined vectors of
 * ranks 0 to size - 1. If not, stores the place of the first wrong one in
 * wrong_p.
 */
bool serial_check(const struct serial_kind *kind, const void *result,
                  size_t first, size_t count, int size, uint64_t seed,
                  size_t *wrong_p);

/*
 * A user-defined op, associative and not commutative, for elements of any
 * extent; arg points to the extent, a size_t.
 */
int serial_user_op(void *dst, const void *left, const void *right, size_t count,
                   rcx_datatype_t type, void *arg);

/* Any 64 bits for three numbers. */
uint64_t serial_mix(uint64_t a, uint64_t b, uint64_t c);

uint64_t serial_hash(const void *bytes, size_t count);

#endif
