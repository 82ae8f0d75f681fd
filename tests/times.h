/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of repetitions. A step takes many times longer under a sanitizer, and
 * few repetitions suffice there to detect an error. */
#ifndef RCX_TESTS_TIMES_H
#define RCX_TESTS_TIMES_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif

#ifdef SANITIZED
#define TIMES(usual, sanitized) (sanitized)
#else
#define TIMES(usual, sanitized) (usual)
#endif

#endif
