/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of regrets, for rcx_tune and rcx_sim.
 */
#include "common/regret.h"

#include <stdio.h>
#include <stdlib.h>

int regret_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void regret_print(double regrets[], size_t n)
{
    qsort(regrets, n, sizeof *regrets, regret_ascending);
    printf("median %.2f, 95 %% within %.2f, most %.2f\n", regrets[n / 2],
           regrets[(95 * n + 99) / 100 - 1], regrets[n - 1]);
}
