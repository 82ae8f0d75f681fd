/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads status pages, and finds which state their processes are in. Any program
 * of the user may have written a page, so all of it is checked.
 */
#include "rcx_top/rcx_top.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 20, PAUSE_NS = 1000 * 1000 };

/* ---- A page -------------------------------------------------------------- */

static bool read_at(int fd, void *to, size_t bytes, size_t offset)
{
    return pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool read_sequence(int fd, uint32_t *sequence_p)
{
    return read_at(fd, sequence_p, sizeof *sequence_p,
                   offsetof(struct rcx_status_page, sequence));
}

/* Writing takes microseconds. Yet a process that was stopped or killed
 * meanwhile leaves operations that cannot be read: *is_torn_p. */
static bool read_page(int fd, struct rcx_status_page *page, bool *is_torn_p)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint32_t before = 1, after = 0;

    for (int i = 0; i < TRIES; i++) {
        if (!read_sequence(fd, &before) ||
            !read_at(fd, page, sizeof *page, 0) || !read_sequence(fd, &after))
            return false;
        *is_torn_p = before != after || before % 2 != 0;
        if (!*is_torn_p)
            return true;
        nanosleep(&pause, NULL);
    }
    page->op_count = 0;
    return true;
}

static void check_text(char text[RCX_STATUS_TEXT])
{
    text[RCX_STATUS_TEXT - 1] = '\0';
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("_-.:,= ", *text))
            *text = '?';
}

/* False: it is no page, or one of another version. */
static bool check_page(struct rcx_status_page *page)
{
    if (page->magic != RCX_STATUS_MAGIC || page->bytes != sizeof *page ||
        page->size < 1 || page->rank < 0 || page->rank >= page->size ||
        page->pid < 1)
        return false;
    if (page->op_count > RCX_STATUS_OPS)
        page->op_count = RCX_STATUS_OPS;
    for (uint32_t i = 0; i < page->op_count; i++) {
        struct rcx_status_op *op = &page->ops[i];

        if (op->waits < 0 || op->waits > RCX_STATUS_WAITS)
            op->waits = 0;
        check_text(op->call);
        check_text(op->type);
        check_text(op->algorithm);
    }
    return true;
}

/* ---- Its process --------------------------------------------------------- */

uint64_t top_age(const struct top_rank *rank, uint64_t ticks)
{
    const struct rcx_instant now = rcx_instant_now();
    const uint64_t ns = rcx_ticks_to_ns(ticks, &rank->page.born, &now);

    return now.ns > ns ? now.ns - ns : 0;
}

static uint64_t since(uint64_t ns)
{
    const uint64_t now = rcx_now_ns();

    return now > ns ? now - ns : 0;
}

static void find_last_call(struct top_rank *rank)
{
    uint64_t newest = 0;

    for (int i = 0; i < RCX_STATUS_COMMS; i++) {
        const struct rcx_status_comm *c = &rank->page.comms[i];

        if (!c->is_used || c->id == rank->page.internal ||
            c->collectives.ticks <= newest)
            continue;
        newest = c->collectives.ticks;
        rank->last = c;
    }
}

static void find_op(struct top_rank *rank)
{
    for (uint32_t i = 0; i < rank->page.op_count; i++)
        if (!rank->op || rank->page.ops[i].begin < rank->op->begin)
            rank->op = &rank->page.ops[i];
}

/* How long it has made no call: since the end of its last one if that took
 * long, else since its begin. */
static uint64_t away(const struct top_rank *rank)
{
    const uint64_t ended = since(rank->page.ended_ns);
    const uint64_t called =
        rank->last ? top_age(rank, rank->last->collectives.ticks) : ended;

    return called < ended ? called : ended;
}

/* The state of a process of another namespace of process numbers is not known:
 * 'R' while it has its page. 0: it has ended. */
static char process_state(const struct top_rank *rank)
{
    const struct rcx_status_page *page = &rank->page;
    uint64_t start;
    char state;

    if (page->pid_space != rcx_status_pid_space())
        return rank->is_orphan ? '\0' : 'R';
    if (!rcx_status_process(page->pid, &state, &start) ||
        start != page->process_start || state == 'Z' || state == 'X')
        return '\0';
    return state;
}

