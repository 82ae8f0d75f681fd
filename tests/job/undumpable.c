/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: other processes may not read the memory of this one. Done
 * from inside, since execve() allows it again. */
#include <sys/prctl.h>

__attribute__((constructor)) static void forbid(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}
