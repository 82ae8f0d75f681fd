/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between two looks at memory that another core is about to write: who looks
 * without end takes the line away from the writer, who then has to fetch it
 * once more for each of its stores.
 */
#ifndef RCX_CORE_RELAX_H
#define RCX_CORE_RELAX_H

static inline void rcx_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

#endif
