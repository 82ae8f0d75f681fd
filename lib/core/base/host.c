/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what identifies a machine: the kernel's boot id, and the namespace in
 * which processes share memory.
 */
#include "core/base/host.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"

void rcx_kernel_id(char *text, size_t bytes)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    const bool is_told = file && fgets(text, (int)bytes, file);

    if (file)
        fclose(file);
    if (is_told)
        return;
    text[0] = text[bytes - 1] = '\0';
    gethostname(text, bytes - 1);
}

uint64_t rcx_host_node(void)
{
    char kernel[64];
    struct stat ipc;
    uint64_t node;

    rcx_kernel_id(kernel, sizeof kernel);
    node = rcx_hash_text(kernel);
    return stat("/proc/self/ns/ipc", &ipc) == 0 ? rcx_hash(node, ipc.st_ino)
                                                : node;
}
