/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: forbid other processes to read the memory of this process.
 * The constructor does so after execve(), which would allow it again. */
#include <sys/prctl.h>

__attribute__((constructor)) static void forbid(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}
