/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets a tool fail if its output could not be written, as on a full disk. */
#ifndef RCX_TOOLS_COMMON_OUTPUT_H
#define RCX_TOOLS_COMMON_OUTPUT_H

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* For atexit(), so that it runs wherever a tool exits. */
static void check_output(void)
{
    const int failed_before = ferror(stdout);

    if (fflush(stdout) == 0 && !failed_before)
        return;
    fprintf(stderr, "%s: its output could not be written\n",
            program_invocation_short_name);
    _exit(1);
}

#endif
