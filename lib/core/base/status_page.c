/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a status page, and places in it. What is written to it is decided
 * by run/diag/publish.c.
 */
#include "core/base/status_page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Process numbers have 22 bits at most. */
uint32_t rcx_status_make_job(const struct rcx_instant *born)
{
    return ((uint32_t)getpid() & 0x3fffff) | (uint32_t)(born->ns >> 10) << 22;
}

uint64_t rcx_status_pid_space(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

bool rcx_status_process(int pid, char *state_p, uint64_t *start_p)
{
    char path[32], text[1024];
    const char *name_end;
    unsigned long long start;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    name_end = strrchr(text, ')'); /* the name may contain any character */
    if (!name_end ||
        sscanf(name_end,
               ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%*s %*s %*s %*s %llu",
               state_p, &start) != 2)
        return false;
    *start_p = start;
    return true;
}

/* ---- Pages of processes that have ended ---------------------------------- */

bool rcx_status_is_orphan(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static bool is_linked(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Whether it is a page of this user. Its process may have ended before it had
 * allocated or filled it. */
static bool is_own_page(int fd)
{
    uint64_t magic = 0;
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return false;
    if (st.st_size == 0)
        return true;
    return st.st_size == RCX_STATUS_BYTES &&
           pread(fd, &magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
           (magic == 0 || magic == RCX_STATUS_MAGIC);
}

static void remove_if_orphan(int folder, const char *name)
{
    const int fd =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return;
    if (is_own_page(fd) && rcx_status_is_orphan(fd) && is_linked(fd))
        unlinkat(folder, name, 0);
    close(fd);
}

static void remove_orphans(void)
{
    DIR *folder = opendir(RCX_STATUS_FOLDER);
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (strncmp(entry->d_name, RCX_STATUS_PREFIX,
                    strlen(RCX_STATUS_PREFIX)) == 0)
            remove_if_orphan(dirfd(folder), entry->d_name);
    if (folder)
        closedir(folder);
}

/* ---- The page of this process -------------------------------------------- */

/* Lock the new file. EEXIST: a reader or remover was faster: take another
 * name. */
static int own(int fd, const char *path)
{
    int error = 0;

    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        error = errno == EWOULDBLOCK ? EEXIST : errno;
    else if (!is_linked(fd))
        error = EEXIST;
    if (error != 0) {
        close(fd);
        unlink(path);
    }
    return error;
}

/* A new file. Its blocks are allocated here, so that no later store fails
 * because /dev/shm is full. Returns -1: see errno. */
static int create(char path[], size_t bytes, uint32_t job, int rank)
{
    int fd = -1, error = EEXIST;

    for (int i = 0; error == EEXIST && i < 64; i++) {
        snprintf(path, bytes,
                 RCX_STATUS_FOLDER "/" RCX_STATUS_PREFIX "%u.%d.%d.%d", job,
                 rank, (int)getpid(), i);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  0600);
        error = fd < 0 ? errno : own(fd, path);
    }
    if (error != 0) {
        errno = error;
        return -1;
    }
    do
        error = posix_fallocate(fd, 0, RCX_STATUS_BYTES);
    while (error == EINTR);
    if (error == 0)
        return fd;
    close(fd);
    unlink(path);
    errno = error;
    return -1;
}

/* A child of fork() has no such page: it would look as if this process lived on
 * in it. */
static struct rcx_status_page *map(int fd)
{
    void *page =
        mmap(NULL, RCX_STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, RCX_STATUS_BYTES, MADV_DONTFORK) == 0)
        return page;
    munmap(page, RCX_STATUS_BYTES);
    return NULL;
}

bool rcx_status_open(struct rcx_status_writer *w, uint32_t job, int rank,
                     int size, const struct rcx_instant *born)
{
    struct rcx_status_page *page;
    int fd, error;
    char state;

    remove_orphans();
    fd = create(w->path, sizeof w->path, job, rank);
    if (fd < 0)
        return false;
    page = map(fd);
    error = errno;
    if (!page) {
        close(fd);
        unlink(w->path);
        errno = error;
        return false;
    }
    page->bytes = sizeof *page;
    page->job = job;
    page->pid = (int)getpid();
    page->rank = rank;
    page->size = size;
    page->pid_space = rcx_status_pid_space();
    rcx_status_process(page->pid, &state, &page->process_start);
    page->born = *born;
    page->seen_ns = page->ended_ns = rcx_now_ns();
    atomic_store_explicit(&page->magic, RCX_STATUS_MAGIC, memory_order_release);
    w->page = page;
    w->fd = fd;
    return true;
}

void rcx_status_close(struct rcx_status_writer *w)
{
    if (!w->page)
        return;
    unlink(w->path);
    munmap(w->page, RCX_STATUS_BYTES);
    close(w->fd);
    w->page = NULL;
}

struct rcx_status_comm *rcx_status_add_comm(struct rcx_status_writer *w,
                                            uint32_t id, int rank, int size)
{
    for (int i = 0; w->page && i < RCX_STATUS_COMMS; i++) {
        struct rcx_status_comm *c = &w->page->comms[i];

        if (c->is_used)
            continue;
        c->id = id;
        c->rank = rank;
        c->size = size;
        rcx_status_note_call(&c->collectives, 0, 0);
        rcx_status_note_call(&c->messages, 0, 0);
        atomic_store_explicit(&c->is_used, 1, memory_order_release);
        return c;
    }
    return NULL;
}

void rcx_status_remove_comm(struct rcx_status_comm *comm)
{
    if (comm)
        atomic_store_explicit(&comm->is_used, 0, memory_order_release);
}

void rcx_status_begin(struct rcx_status_page *page)
{
    const uint32_t n =
        atomic_load_explicit(&page->sequence, memory_order_relaxed);

    atomic_store_explicit(&page->sequence, n + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

void rcx_status_end(struct rcx_status_page *page)
{
    const uint32_t n =
        atomic_load_explicit(&page->sequence, memory_order_relaxed);

    atomic_store_explicit(&page->sequence, n + 1, memory_order_release);
}
