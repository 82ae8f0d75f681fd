/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cleanup of a job: processes, the PMIx server's folder, and shared memory of
 * ranks that were killed before UCX had unlinked it.
 *
 * A rank dies with rcxrun (PR_SET_PDEATHSIG), but its children do not, and
 * rcxrun cannot clean up after kill -9. So a second process, the watcher, reads
 * from a pipe until rcxrun ends. A byte means that rcxrun cleans up itself; end
 * of file means that the watcher has to.
 */
#include "rcxrun/rcxrun.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ADOPTED = 1024, MAX_OTHERS = 64, GRACE_MS = 2000 };

/* Shared between rcxrun and the watcher. */
struct record {
    struct timespec start;
    int size;
    int n_adopted;
    int n_others;
    pid_t others[MAX_OTHERS]; /* children that this process had before the job:
                                 those of a shell that became rcxrun by exec */
    pid_t pids[]; /* of the ranks, then of adopted processes; then the ranks'
                     process groups, 0 where no process is left */
};

static struct record *record;
static pid_t *groups;   /* part of record */
static bool *has_ended; /* by rank */
static char folder[4096];
static int watch_fd = -1;
static pid_t watcher;

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* --- shared memory --- */

static bool is_of_job(pid_t pid)
{
    for (int i = 0; i < record->size + record->n_adopted; i++) {
        if (pid != 0 && record->pids[i] == pid)
            return true;
    }
    return false;
}

/* UCX marks a SysV segment for removal right after it attaches it. A process
 * that is killed in between leaves a segment without attachments, whose creator
 * it is. UCX's segments have no key; a segment with a key belongs to the
 * program. */
static void remove_sysv_segments(void)
{
    struct shm_info info;
    const int last = shmctl(0, SHM_INFO, (struct shmid_ds *)&info);

    for (int i = 0; i <= last; i++) {
        struct shmid_ds segment;
        const int id = shmctl(i, SHM_STAT, &segment);

        if (id >= 0 && segment.shm_perm.__key == IPC_PRIVATE &&
            segment.shm_nattch == 0 &&
            segment.shm_ctime >= record->start.tv_sec &&
            is_of_job(segment.shm_cpid))
            shmctl(id, IPC_RMID, NULL);
    }
}

static bool is_newer(const struct timespec *time)
{
    return time->tv_sec > record->start.tv_sec ||
           (time->tv_sec == record->start.tv_sec &&
            time->tv_nsec >= record->start.tv_nsec);
}

/* Whether no other process has the file open or mapped. The kernel grants a
 * write lease only then, and counts processes of all containers. */
static bool is_unused(int dir, const char *name)
{
    const int fd =
        openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool unused;

    if (fd < 0)
        return false;
    unused = fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
    close(fd);
    return unused;
}

/* Whether it is the page for rcx_top of a rank: rcx_top.JOB.RANK.PID.NUMBER. A
 * rank removes it in rcx_finalize(). */
static bool is_status_page(const char *name)
{
    int pid;

    return sscanf(name, "rcx_top.%*u.%*d.%d.", &pid) == 1 && is_of_job(pid);
}

/* UCX unlinks its POSIX objects right after their creation, unless
 * UCX_POSIX_USE_PROC_LINK=n. The name does not identify the creator. */
static void remove_posix_objects(void)
{
    DIR *dir = opendir("/dev/shm");
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        struct stat st;

        if (is_status_page(entry->d_name) &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_uid == geteuid())
            unlinkat(dirfd(dir), entry->d_name, 0);
        if (strncmp(entry->d_name, "ucx_shm_posix_", 14) == 0 &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
            is_newer(&st.st_ctim) && is_unused(dirfd(dir), entry->d_name))
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
}

/* --- the job's folder --- */

static int remove_entry(const char *path, const struct stat *st, int type,
                        struct FTW *at)
{
    (void)st, (void)type, (void)at;
    remove(path);
    return 0;
}

static void remove_files(void)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    remove_sysv_segments();
    remove_posix_objects();
}

/* --- the watcher --- */

static void kill_groups(void)
{
    for (int left_ms = GRACE_MS; left_ms > 0; left_ms--) {
        bool alive = false;

        for (int rank = 0; rank < record->size; rank++) {
            if (groups[rank] > 0 && kill(-groups[rank], SIGKILL) == 0)
                alive = true;
        }
        if (!alive)
            return;
        pause_ms(1);
    }
}

