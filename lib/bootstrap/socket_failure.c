/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a start fails. The first rank whose deadline passes reports to rank 0,
 * which knows the ranks that have not come. If all have come, rank 0 sends a
 * query down the tree; a parent names a child that does not answer. The failure
 * is passed on along the tree, so all living ranks log the same line.
 */
#include "bootstrap/socket_failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bootstrap/socket_clue.h"
#include "core/base/clock.h"

static const uint64_t answer_ns = 300000000; /* for a child to answer */
static const uint64_t below_ns = 2000000000; /* for ranks below it */
static const uint64_t above_ns = 3000000000; /* for rank 0 to decide */
static const uint64_t linger_ns = 300000000;

enum { NAMES = 8 };

bool rcx_socket_has_all_below(const struct rcx_socket_tree *t)
{
    for (int i = 0; i < t->n_children; i++)
        if (!t->children[i].has_given)
            return false;
    return true;
}

/* ---- Notification -------------------------------------------------------- */

/* Whether no frame to link has been sent in part. */
static bool is_between_frames(const struct rcx_socket_tree *t,
                              const struct rcx_socket_link *link)
{
    return link->sent == 0 || rcx_socket_is_served(t, link);
}

/* Send a control frame, without waiting. It is lost if the other side does not
 * read. */
