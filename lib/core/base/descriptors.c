/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out whether descriptors are left, by opening some. */
#include "core/base/descriptors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool rcx_has_descriptors(int n)
{
    int fds[RCX_DESCRIPTORS_MOST], opened = 0, error = 0;

    assert(n <= RCX_DESCRIPTORS_MOST);
    while (opened < n && error == 0) {
        fds[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fds[opened] < 0)
            error = errno;
        else
            opened++;
    }
    for (int i = 0; i < opened; i++)
        close(fds[i]);
    return error != EMFILE && error != ENFILE;
}
