/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --prefix: each rank writes into pipes. rcxrun puts "[rank] " before each line
 * and writes whole lines in one call, so that lines of ranks never mix. A line
 * longer than LINE_LIMIT is cut there. A last line without a newline gets one.
 */
#include "rcxrun/rcxrun.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CHUNK = 64 << 10, LINE_LIMIT = 1 << 20 };

static void drop(struct rcxrun_stream *stream)
{
    close(stream->fd);
    stream->fd = -1;
    free(stream->text);
    stream->text = NULL;
    stream->length = stream->capacity = 0;
}

/* Write all of text. After an error the caller closes the rank's pipe, so that
 * the rank gets EPIPE as it would without rcxrun. */
static int write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(fd, text, length);

        if (written >= 0) {
            text += written;
            length -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};

            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

/* Write one or more whole lines, each with its prefix, in one call. */
static int write_lines(struct rcxrun_stream *stream, const char *text,
                       size_t length)
{
    const char *end = text + length;
    char prefix[16];
    const size_t prefix_length = (size_t)sprintf(prefix, "[%d] ", stream->rank);
    size_t lines = 0, used = 0;
    char *out;
    int rc;

    for (const char *at = text; at < end; at++)
        lines += *at == '\n';
    out = rcxrun_alloc(length + lines * prefix_length + 1, 1);
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const size_t line = (size_t)(newline + 1 - text);

        memcpy(out + used, prefix, prefix_length);
        memcpy(out + used + prefix_length, text, line);
        used += prefix_length + line;
        text += line;
    }
    rc = write_all(stream->to, out, used);
    stream->lost |= rc != 0 && errno != EPIPE; /* EPIPE is no loss: the reader
                                                  has closed */
    free(out);
    return rc;
}

/* Write the whole lines in the buffer, and a last partial line if `last`. */
static int flush_lines(struct rcxrun_stream *stream, bool last)
{
    const char *newline = memrchr(stream->text, '\n', stream->length);
    size_t whole = newline ? (size_t)(newline + 1 - stream->text) : 0;

    if (last && whole < stream->length) {
        stream->text[stream->length++] = '\n'; /* make_room() has reserved a
                                                  byte */
        whole = stream->length;
    }
    if (whole == 0)
        return 0;
    if (write_lines(stream, stream->text, whole) != 0)
        return -1;
    stream->length -= whole;
    memmove(stream->text, stream->text + whole, stream->length);
    return 0;
}

/* Reserve room for a chunk and a newline. */
static void make_room(struct rcxrun_stream *stream)
{
    if (stream->capacity - stream->length > CHUNK)
        return;
    stream->capacity = 2 * stream->capacity + CHUNK + 1;
    stream->text = realloc(stream->text, stream->capacity);
    if (!stream->text)
        rcxrun_die("out of memory");
}

/* Read once. False: the pipe is empty for now, or it is closed. */
static bool read_some(struct rcxrun_stream *stream)
{
    ssize_t got;

    make_room(stream);
    got = read(stream->fd, stream->text + stream->length, CHUNK);
    if (got < 0)
        return errno == EINTR;
    if (got == 0) {
        flush_lines(stream, true);
        drop(stream);
        return false;
    }
    stream->length += (size_t)got;
    if (flush_lines(stream, false) != 0 ||
        (stream->length >= LINE_LIMIT && flush_lines(stream, true) != 0)) {
        drop(stream);
        return false;
    }
    return true;
}

void rcxrun_stream_open(struct rcxrun_stream *stream, int rank, int to,
                        int *child_fd_p)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        rcxrun_die("pipe: %s", strerror(errno));
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    *stream = (struct rcxrun_stream){.fd = fds[0], .to = to, .rank = rank};
    *child_fd_p = fds[1];
}

void rcxrun_stream_read(struct rcxrun_stream *stream)
{
    if (stream->fd >= 0)
        read_some(stream);
}

void rcxrun_stream_close(struct rcxrun_stream *stream)
{
    if (stream->fd < 0)
        return;
    while (read_some(stream))
        ;
    if (stream->fd >= 0) {
        flush_lines(stream, true);
        drop(stream);
    }
}
