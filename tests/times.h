/* SPDX-License-Identifier: BSD-3-Clause */
/* How often: a step takes many times longer under ThreadSanitizer, which needs
 * few of them to see a race. */
#ifndef RCX_TESTS_TIMES_H
#define RCX_TESTS_TIMES_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN
#endif

#ifdef UNDER_TSAN
#define TIMES(usual, under_tsan) (under_tsan)
#else
#define TIMES(usual, under_tsan) (usual)
#endif

#endif
