/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake driver of a GPU for test_gpu.c, built as libcuda.so.1 and as
 * libhsa-runtime64.so.1. The GPU has the memory from fake_begin to fake_end.
 * From fake_shared on, both the host and the GPU can read it. fake_questions
 * counts the queries.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

const char *fake_begin, *fake_end, *fake_shared;
int fake_questions;

#ifdef FAKE_CUDA
int cuPointerGetAttribute(void *data, int attribute, unsigned long long at)
{
    const char *p = (const char *)(uintptr_t)at;
    const unsigned device = 2;
    const unsigned managed = p >= fake_shared;

    fake_questions++;
    if (p < fake_begin || p >= fake_end)
        return 1; /* CUDA_ERROR_INVALID_VALUE */
    memcpy(data, attribute == 8 ? &managed : &device, sizeof device);
    return 0;
}
#else
enum { CPU = 5, GPU = 6 };

struct rcx_hsa_info;
int hsa_amd_pointer_info(const void *at, struct rcx_hsa_info *info,
                         void *allocate, uint32_t *agents, void *accessible)
{
    const char *p = at;
    const uint32_t type = p >= fake_begin && p < fake_end; /* allocated */
    const uint64_t owner = p >= fake_shared ? CPU : GPU;

    (void)allocate, (void)agents, (void)accessible;
    fake_questions++;
    memcpy((char *)info + 4, &type, sizeof type);
    memcpy((char *)info + 40, &owner, sizeof owner);
    return 0;
}

int hsa_agent_get_info(uint64_t agent, int attribute, void *data)
{
    const uint32_t is_gpu = agent == GPU;

    if (attribute != 17)
        return 1;
    memcpy(data, &is_gpu, sizeof is_gpu);
    return 0;
}
#endif