static void find_state(struct top_rank *rank)
{
    const char state = process_state(rank);
    bool is_blocking = false;

    find_last_call(rank);
    find_op(rank);
    for (uint32_t i = 0; i < rank->page.op_count; i++)
        is_blocking |= rank->page.ops[i].is_blocking != 0;
    rank->for_ns = away(rank);
    if (state == '\0') {
        rank->state = TOP_ENDED;
    } else if (state == 'T' || state == 't') {
        rank->state = TOP_STOPPED;
        if (since(rank->page.seen_ns) < rank->for_ns)
            rank->for_ns = since(rank->page.seen_ns);
    } else if (rank->is_torn) {
        rank->state = TOP_UNKNOWN;
        rank->for_ns = since(rank->page.seen_ns);
    } else if (rank->op &&
               (is_blocking || since(rank->page.seen_ns) < TOP_LONG_NS)) {
        rank->state = TOP_IN_CALL;
        rank->for_ns = top_age(rank, rank->op->begin);
    } else {
        rank->state = TOP_OUTSIDE;
    }
}

/* ---- A rank -------------------------------------------------------------- */

static bool is_ours(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           (st.st_uid == geteuid() || geteuid() == 0);
}

static bool read_rank(int folder, const char *name, struct top_rank *rank)
{
    const int fd =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool good;

    if (fd < 0)
        return false;
    *rank = (struct top_rank){.state = TOP_OUTSIDE};
    good = is_ours(fd) && read_page(fd, &rank->page, &rank->is_torn) &&
           check_page(&rank->page);
    rank->is_orphan = good && rcx_status_is_orphan(fd);
    close(fd);
    snprintf(rank->file, sizeof rank->file, "%s", name);
    return good;
}

static int compare(const void *a, const void *b)
{
    const struct top_rank *x = a, *y = b;
    const int pid_x = rcx_status_job_pid(x->page.job);
    const int pid_y = rcx_status_job_pid(y->page.job);

    if (pid_x != pid_y)
        return pid_x < pid_y ? -1 : 1;
    if (x->page.job != y->page.job)
        return x->page.job < y->page.job ? -1 : 1;
    if (x->page.rank != y->page.rank)
        return x->page.rank < y->page.rank ? -1 : 1;
    return strcmp(x->file, y->file);
}

/* ---- Two looks ----------------------------------------------------------- */

static const struct top_rank *find_former(const struct top_look *before,
                                          const struct top_rank *rank)
{
    for (size_t i = 0; i < before->n; i++)
        if (strcmp(before->ranks[i].file, rank->file) == 0)
            return &before->ranks[i];
    return NULL;
}

static bool has_same_ops(const struct top_rank *a, const struct top_rank *b)
{
    const uint32_t n = a->page.op_count;

    return !a->is_torn && !b->is_torn && b->page.op_count == n &&
           a->page.born.ns == b->page.born.ns &&
           memcmp(a->page.ops, b->page.ops, n * sizeof a->page.ops[0]) == 0;
}

static void compare_with(const struct top_look *before, struct top_rank *rank)
{
    const struct top_rank *former = find_former(before, rank);

    if (former && has_same_ops(former, rank) &&
        rank->page.seen_ns > former->page.seen_ns)
        rank->still_ns =
            former->still_ns + rank->page.seen_ns - former->page.seen_ns;
    else if (former && has_same_ops(former, rank))
        rank->still_ns = former->still_ns;
}

/* ---- All pages ----------------------------------------------------------- */

/* Room for one more, which is returned. */
static struct top_rank *next_rank(struct top_look *look, size_t *room)
{
    struct top_rank *more;

    if (look->n < *room)
        return &look->ranks[look->n];
    more = top_alloc(*room = 2 * *room + 16, sizeof *more);
    if (look->n > 0)
        memcpy(more, look->ranks, look->n * sizeof *more);
    free(look->ranks);
    look->ranks = more;
    return &more[look->n];
}

struct top_look top_read(const struct top_look *before)
{
    DIR *folder = opendir(RCX_STATUS_FOLDER);
    const struct dirent *entry;
    struct top_look look = {NULL, 0};
    size_t room = 0;

    while (folder && (entry = readdir(folder))) {
        if (strncmp(entry->d_name, RCX_STATUS_PREFIX,
                    strlen(RCX_STATUS_PREFIX)) != 0 ||
            strlen(entry->d_name) >= RCX_STATUS_NAME)
            continue;
        look.n +=
            read_rank(dirfd(folder), entry->d_name, next_rank(&look, &room));
    }
    if (folder)
        closedir(folder);
    if (look.n > 0)
        qsort(look.ranks, look.n, sizeof *look.ranks, compare);
    for (size_t i = 0; i < look.n; i++) { /* which points into the list */
        find_state(&look.ranks[i]);
        compare_with(before, &look.ranks[i]);
    }
    return look;
}

void top_look_free(struct top_look *look)
{
    free(look->ranks);
    *look = (struct top_look){NULL, 0};
}

bool top_remove(const struct top_rank *rank)
{
    char path[sizeof RCX_STATUS_FOLDER + RCX_STATUS_NAME];

    snprintf(path, sizeof path, RCX_STATUS_FOLDER "/%s", rank->file);
    return unlink(path) == 0;
}
