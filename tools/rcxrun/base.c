/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages, memory and time of rcxrun. Depends on no other part of it. */
#include "rcxrun/rcxrun.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void rcxrun_warn(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    dprintf(STDERR_FILENO, "rcxrun: %s\n", text); /* one write, one line */
}

void rcxrun_die(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rcxrun_warn("%s", text);
    _exit(RCXRUN_EXIT_INTERNAL);
}

void *rcxrun_alloc(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (!memory)
        rcxrun_die("out of memory");
    return memory;
}

double rcxrun_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
