/* SPDX-License-Identifier: BSD-3-Clause */
/* What files have in common that the build compiles once for each instruction
 * set level, RCX_KERNELS_ISA. */
#ifndef RCX_CORE_OP_ISA_LEVEL_H
#define RCX_CORE_OP_ISA_LEVEL_H

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

/* In front of a loop of which no iteration depends on another one: it may be
 * vectorised without checking for overlap. */
#if defined(__clang__)
/* Some types have no vectors. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