static void send_control(const struct rcx_socket_link *link,
                         enum rcx_socket_frame_kind kind, const void *body,
                         size_t bytes)
{
    const struct rcx_socket_head head = {.kind = kind, .bytes = bytes};
    char frame[sizeof head + sizeof(struct rcx_socket_failure)];

    if (link->fd < 0)
        return;
    memcpy(frame, &head, sizeof head);
    if (bytes > 0)
        memcpy(frame + sizeof head, body, bytes);
    send(link->fd, frame, sizeof head + bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void rcx_socket_tree_notify(const struct rcx_socket_tree *t,
                            rcx_status_t status, const char *text)
{
    struct rcx_socket_failure failure = {.status = status};

    snprintf(failure.text, sizeof failure.text, "%s", text);
    send_control(&t->parent, RCX_SOCKET_FAILED, &failure, sizeof failure);
    for (int i = 0; i < t->n_children; i++)
        send_control(&t->children[i], RCX_SOCKET_FAILED, &failure,
                     sizeof failure);
}

/* Notify all links except one. A link to which a frame has been sent in part
 * learns of the failure when the connection ends. */
static void notify_neighbours(const struct rcx_socket_tree *t,
                              const struct rcx_socket_link *but)
{
    struct rcx_socket_failure failure = {.status = t->failure};

    memcpy(failure.text, t->why, sizeof failure.text);
    if (&t->parent != but && is_between_frames(t, &t->parent))
        send_control(&t->parent, RCX_SOCKET_FAILED, &failure, sizeof failure);
    for (int i = 0; i < t->n_children; i++)
        if (&t->children[i] != but && is_between_frames(t, &t->children[i]))
            send_control(&t->children[i], RCX_SOCKET_FAILED, &failure,
                         sizeof failure);
}

/* Discard received data. False: the other side has closed the connection. */
static bool is_connected(const struct rcx_socket_link *link)
{
    char waste[4096];
    ssize_t n = 0;

    if (link->fd < 0)
        return false;
    do
        n = recv(link->fd, waste, sizeof waste, MSG_DONTWAIT);
    while (n > 0);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Wait a moment for the other sides to close. Closing a connection with unread
 * data would reset it, and the failure would be lost. Processes that connect
 * meanwhile get the failure as well. */
static void linger(struct rcx_socket_tree *t)
{
    const uint64_t until = rcx_now_ns() + linger_ns;
    bool any = true;

    if (t->parent.fd >= 0)
        shutdown(t->parent.fd, SHUT_WR);
    for (int i = 0; i < t->n_children; i++)
        if (t->children[i].fd >= 0)
            shutdown(t->children[i].fd, SHUT_WR);
    while (any && rcx_now_ns() < until) {
        any = is_connected(&t->parent);
        for (int i = 0; i < t->n_children; i++)
            any |= is_connected(&t->children[i]);
        any |= t->server.n > 0;
        if (any)
            rcx_socket_tree_wait(t, rcx_now_ns() + 5000000);
    }
}

/* Fail for a reason that came from link; NULL: from this rank. */
static void fail_by(struct rcx_socket_tree *t,
                    const struct rcx_socket_link *link, rcx_status_t status,
                    const char *text)
{
    if (t->failure != RCX_OK)
        return;
    t->failure = status;
    snprintf(t->why, sizeof t->why, "%s", text);
    notify_neighbours(t, link);
    rcx_log_line(t->log, RCX_LOG_ERROR, "%s", t->why);
    if (t->epoll >= 0)
        linger(t);
}

rcx_status_t rcx_socket_tree_fail(struct rcx_socket_tree *t,
                                  rcx_status_t status, const char *format, ...)
{
    char text[RCX_SOCKET_TEXT];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail_by(t, NULL, status, text);
    return t->failure;
}

/* ---- Reasons ------------------------------------------------------------- */

/* The end of a message. */
static const char *until_what(const struct rcx_socket_tree *t)
{
    return t->has_deadline ? "before the job had started"
                           : "before all ranks had finalized";
}

void rcx_socket_fail_ended(struct rcx_socket_tree *t,
                           struct rcx_socket_link *link)
{
    rcx_socket_tree_fail(t, RCX_ERR_PEER_FAILED,
                         "rank %d ended, or left RCX, %s", link->rank,
                         until_what(t));
}

void rcx_socket_fail_malformed(struct rcx_socket_tree *t,
                               const struct rcx_socket_link *link)
{
    rcx_socket_tree_fail(t, RCX_ERR_LAUNCH,
                         "what rank %d sent is not what this RCX expects: do "
                         "all ranks run the same version?",
                         link->rank);
}

void rcx_socket_fail_memory(struct rcx_socket_tree *t, size_t bytes)
{
    rcx_socket_tree_fail(t, RCX_ERR_NOMEM,
                         "rank %d has no memory for %zu bytes of the start",
                         t->rank, bytes);
}

/* Name the ranks that have not come to rank 0. */
static void name_missing(const struct rcx_socket_tree *t, char *text,
                         size_t bytes)
{
    const int n = t->size - t->n_arrived;
    size_t used = 0;
    int named = 0;

    used += (size_t)snprintf(text, bytes, n == 1 ? "rank " : "ranks ");
    for (int i = 0; i < t->size && named < NAMES && used < bytes; i++)
        if (t->position_of[i] < 0)
            used += (size_t)snprintf(text + used, bytes - used, "%s%d",
                                     named++ == 0 ? "" : ", ", i);
    if (n > named && used < bytes)
        snprintf(text + used, bytes - used, " and %d more", n - named);
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static void fail_missing(struct rcx_socket_tree *t)
{
    char names[RCX_SOCKET_TEXT / 2], clue[RCX_SOCKET_TEXT];

    name_missing(t, names, sizeof names);
    rcx_socket_clue(t, clue, sizeof clue);
    rcx_socket_tree_fail(t, RCX_ERR_TIMEOUT,
                         "%s of %d did not come within "
                         "%.3g s%s",
                         names, t->size, seconds(t->overdue_of), clue);
}

/* Of rank 0: the rank at a position came to it, and not to its parent. */
static void fail_lost(struct rcx_socket_tree *t, int position)
{
    const struct rcx_socket_place *place = &t->arrivals[position].place;

    rcx_socket_tree_fail(
        t, RCX_ERR_TIMEOUT,
        "rank %d (process %d on %.31s) did not come within "
        "%.3g s: it ended, or cannot connect to rank %d",
        place->rank, place->pid, place->host, seconds(t->overdue_of),
        t->arrivals[(position - 1) / RCX_SOCKET_FAN].place.rank);
}

/* ---- Deadlines ----------------------------------------------------------- */

/* The position of a child that has not come; -1: all have. */
static int absent_child(const struct rcx_socket_tree *t)
{
    for (int i = 0; i < t->n_children; i++)
        if (t->children[i].fd < 0)
            return t->position * RCX_SOCKET_FAN + 1 + i;
    return -1;
}

/* Report to rank 0 that a deadline has passed. */
static void report_overdue(const struct rcx_socket_tree *t, int position)
{
    const struct rcx_socket_absent absent = {.position = position,
                                             .timeout_ns = t->overdue_of};

    send_control(&t->parent, RCX_SOCKET_OVERDUE, &absent, sizeof absent);
}

/* Ask the children whose part is missing. */
static void query_children(struct rcx_socket_tree *t)
{
    const struct rcx_socket_absent absent = {.position = -1,
                                             .timeout_ns = t->overdue_of};

    if (t->query_ns != 0)
        return;
    t->query_ns = rcx_now_ns();
    for (int i = 0; i < t->n_children; i++)
        if (!t->children[i].has_given)
            send_control(&t->children[i], RCX_SOCKET_QUERY, &absent,
                         sizeof absent);
}

/* Of rank 0: a deadline has passed here or elsewhere. */
static void investigate(struct rcx_socket_tree *t)
{
    if (t->n_arrived < t->size)
        fail_missing(t);
    else if (t->arrivals && absent_child(t) >= 0)
        fail_lost(t, absent_child(t));
    else
        query_children(t);
}

static void fail_silent(struct rcx_socket_tree *t, int rank)
{
    rcx_socket_tree_fail(t, RCX_ERR_TIMEOUT,
                         "rank %d did not take part within %.3g s: it is "
                         "stopped, or busy with something else",
                         rank, seconds(t->overdue_of));
}

/* Name the children that have not answered. */
static void check_answers(struct rcx_socket_tree *t)
{
    const uint64_t waited = rcx_now_ns() - t->query_ns;
    const struct rcx_socket_link *silent = NULL;

    for (int i = 0; i < t->n_children && !silent; i++)
        if (!t->children[i].has_given
                ? !t->children[i].has_answered
                : t->is_all_known && !rcx_socket_is_served(t, &t->children[i]))
            silent = &t->children[i];
    if (silent && silent->fd >= 0 && waited >= answer_ns)
        fail_silent(t, silent->rank);
    else if (waited >= below_ns)
        rcx_socket_tree_fail(t, RCX_ERR_TIMEOUT,
                             "not all ranks took part within %.3g s",
                             seconds(t->overdue_of));
}

/* The parent was told that a deadline has passed, and answers at once; then
 * rank 0 decides. */
static void check_parent(struct rcx_socket_tree *t)
{
    const uint64_t waited = rcx_now_ns() - t->overdue_ns;

    if (!t->parent.has_answered && waited >= answer_ns)
        fail_silent(t, t->parent.rank);
    else if (waited >= above_ns)
        rcx_socket_tree_fail(t, RCX_ERR_TIMEOUT,
                             "not all ranks came within %.3g s, and rank 0 "
                             "does not say which",
                             seconds(t->overdue_of));
}

static uint64_t soonest(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What deadlines require. Returns the time of the next look at them. */
static uint64_t check_deadline(struct rcx_socket_tree *t)
{
    const uint64_t now = rcx_now_ns();
    uint64_t next = t->has_deadline ? t->until_ns : UINT64_MAX;

    if (t->found.status != RCX_OK)
        rcx_socket_tree_fail(t, (rcx_status_t)t->found.status, "%s",
                             t->found.text);
    if (now >= next && t->query_ns == 0 && t->overdue_ns == 0 &&
        t->failure == RCX_OK) {
        t->overdue_of = t->timeout_ns;
        t->overdue_ns = now;
        if (t->position == 0)
            investigate(t);
        else
            report_overdue(t, absent_child(t));
    }
    if (t->failure == RCX_OK && t->query_ns != 0)
        check_answers(t);
    if (t->failure == RCX_OK && t->overdue_ns != 0 && t->position != 0)
        check_parent(t);
    if (now >= next)
        next = UINT64_MAX;
    if (t->query_ns != 0)
        next = soonest(next, now < t->query_ns + answer_ns
                                 ? t->query_ns + answer_ns
                                 : t->query_ns + below_ns);
    if (t->overdue_ns != 0 && t->position != 0)
        next = soonest(next, now < t->overdue_ns + answer_ns
                                 ? t->overdue_ns + answer_ns
                                 : t->overdue_ns + above_ns);
    return next;
}

/* ---- Warnings ------------------------------------------------------------ */

/* The first child whose part is missing; NULL: all are here. */
static const struct rcx_socket_link *late_child(const struct rcx_socket_tree *t)
{
    for (int i = 0; i < t->n_children; i++)
        if (!t->children[i].has_given)
            return &t->children[i];
    return NULL;
}

/* The rank of a child; only rank 0 knows that of one that is not connected. */
static int rank_of(const struct rcx_socket_tree *t,
                   const struct rcx_socket_link *child)
{
    const int first = t->position * RCX_SOCKET_FAN + 1;

    return child->fd >= 0 || !t->arrivals
               ? child->rank
               : t->arrivals[first + (child - t->children)].place.rank;
}

/* A rank that waits warns of its neighbours. Until all have come, rank 0 alone
 * knows which ranks are missing. Of rank 0, one rank warns. */
static void warn(struct rcx_socket_tree *t)
{
    const struct rcx_socket_link *late = late_child(t);
    char names[RCX_SOCKET_TEXT / 2], clue[RCX_SOCKET_TEXT];

    if (t->position == 0 && t->n_arrived < t->size) {
        name_missing(t, names, sizeof names);
        rcx_socket_clue(t, clue, sizeof clue);
        rcx_start_wait_warn(t->wait, "%s of %d ha%s not come%s", names, t->size,
                            t->size - t->n_arrived == 1 ? "s" : "ve", clue);
    } else if (late && (t->position == 0 || t->step > 0)) {
        rcx_start_wait_warn(t->wait,
                            "rank %d has not taken part, or a rank that sends "
                            "through it",
                            rank_of(t, late));
    } else if (!late && t->position == 1) {
        rcx_start_wait_warn(t->wait,
                            "rank %d has not sent what all ranks gave: it "
                            "waits for others, or is stopped",
                            t->parent.rank);
    } else {
        rcx_start_wait_skip(t->wait);
    }
}

uint64_t rcx_socket_check_time(struct rcx_socket_tree *t)
{
    if (t->has_deadline && rcx_start_wait_is_due(t->wait))
        warn(t);
    return soonest(check_deadline(t),
                   t->has_deadline ? rcx_start_wait_next(t->wait) : UINT64_MAX);
}

/* ---- Control frames of other ranks --------------------------------------- */

static void take_overdue(struct rcx_socket_tree *t,
                         const struct rcx_socket_link *child,
                         const struct rcx_socket_absent *absent)
{
    t->overdue_of = absent->timeout_ns;
    if (is_between_frames(t, child))
        send_control(child, RCX_SOCKET_HERE, NULL, 0);
    if (t->position != 0)
        report_overdue(t, absent->position);
    else if (absent->position > 0 && absent->position < t->n_arrived &&
             t->arrivals && t->n_arrived == t->size)
        fail_lost(t, absent->position);
    else
        investigate(t);
}

static void take_query(struct rcx_socket_tree *t,
                       const struct rcx_socket_absent *absent)
{
    t->overdue_of = absent->timeout_ns;
    if (rcx_socket_has_all_below(t))
        return; /* this rank's part is on its way */
    send_control(&t->parent, RCX_SOCKET_HERE, NULL, 0);
    if (absent_child(t) >= 0)
        report_overdue(t, absent_child(t));
    query_children(t);
}

void rcx_socket_take_control(struct rcx_socket_tree *t,
                             struct rcx_socket_link *link)
{
    const bool is_child = link != &t->parent;
    struct rcx_socket_failure failure;
    struct rcx_socket_absent absent;

    if (link->head.kind == RCX_SOCKET_FAILED &&
        link->head.bytes == sizeof failure) {
        memcpy(&failure, link->body, sizeof failure);
        failure.text[sizeof failure.text - 1] = '\0';
        fail_by(t, link,
                failure.status < 0 ? (rcx_status_t)failure.status
                                   : RCX_ERR_LAUNCH,
                failure.text);
        return;
    }
    if (link->head.bytes == sizeof absent) {
        memcpy(&absent, link->body, sizeof absent);
        if (is_child && link->head.kind == RCX_SOCKET_OVERDUE) {
            take_overdue(t, link, &absent);
            return;
        }
        if (!is_child && link->head.kind == RCX_SOCKET_QUERY) {
            take_query(t, &absent);
            return;
        }
    }
    rcx_socket_fail_malformed(t, link);
}
