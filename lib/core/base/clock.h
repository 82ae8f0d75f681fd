/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time. Nanoseconds are those of CLOCK_MONOTONIC, a call of 20 ns at best.
 * Ticks are a register of the CPU, for what is timed on every operation; they
 * are converted to nanoseconds only for output.
 */
#ifndef RCX_CORE_BASE_CLOCK_H
#define RCX_CORE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t rcx_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t rcx_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return rcx_now_ns();
#endif
}

/* The same, not before earlier reads of memory: a core may read its clock while
 * it waits for these. So this moment is not before one at which another core
 * read its clock and then wrote what was read here. */
static inline uint64_t rcx_ticks_after_reads(void)
{
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("dmb ishld\n\tisb" ::: "memory");
#endif
    return rcx_ticks();
}

/* One moment on both clocks. */
struct rcx_instant {
    uint64_t ticks;
    uint64_t ns;
};

static inline struct rcx_instant rcx_instant_now(void)
{
    return (struct rcx_instant){.ticks = rcx_ticks(), .ns = rcx_now_ns()};
}

/*
 * Convert ticks to nanoseconds by two moments, the earlier one first: exact at
 * both (a double is exact for 100 days), and monotonic. If no time is between
 * them, the result is to->ns.
 */
static inline uint64_t rcx_ticks_to_ns(uint64_t ticks,
                                       const struct rcx_instant *from,
                                       const struct rcx_instant *to)
{
    const double span = (double)(int64_t)(to->ticks - from->ticks);
    const double ns = (double)(int64_t)(to->ns - from->ns);
    const double ago = (double)(int64_t)(to->ticks - ticks);

    return to->ns - (uint64_t)(int64_t)(span > 0 ? ago / span * ns : 0);
}

#endif