static void __attribute__((noreturn)) watch(int fd)
{
    const int null = open("/dev/null", O_RDWR);
    ssize_t got;
    char byte;

    setsid(); /* the terminal's signals do not reach this session */
    for (int i = 0; i < 3; i++)
        dup2(null, i); /* a reader of rcxrun's output must not wait for this
                          process */
    prctl(PR_SET_NAME, "rcxrun-watch");
    do
        got = read(fd, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got == 0) {
        kill_groups();
        remove_files();
    }
    _exit(0);
}

static void start_watcher(void)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        rcxrun_die("pipe: %s", strerror(errno));
    watcher = fork();
    if (watcher < 0)
        rcxrun_die("fork: %s", strerror(errno));
    if (watcher == 0) {
        close(fds[1]);
        watch(fds[0]);
    }
    close(fds[0]);
    watch_fd = fds[1];
}

static void stop_watcher(void)
{
    if (write(watch_fd, "q", 1) == 1)
        waitpid(watcher, NULL, 0);
    close(watch_fd);
}

/* --- rcxrun's side --- */

void rcxrun_cleanup_add_rank(int rank, pid_t pid)
{
    record->pids[rank] = pid;
    groups[rank] = pid;
}

/* Clear groups without processes. After the last process of a group has been
 * waited for, another user's group may get the same number. */
static void drop_empty_groups(void)
{
    for (int rank = 0; rank < record->size; rank++)
        if (has_ended[rank] && groups[rank] > 0 &&
            kill(-groups[rank], 0) != 0 && errno == ESRCH)
            groups[rank] = 0;
}

void rcxrun_cleanup_rank_ended(int rank)
{
    has_ended[rank] = true;
    drop_empty_groups();
}

void rcxrun_cleanup_add_adopted(pid_t pid)
{
    if (record->n_adopted < MAX_ADOPTED)
        record->pids[record->size + record->n_adopted++] = pid;
    drop_empty_groups();
}

static bool is_our_child(const char *pid)
{
    char path[280], text[512];
    const char *name_end;
    ssize_t length;
    int fd, parent = 0;

    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    name_end = strrchr(text, ')'); /* the name may contain any character */
    return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 &&
           parent == getpid();
}

static bool is_other(pid_t pid)
{
    for (int i = 0; i < record->n_others; i++)
        if (record->others[i] == pid)
            return true;
    return false;
}

/* Call fn with each child of this process. */
static void for_children(void (*fn)(pid_t pid, int *n), int *n)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            is_our_child(entry->d_name))
            fn(atoi(entry->d_name), n);
    }
    closedir(dir);
}

static void note_other(pid_t pid, int *n)
{
    if (*n < MAX_OTHERS)
        record->others[(*n)++] = pid;
}

const char *rcxrun_cleanup_begin(int size)
{
    const char *base = getenv("TMPDIR");
    const size_t bytes =
        sizeof *record + (size_t)(2 * size + MAX_ADOPTED) * sizeof(pid_t);

    record = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (record == MAP_FAILED)
        rcxrun_die("mmap: %s", strerror(errno));
    record->size = size;
    groups = record->pids + size + MAX_ADOPTED;
    has_ended = rcxrun_alloc((size_t)size, sizeof *has_ended);
    clock_gettime(CLOCK_REALTIME_COARSE,
                  &record->start); /* the clock of file times */

    if (!base || base[0] != '/')
        base = "/tmp";
    snprintf(folder, sizeof folder, "%s/rcxrun.XXXXXX", base);
    if (!mkdtemp(folder))
        rcxrun_die("cannot make the folder %s: %s%s", folder, strerror(errno),
                   base && *base ? " (TMPDIR)" : "");
    for_children(note_other, &record->n_others);
    start_watcher();
    /* From here on orphaned descendants of ranks become children of rcxrun. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return folder;
}

static void kill_child(pid_t pid, int *killed)
{
    if (is_other(pid))
        return;
    kill(pid, SIGKILL);
    ++*killed;
}

/* Kill and reap children until none is left. Children of a killed process
 * become children of rcxrun in turn. */
static void kill_leftovers(void)
{
    for (int left_ms = GRACE_MS; left_ms > 0; left_ms--) {
        int killed = 0;
        pid_t pid;

        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            rcxrun_cleanup_add_adopted(pid);
        if (pid < 0)
            return; /* no child left */
        for_children(kill_child, &killed);
        if (killed == 0)
            return; /* only children from before the job are left */
        pause_ms(1);
    }
}

void rcxrun_cleanup_end(void)
{
    stop_watcher(); /* first, so that only processes of ranks are left */
    kill_leftovers();
    remove_files();
}
