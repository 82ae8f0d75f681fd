/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out whether descriptors are left, by opening some. */
#include "core/base/descriptors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool rcx_has_descriptors(int n)
{
    int fds[RCX_DESCRIPTORS_MOST], opened = 0;
    bool has = true;

    assert(n <= RCX_DESCRIPTORS_MOST);
    while (opened < n && has) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (fd < 0 && errno != EMFILE && errno != ENFILE)
            break;
        has = fd >= 0;
        if (has)
            fds[opened++] = fd;
    }
    while (opened > 0)
        close(fds[--opened]);
    return has;
}
