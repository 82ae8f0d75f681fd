/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recognises memory of GPUs by asking the drivers that are loaded.
 */
#include "core/base/gpu.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* From CUDA's and HSA's headers; part of their ABIs. */
enum { CUDA_MEMORY_TYPE = 2, CUDA_IS_MANAGED = 8, CUDA_DEVICE = 2 };
enum { HSA_AGENT_DEVICE = 17, HSA_GPU = 1, HSA_ALLOCATED = 1, HSA_SHARED = 4 };

struct rcx_hsa_info {
    uint32_t size, type;
    void *agent_base, *host_base;
    size_t bytes;
    void *user_data;
    uint64_t owner;
    uint32_t flags;
};

static int read_loads(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    unsigned long long *loads = arg;

    (void)bytes;
    *loads = info->dlpi_adds;
    return 1;
}

static int has_name(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    const char *const library = arg;
    const char *const slash = strrchr(info->dlpi_name, '/');
    const char *const name = slash ? slash + 1 : info->dlpi_name;

    (void)bytes;
    return strncmp(name, library, strlen(library)) == 0;
}

/* A symbol of a library that the program has loaded, perhaps by a name with
 * another version. The library stays loaded then. dlopen() would search for a
 * library that is not loaded in all folders, which takes a millisecond. */
static void *find(const char *library, const char *symbol)
{
    char name[64];
    void *handle, *found;

    if (!dl_iterate_phdr(has_name, (void *)(uintptr_t)library))
        return NULL;
    snprintf(name, sizeof name, "%s.1", library);
    handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    found = handle ? dlsym(handle, symbol) : NULL;

    if (handle && !found)
        dlclose(handle);
    return found;
}

/* Look for drivers again if libraries have been loaded since. */
static void find_drivers(struct rcx_gpu *gpu)
{
    static const char cuda[] = "libcuda.so", hsa[] = "libhsa-runtime64.so";
    unsigned long long loads = 0;
    void *found;

    dl_iterate_phdr(read_loads, &loads);
    if (loads == gpu->loads)
        return;
    gpu->loads = loads;
    if (!gpu->cuda && (found = find(cuda, "cuPointerGetAttribute"))) {
        memcpy(&gpu->cuda, &found, sizeof found);
        memset(gpu->host, 0, sizeof gpu->host); /* it may own ranges */
    }
    if (!gpu->hsa && (found = find(hsa, "hsa_agent_get_info"))) {
        memcpy(&gpu->hsa_agent, &found, sizeof found);
        found = find(hsa, "hsa_amd_pointer_info");
        memcpy(&gpu->hsa, &found, sizeof found);
        gpu->is_fine =
            true; /* its small blocks are between those of the host */
        memset(gpu->host, 0, sizeof gpu->host);
    }
}

/* Managed memory is readable by both. */
static bool is_cuda(const struct rcx_gpu *gpu, const void *p)
{
    const unsigned long long at = (uintptr_t)p;
    unsigned type = 0, is_managed = 0;

    return gpu->cuda && gpu->cuda(&type, CUDA_MEMORY_TYPE, at) == 0 &&
           type == CUDA_DEVICE &&
           (gpu->cuda(&is_managed, CUDA_IS_MANAGED, at) != 0 || !is_managed);
}

static bool is_hsa(const struct rcx_gpu *gpu, const void *p)
{
    struct rcx_hsa_info info = {.size = sizeof info};
    uint32_t kind = 0;

    return gpu->hsa && gpu->hsa(p, &info, NULL, NULL, NULL) == 0 &&
           (info.type == HSA_ALLOCATED || info.type == HSA_SHARED) &&
           gpu->hsa_agent(info.owner, HSA_AGENT_DEVICE, &kind) == 0 &&
           kind == HSA_GPU;
}

/* Operand and result of a call, and those of the next, may be in ranges of one
 * set. */
static bool has_range(const struct rcx_gpu *gpu, uintptr_t range)
{
    const uintptr_t *set = gpu->host[range % RCX_GPU_SETS];

    for (int i = 0; i < RCX_GPU_WAYS; i++)
        if (set[i] == range)
            return true;
    return false;
}

static void add_range(struct rcx_gpu *gpu, uintptr_t range)
{
    uintptr_t *set = gpu->host[range % RCX_GPU_SETS];

    memmove(set + 1, set, (RCX_GPU_WAYS - 1) * sizeof *set);
    set[0] = range;
}

bool rcx_gpu_look(struct rcx_gpu *gpu, const void *p)
{
    uintptr_t range = rcx_gpu_range(gpu, p);

    if (has_range(gpu, range))
        return true;
    find_drivers(gpu);
    if (is_cuda(gpu, p) || is_hsa(gpu, p))
        return false;
    range = rcx_gpu_range(gpu,
                          p); /* a driver may have changed the size of ranges */
    add_range(gpu, range);
    return true;
}

rcx_status_t rcx_gpu_refuse(const struct rcx_log *log, const char *name,
                            const void *p)
{
    return rcx_fail(log, RCX_ERR_UNSUPPORTED,
                    "%s=%p is a GPU's memory, which RCX cannot read: copy it "
                    "to the host",
                    name, p);
}
