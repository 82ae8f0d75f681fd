/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints for memory that two cores share. */
#ifndef RCX_CORE_BASE_RELAX_H
#define RCX_CORE_BASE_RELAX_H

/*
 * Between two looks at memory that another core is about to write: who looks
 * without end takes the line away from the writer, who then has to fetch it
 * once more for each of its stores.
 */
static inline void rcx_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* This core is about to write the line at p: who waits for another core has the
 * time to fetch it. Compilers say it to x86 only where all CPUs they compile
 * for have the instruction; those that have not pass it by. */
static inline void rcx_fetch_to_write(const void *p)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)p));
#else
    __builtin_prefetch(p, 1, 3);
#endif
}

#endif
