/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fuzzed part of RCX is a program of one function, fuzz_input(), that accepts
 * any bytes. It is linked twice: with libFuzzer, which searches for bytes that
 * reach new code, and with replay.c, for compilers without libFuzzer.
 */
#ifndef RCX_TESTS_FUZZ_FUZZ_H
#define RCX_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define fuzz_input LLVMFuzzerTestOneInput

int fuzz_input(const uint8_t *data, size_t bytes);

/* End the process, as a crash of RCX would. */
#define fuzz_require(condition)                                                \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,         \
                    #condition);                                               \
            abort();                                                           \
        }                                                                      \
    } while (0)

#endif
