/* SPDX-License-Identifier: BSD-3-Clause */
#include "rank.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct rank me;

static void keep_error(rcx_log_level_t level, const char *text, void *arg)
{
    (void)arg;
    if (level == RCX_LOG_ERROR && me.errors++ == 0)
        snprintf(me.error, sizeof me.error, "%s", text);
}

rcx_status_t rank_open(const rcx_params_t *params)
{
    rcx_params_t mine = params ? *params : (rcx_params_t){.field_mask = 0};
    rcx_status_t status;

    mine.field_mask |= RCX_PARAM_LOG;
    mine.log = keep_error;
    status = rcx_init(&mine, &me.context);
    if (status != RCX_OK)
        return status;
    me.world = rcx_world(me.context);
    me.rank = rcx_comm_rank(me.world);
    me.size = rcx_comm_size(me.world);
    return RCX_OK;
}

void rank_fail(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "rank %d: %s\n", me.rank, text);
    _exit(1);
}

void rank_expect(rcx_status_t status, rcx_status_t expected, const char *what)
{
    if (status != expected)
        rank_fail("%s: %s instead of %s (%s)", what, rcx_status_string(status),
                  rcx_status_string(expected), me.error);
}

void rank_require(rcx_status_t status, const char *what)
{
    rank_expect(status, RCX_OK, what);
}

int64_t rank_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

void rank_sleep_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000,
                         .tv_nsec = ms % 1000 * (long)MS_NS};

    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}
