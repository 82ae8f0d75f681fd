/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the kernels for this CPU. The build defines RCX_HAVE_AVX2,
 * RCX_HAVE_AVX512 where it compiles kernels.c for these levels, on x86 only.
 */
#include "core/op/kernels.h"

#ifdef RCX_HAVE_AVX2
#include <cpuid.h>
#endif

static const struct {
    const char *name;
    const rcx_kernel_table_t *table; /* NULL: not compiled in */
    const rcx_finish_table_t *averages;
} levels[RCX_ISA_COUNT] = {
    [RCX_ISA_BASELINE] = {"baseline", &rcx_kernels_baseline,
                          &rcx_averages_baseline},
#ifdef RCX_HAVE_AVX2
    [RCX_ISA_AVX2] = {"avx2", &rcx_kernels_avx2, &rcx_averages_avx2},
#else
    [RCX_ISA_AVX2] = {"avx2", NULL, NULL},
#endif
#ifdef RCX_HAVE_AVX512
    [RCX_ISA_AVX512] = {"avx512", &rcx_kernels_avx512, &rcx_averages_avx512},
#else
    [RCX_ISA_AVX512] = {"avx512", NULL, NULL},
#endif
};

const char *rcx_isa_name(enum rcx_isa isa)
{
    return (unsigned)isa < RCX_ISA_COUNT ? levels[isa].name : NULL;
}

#ifdef RCX_HAVE_AVX2
/* clang 14 does not know the name. AVX2 implies that registers are saved. */
static bool cpu_has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;

    __cpuid(1, eax, ebx, ecx, edx); /* __get_cpuid() would query twice */
    return (ecx & bit_F16C) != 0;
}
#endif

static bool cpu_has(enum rcx_isa isa)
{
    switch (isa) {
    case RCX_ISA_BASELINE: return true;
#ifdef RCX_HAVE_AVX2
    case RCX_ISA_AVX2: return __builtin_cpu_supports("avx2") && cpu_has_f16c();
#endif
#ifdef RCX_HAVE_AVX512
    case RCX_ISA_AVX512:
        return cpu_has(RCX_ISA_AVX2) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
#endif
    default: return false;
    }
}

bool rcx_isa_available(enum rcx_isa isa)
{
    return (unsigned)isa < RCX_ISA_COUNT && levels[isa].table && cpu_has(isa);
}

enum rcx_isa rcx_isa_best(void)
{
    int isa = RCX_ISA_COUNT - 1;

    while (!rcx_isa_available((enum rcx_isa)isa))
        isa--;
    return (enum rcx_isa)isa;
}

rcx_kernel_fn_t rcx_kernel_find(enum rcx_isa isa, rcx_op_t op,
                                rcx_datatype_t type)
{
    const rcx_datatype_t canonical = rcx_type_canonical(type);

    if ((unsigned)isa >= RCX_ISA_COUNT || !rcx_op_predefined(op) ||
        !rcx_type_predefined(type))
        return NULL;
    for (int level = (int)isa; level >= 0; level--) {
        const rcx_kernel_table_t *table = levels[level].table;

        if (table && (*table)[RCX_OP_INDEX(op)][canonical])
            return (*table)[RCX_OP_INDEX(op)][canonical];
    }
    return NULL;
}

rcx_finish_fn_t rcx_finish_find(enum rcx_isa isa, rcx_op_t op,
                                rcx_datatype_t type)
{
    const rcx_datatype_t canonical = rcx_type_canonical(type);

    if ((unsigned)isa >= RCX_ISA_COUNT || op != RCX_AVG ||
        !rcx_type_predefined(type))
        return NULL;
    for (int level = (int)isa; level >= 0; level--)
        if (levels[level].averages && (*levels[level].averages)[canonical])
            return (*levels[level].averages)[canonical];
    return NULL;
}
