/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks for libraries without a launcher. See ranks.h.
 *
 * The exchange has two slots per rank, used alternately. A rank writes its slot
 * of allgather n after it has finished the one before. Then all ranks have
 * started that one, so all have finished allgather n - 2, which used the same
 * slot.
 */

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks.h"

enum { MAX_RANKS = 256, SLOT_BYTES = 1 << 20 };

struct ranks_exchange {
    atomic_uint started[MAX_RANKS]; /* number of allgathers whose slot the rank
                                       has written */
    char slot[2][MAX_RANKS][SLOT_BYTES];
};

int ranks_allgather(const struct ranks *ranks, const void *send, void *recv,
                    size_t bytes)
{
    struct ranks_exchange *x = ranks->exchange;
    const unsigned n = atomic_load(&x->started[ranks->rank]) + 1;

    if (bytes > SLOT_BYTES)
        return -1;
    memcpy(x->slot[n % 2][ranks->rank], send, bytes);
    atomic_store(&x->started[ranks->rank], n);
    for (int i = 0; i < ranks->size; i++) {
        while (atomic_load(&x->started[i]) < n)
            sched_yield();
        memcpy((char *)recv + (size_t)i * bytes, x->slot[n % 2][i], bytes);
    }
    return 0;
}

static int size_wanted(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "-n"))
            return atoi(argv[i + 1]);
    return 2;
}

static void remove_directory(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(path);
}

/* Wait for all ranks, and kill the others after the first failure. Returns 0,
 * or the exit status of the first rank that failed (1: by a signal). */
static int wait_for_all(const pid_t *pids, int size)
{
    int failed = 0, alive = size;

    while (alive > 0) {
        int status;
        pid_t pid = wait(&status);

        if (pid < 0)
            return 1;
        alive--;
        if (status == 0 || failed)
            continue;
        failed = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        for (int i = 0; i < size; i++)
            if (pids[i] != pid)
                kill(pids[i], SIGKILL);
    }
    return failed;
}

static void become_rank(int rank, pid_t parent)
{
    char text[16];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        exit(1);
    snprintf(text, sizeof(text), "%d", rank);
    setenv("BENCH_RANK", text, 1);
}

/* Run as a task of a Slurm job. Ranks share memory by a file in the
 * directory. */
static int join(int argc, char **argv, const char *directory,
                int (*run)(int argc, char **argv, const struct ranks *ranks))
{
    const char *rank = getenv("SLURM_PROCID"), *size = getenv("SLURM_NTASKS");
    struct ranks ranks = {.directory = directory};
    char path[4096];
    int file;

    if (!rank || !size || atoi(size) > MAX_RANKS) {
        fprintf(stderr, "bench: not a task of a Slurm job of up to %d tasks\n",
                MAX_RANKS);
        return 2;
    }
    ranks.rank = atoi(rank);
    ranks.size = atoi(size);
    setenv("BENCH_RANK", rank, 1);
    snprintf(path, sizeof path, "%s/exchange", directory);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *ranks.exchange) < 0) {
        perror(path);
        return 1;
    }
    ranks.exchange = mmap(NULL, sizeof *ranks.exchange, PROT_READ | PROT_WRITE,
                          MAP_SHARED, file, 0);
    close(file);
    if (ranks.exchange == MAP_FAILED) {
        perror(path);
        return 1;
    }
    return run(argc, argv, &ranks);
}

int ranks_fork(int argc, char **argv,
               int (*run)(int argc, char **argv, const struct ranks *ranks))
{
    char directory[] = "/tmp/rcx_bench.XXXXXX";
    struct ranks ranks = {0, size_wanted(argc, argv), directory, NULL};
    pid_t pids[MAX_RANKS], parent = getpid();
    const char *shared = getenv("BENCH_DIRECTORY");
    int failed, n;

    if (shared)
        return join(argc, argv, shared, run);
    if (ranks.size < 1 || ranks.size > MAX_RANKS) {
        fprintf(stderr, "bench: -n must be 1 to %d\n", MAX_RANKS);
        return 2;
    }
    ranks.exchange = mmap(NULL, sizeof(*ranks.exchange), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ranks.exchange == MAP_FAILED || !mkdtemp(directory)) {
        perror("bench: ranks");
        return 1;
    }
    for (n = 0; n < ranks.size; n++) {
        pids[n] = fork();
        if (pids[n] < 0)
            break;
        if (pids[n] == 0) {
            ranks.rank = n;
            become_rank(n, parent);
            exit(run(argc, argv, &ranks));
        }
    }
    if (n < ranks.size) {
        perror("bench: fork");
        for (int i = 0; i < n; i++)
            kill(pids[i], SIGKILL);
    }
    failed = wait_for_all(pids, n);
    remove_directory(directory);
    return n < ranks.size ? 1 : failed;
}
