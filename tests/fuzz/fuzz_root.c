/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes texts of ids and roots. Input: the text. One that is accepted as an id
 * is printed, and read again with the same result.
 */
#include "fuzz.h"

#include <string.h>

#include "bootstrap/socket_id.h"

enum { MOST = 2048 };

int fuzz_input(const uint8_t *data, size_t bytes)
{
    struct rcx_socket_root root, again;
    char text[MOST + 1], printed[RCX_SOCKET_ID_BYTES];
    const size_t length = bytes < MOST ? bytes : MOST;

    if (length > 0)
        memcpy(text, data, length);
    text[length] = '\0';
    if (!rcx_socket_root_parse(text, &root))
        return 0;
    fuzz_require(root.by != RCX_SOCKET_BY_HOST || root.n_ports == 1);
    fuzz_require(root.by != RCX_SOCKET_BY_FILE || root.path[0] == '/');
    if (root.by != RCX_SOCKET_BY_ID)
        return 0;
    fuzz_require(root.has_key && root.addrs.n >= 1);
    rcx_socket_root_print(&root, printed);
    fuzz_require(strlen(printed) < sizeof printed);
    fuzz_require(rcx_socket_root_parse(printed, &again));
    fuzz_require(memcmp(&root.key, &again.key, sizeof root.key) == 0);
    fuzz_require(root.pid == again.pid && root.fd == again.fd &&
                 root.mark == again.mark);
    /* others may not fit */
    fuzz_require(
        memcmp(root.addrs.at, again.addrs.at, sizeof *again.addrs.at) == 0);
    return 0;
}
