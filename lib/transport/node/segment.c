/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System V segments, found by the memory maps of processes.
 */
#include "transport/node/segment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

/* A line of /proc/PID/maps. For a System V segment the name tells the kind, and
 * the inode is the identifier. */
struct mapping {
    uint64_t start, end;
    int id; /* -1: not a segment */
};

static bool read_mapping(FILE *maps, struct mapping *m)
{
    char line[512];

    while (fgets(line, sizeof line, maps)) {
        unsigned long inode;

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %lu", &m->start,
                   &m->end, &inode) != 3)
            continue;
        m->id = strstr(line, " /SYSV") ? (int)inode : -1;
        return true;
    }
    return false;
}

static bool find(FILE *maps, uint64_t address, int *id_p)
{
    struct mapping m;

    while (read_mapping(maps, &m)) {
        if (address < m.start || address >= m.end)
            continue;
        *id_p = m.id;
        return true;
    }
    return false;
}

static void make_private(int id)
{
    struct shmid_ds segment;

    if (shmctl(id, IPC_STAT, &segment) != 0 || segment.shm_cpid != getpid() ||
        segment.shm_perm.__key != IPC_PRIVATE ||
        !(segment.shm_perm.mode & SHM_DEST) ||
        (segment.shm_perm.mode & 0077) == 0)
        return;
    segment.shm_perm.mode = 0600;
    shmctl(id, IPC_SET, &segment);
}

void rcx_segment_make_all_private(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    struct mapping m;

    while (maps && read_mapping(maps, &m))
        if (m.id >= 0)
            make_private(m.id);
    if (maps)
        fclose(maps);
}

bool rcx_segment_get(pid_t pid, uint64_t address, void **held_p)
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

void rcx_segment_put(void *held)
{
    if (held)
        shmdt(held);
}
