/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of cpus as text, which only tools print.
 */
#include "common/cpus.h"

#include <stdio.h>
#include <string.h>

const char *cpus_print(const cpu_set_t *cpus, char *text, size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (int cpu = 0, last; cpu < CPU_SETSIZE; cpu = last + 1) {
        char range[32];
        int length;

        last = cpu;
        if (!CPU_ISSET(cpu, cpus))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
            last++;
        length = snprintf(range, sizeof range, last > cpu ? "%s%d-%d" : "%s%d",
                          used ? "," : "", cpu, last);
        if (used + (size_t)length + sizeof "..." > bytes) {
            snprintf(text + used, bytes - used, "...");
            break;
        }
        memcpy(text + used, range, (size_t)length + 1);
        used += (size_t)length;
    }
    return text;
}
