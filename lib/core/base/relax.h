/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints for memory that two cores share. */
#ifndef RCX_CORE_BASE_RELAX_H
#define RCX_CORE_BASE_RELAX_H

/*
 * Between two looks at memory that another core will write. A loop without a
 * pause takes the line away from the writer, which must fetch it again for each
 * store.
 */
static inline void rcx_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* This core will write the line at p, and has the time to fetch it while it
 * waits for another core. Compilers emit the instruction for x86 only if all
 * CPUs they compile for have it; CPUs without it ignore it. */
static inline void rcx_fetch_to_write(const void *p)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)p));
#else
    __builtin_prefetch(p, 1, 3);
#endif
}

#endif
