/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of a GPU, which this process cannot read and RCX rejects. A driver is
 * asked once for each range of addresses, and only if one is loaded.
 */
#ifndef RCX_CORE_BASE_GPU_H
#define RCX_CORE_BASE_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/log.h"

enum { RCX_GPU_SETS = 64, RCX_GPU_WAYS = 4 };

struct rcx_hsa_info;

/* Initially zero. */
struct rcx_gpu {
    /* ranges of the host, plus 1; latest first in each set */
    uintptr_t host[RCX_GPU_SETS][RCX_GPU_WAYS];
    unsigned long long
        loads;    /* loaded libraries when drivers were last looked for */
    bool is_fine; /* ranges are pages; else 2 MB */
    int (*cuda)(void *data, int attribute, unsigned long long at);
    int (*hsa)(const void *at, struct rcx_hsa_info *info, void *allocate,
               uint32_t *agents, void *accessible);
    int (*hsa_agent)(uint64_t agent, int attribute, void *data);
};

/* The same if the range is not the latest of its set. */
bool rcx_gpu_look(struct rcx_gpu *gpu, const void *p);
/* RCX_ERR_UNSUPPORTED for the buffer that the user calls name. */
rcx_status_t rcx_gpu_refuse(const struct rcx_log *log, const char *name,
                            const void *p);

static inline uintptr_t rcx_gpu_range(const struct rcx_gpu *gpu, const void *p)
{
    return ((uintptr_t)p >> (gpu->is_fine ? 12 : 21)) + 1;
}

/* Whether this process can read p: all memory but that of a GPU. */
static inline bool rcx_is_on_host(struct rcx_gpu *gpu, const void *p)
{
    const uintptr_t range = rcx_gpu_range(gpu, p);

    return gpu->host[range % RCX_GPU_SETS][0] == range || rcx_gpu_look(gpu, p);
}

#endif
