/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/segment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/shm.h>

/* The line of /proc/PID/maps that address is in. Of a System V segment the name tells the
 * kind, and the inode is the identifier. */
static bool find(FILE *maps, uint64_t address, int *id_p)
{
    char line[512];

    while (fgets(line, sizeof line, maps)) {
        uint64_t start, end;
        unsigned long inode;

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %lu", &start,
                   &end, &inode) == 3 &&
            address >= start && address < end) {
            *id_p = strstr(line, " /SYSV") ? (int)inode : -1;
            return true;
        }
    }
    return false;
}

bool rcx_segment_hold(pid_t pid, uint64_t address, void **held_p)
{
    char path[sizeof "/proc//maps" + 20];
    FILE *maps;
    bool is_there;
    int id = -1;

    *held_p = NULL;
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    maps = fopen(path, "re");
    if (!maps)
        return errno != ENOENT && errno != ESRCH;
    is_there = find(maps, address, &id);
    fclose(maps);
    if (!is_there || id < 0)
        return is_there;
    *held_p = shmat(id, NULL, SHM_RDONLY);
    if (*held_p != (void *)-1)
        return true;
    *held_p = NULL;
    return errno != EINVAL && errno != EIDRM;
}

void rcx_segment_drop(void *held)
{
    if (held)
        shmdt(held);
}
