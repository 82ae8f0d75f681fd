/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what identifies a machine: the kernel's boot id, and the namespace in
 * which processes share memory.
 */
#include "core/base/host.h"

#include <stdio.h>
#include <sys/stat.h>

#include "core/base/hash.h"

void rcx_kernel_id(char *text, size_t bytes)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (!file || !fgets(text, (int)bytes, file))
        text[0] = '\0';
    if (file)
        fclose(file);
}

uint64_t rcx_host_hash(const char *host, const char *boot_id)
{
    const uint64_t node = rcx_hash(rcx_hash_text(host), rcx_hash_text(boot_id));
    struct stat ipc;

    return stat("/proc/self/ns/ipc", &ipc) == 0 ? rcx_hash(node, ipc.st_ino)
                                                : node;
}
