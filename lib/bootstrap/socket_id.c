/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The texts of ids, the file of an id, and the listener that exists between
 * rcx_get_id() and rcx_init(). The library keeps no state for the listener: the
 * id contains its descriptor, and a mark that no other socket has.
 */
#include "bootstrap/socket_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/host.h"

static const char id_prefix[] = "rcx1:";
static const char file_prefix[] = "file:";
enum {
    HEX = 2 * RCX_SOCKET_KEY_BYTES,
    /* of a path in an id: "file:", '?', the secret and NUL are beside it */
    PATH_LETTERS = RCX_SOCKET_ID_BYTES - sizeof file_prefix - 1 - HEX
};

/* ---- Pieces of texts ----------------------------------------------------- */

static void print_key(const struct rcx_socket_key *key, char hex[HEX + 1])
{
    for (int i = 0; i < RCX_SOCKET_KEY_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", key->bytes[i]);
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* False: text does not begin with a key. */
static bool parse_key(const char *text, struct rcx_socket_key *key)
{
    for (int i = 0; i < HEX; i++) {
        const int d = digit(text[i]);

        if (d < 0)
            return false;
        key->bytes[i / 2] = (unsigned char)(key->bytes[i / 2] << 4 | d);
    }
    return true;
}

/* Read a number of this base, up to most, which the character end follows.
 * Moves *text_p behind it. */
static bool parse_number(const char **text_p, int base, unsigned long most,
                         char end, unsigned long *number_p)
{
    unsigned long number = 0;
    const char *at = *text_p;

    for (; *at && *at != end; at++) {
        const int d = digit(*at);

        if (d < 0 || d >= base || number > most)
            return false;
        number = number * (unsigned long)base + (unsigned long)d;
    }
    if (at == *text_p || *at != end || number > most)
        return false;
    *text_p = at + 1;
    *number_p = number;
    return true;
}

/* Read addresses that commas separate. */
static bool parse_addrs(const char *text, uint16_t port,
                        struct rcx_socket_addrs *addrs)
{
    struct rcx_socket_addr addr = {.port = port};
    char word[RCX_SOCKET_ADDR_TEXT];

    for (;; text++) {
        const size_t length = strcspn(text, ",");

        if (length >= sizeof word)
            return false;
        memcpy(word, text, length);
        word[length] = '\0';
        if (!rcx_socket_ip_parse(word, &addr))
            return false;
        rcx_socket_addrs_add(addrs, &addr);
        text += length;
        if (!*text)
            return true;
    }
}

/* ---- The three forms ----------------------------------------------------- */

static bool parse_id(const char *text, struct rcx_socket_root *root)
{
    unsigned long pid, fd, mark, port;

    root->by = RCX_SOCKET_BY_ID;
    root->has_key = parse_key(text, &root->key);
    if (!root->has_key || text[HEX] != ':')
        return false;
    text += HEX + 1;
    if (!parse_number(&text, 10, INT32_MAX, '.', &pid) ||
        !parse_number(&text, 10, INT32_MAX, '.', &fd) ||
        !parse_number(&text, 16, UINT32_MAX, ':', &mark) ||
        !parse_number(&text, 10, UINT16_MAX, ':', &port))
        return false;
    root->pid = (pid_t)pid;
    root->fd = (int)fd;
    root->mark = (uint32_t)mark;
    return port > 0 && parse_addrs(text, (uint16_t)port, &root->addrs);
}

static bool parse_file(const char *text, struct rcx_socket_root *root)
{
    const char *question = strrchr(text, '?');
    size_t length = strlen(text);

    root->by = RCX_SOCKET_BY_FILE;
    if (question && strlen(question + 1) == HEX)
        root->has_key = parse_key(question + 1, &root->key);
    if (root->has_key)
        length = (size_t)(question - text);
    if (text[0] != '/' || length < 2 || length >= sizeof root->path)
        return false;
    memcpy(root->path, text, length);
    return true;
}

static bool parse_host(const char *text, struct rcx_socket_root *root)
{
    root->by = RCX_SOCKET_BY_HOST;
    root->n_ports = 1;
    return rcx_socket_split(text, root->host, &root->ports[0]);
}

bool rcx_socket_root_parse(const char *text, struct rcx_socket_root *root)
{
    *root = (struct rcx_socket_root){.fd = -1};
    if (strncmp(text, id_prefix, sizeof id_prefix - 1) == 0)
        return parse_id(text + sizeof id_prefix - 1, root);
    if (strncmp(text, file_prefix, sizeof file_prefix - 1) == 0)
        return parse_file(text + sizeof file_prefix - 1, root);
    return parse_host(text, root);
}

void rcx_socket_root_print(const struct rcx_socket_root *root,
                           char text[RCX_SOCKET_ID_BYTES])
{
    char hex[HEX + 1], word[RCX_SOCKET_ADDR_TEXT];
    size_t used;

    print_key(&root->key, hex);
    used = (size_t)snprintf(text, RCX_SOCKET_ID_BYTES,
                            "%s%s:%d.%d.%08x:%u:", id_prefix, hex,
                            (int)root->pid, root->fd, (unsigned)root->mark,
                            (unsigned)root->addrs.at[0].port);
    for (int i = 0; i < root->addrs.n; i++) {
        rcx_socket_ip_print(&root->addrs.at[i], word, sizeof word);
        if (used + strlen(word) + 2 > RCX_SOCKET_ID_BYTES)
            continue;
        used += (size_t)snprintf(text + used, RCX_SOCKET_ID_BYTES - used,
                                 "%s%s", i > 0 ? "," : "", word);
    }
}

/* ---- The listener -------------------------------------------------------- */

static uint32_t mark_of(int fd, pid_t pid)
{
    char kernel[64];
    struct stat s;
    uint64_t mark;

    rcx_kernel_id(kernel, sizeof kernel);
    if (fstat(fd, &s) != 0 || !S_ISSOCK(s.st_mode))
        return 0;
    mark = rcx_hash(rcx_hash_text(kernel), s.st_ino);
    mark = rcx_hash(rcx_hash(mark, (uint64_t)pid), rcx_socket_port(fd));
    return (uint32_t)(mark >> 32);
}

int rcx_socket_own_listener(const struct rcx_socket_root *root)
{
    int accepts = 0;
    socklen_t bytes = sizeof accepts;

    if (root->by != RCX_SOCKET_BY_ID || root->pid != getpid() ||
        getsockopt(root->fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &bytes) !=
            0 ||
        !accepts || mark_of(root->fd, root->pid) != root->mark)
        return -1;
    return root->fd;
}

static void own(struct rcx_socket_root *root, int fd)
{
    const uint16_t port = rcx_socket_port(fd);

    root->by = RCX_SOCKET_BY_ID;
    root->fd = fd;
    root->pid = getpid();
    root->mark = mark_of(fd, root->pid);
    for (int i = 0; i < root->addrs.n; i++)
        root->addrs.at[i].port = port;
}

int rcx_socket_listen_by_host(const struct rcx_socket_root *root)
{
    struct rcx_socket_addr addr;
    const bool literal = rcx_socket_ip_parse(root->host, &addr);
    int fd = -1;

    for (int i = 0; i < root->n_ports && fd < 0; i++) {
        fd = rcx_socket_listen(literal ? &addr : NULL, root->ports[i]);
        if (fd < 0 && literal &&
            errno == EADDRNOTAVAIL) /* address translation */
            fd = rcx_socket_listen(NULL, root->ports[i]);
        if (fd < 0 && errno != EADDRINUSE)
            break;
    }
    return fd;
}

rcx_status_t rcx_socket_listen_anywhere(const struct rcx_log *log,
                                        uint16_t port,
                                        struct rcx_socket_root *root)
{
    const rcx_status_t status = rcx_socket_interfaces(log, port, &root->addrs);
    bool only;
    int fd;

    if (status != RCX_OK)
        return status;
    only = root->addrs.n == 1 && (rcx_socket_is_restricted() ||
                                  rcx_socket_is_loopback(&root->addrs.at[0]));
    fd = rcx_socket_listen(only ? &root->addrs.at[0] : NULL, port);
    if (fd < 0)
        return rcx_fail(log, RCX_ERR_LAUNCH, "cannot listen at port %u: %s",
                        (unsigned)port, strerror(errno));
    own(root, fd);
    return RCX_OK;
}

/* ---- The file of an id --------------------------------------------------- */

bool rcx_socket_file_write(const char *path, const struct rcx_socket_root *root)
{
    char text[RCX_SOCKET_ID_BYTES], line[sizeof text + 1];

    rcx_socket_root_print(root, text);
    return rcx_file_replace(path, line,
                            (size_t)snprintf(line, sizeof line, "%s\n", text));
}

/* Open a file of this user, to which no other user can write, and no link: the
 * folder may be one that other users write to. -1: why has the reason. */
static int open_own(const char *path, char *why, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat s;

    if (fd < 0) {
        snprintf(why, bytes, "%s",
                 errno == ELOOP ? "it is a link" : strerror(errno));
        return -1;
    }
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
        (s.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return fd;
    if (fstat(fd, &s) == 0 && s.st_uid != geteuid())
        snprintf(why, bytes, "it belongs to user %u", (unsigned)s.st_uid);
    else
        snprintf(why, bytes, "it is not a file that this user alone can write");
    close(fd);
    return -1;
}

bool rcx_socket_file_read(const char *path, struct rcx_socket_root *root,
                          char *why, size_t bytes)
{
    const int fd = open_own(path, why, bytes);
    char text[RCX_SOCKET_ID_BYTES + 2] = "";
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n > 0 && text[n - 1] == '\n' &&
        memchr(text, '\n', (size_t)n) == text + n - 1) {
        text[n - 1] = '\0';
        if (rcx_socket_root_parse(text, root) && root->by == RCX_SOCKET_BY_ID)
            return true;
    }
    snprintf(why, bytes, "it is not what rank 0 writes");
    return false;
}

void rcx_socket_file_remove(const char *path, const struct rcx_socket_key *key)
{
    struct rcx_socket_root root;
    char why[RCX_SOCKET_TEXT];

    if (rcx_socket_file_read(path, &root, why, sizeof why) &&
        rcx_socket_same(&root.key, key))
        unlink(path);
}

/* ---- Making an id -------------------------------------------------------- */

static bool is_any(const struct rcx_socket_addr *addr)
{
    static const unsigned char six[RCX_SOCKET_IP_BYTES];
    static const unsigned char four[RCX_SOCKET_IP_BYTES] = {
        [10] = 0xff, [11] = 0xff};

    return memcmp(addr->ip, six, sizeof six) == 0 ||
           memcmp(addr->ip, four, sizeof four) == 0;
}

/* Listen at the address, or at all of a host's that has this name. */
static rcx_status_t listen_at_host(const struct rcx_log *log,
                                   struct rcx_socket_root *root)
{
    struct rcx_socket_addr addr;
    const bool literal = rcx_socket_ip_parse(root->host, &addr);
    char why[RCX_SOCKET_TEXT];
    int fd;

    if (!*root->host || (literal && is_any(&addr)))
        return rcx_socket_listen_anywhere(log, root->ports[0], root);
    if (!rcx_socket_resolve(root->host, root->ports, 1, UINT64_MAX, NULL,
                            &root->addrs, why, sizeof why))
        return rcx_fail(log, RCX_ERR_LAUNCH, "rcx_get_id: %s", why);
    fd = rcx_socket_listen(literal ? &addr : NULL, root->ports[0]);
    if (fd < 0)
        return rcx_fail(log, RCX_ERR_LAUNCH,
                        "rcx_get_id: cannot listen at %s, port %u: %s",
                        root->host, (unsigned)root->ports[0], strerror(errno));
    own(root, fd);
    return RCX_OK;
}

static rcx_status_t bad_address(const struct rcx_log *log, const char *address)
{
    return rcx_fail(log, RCX_ERR_ARG,
                    "rcx_get_id: address=\"%s\": needs NULL, HOST:PORT, "
                    "[IPV6]:PORT, PORT, or file:/PATH of up to %d letters",
                    address, PATH_LETTERS);
}

rcx_status_t rcx_boot_make_id(const char *address, const struct rcx_log *log,
                              rcx_id_t *id_p)
{
    struct rcx_socket_root root;
    char hex[HEX + 1];
    rcx_id_t id;
    rcx_status_t status = RCX_OK;

    if (!rcx_socket_root_parse(address ? address : "0", &root) ||
        root.by == RCX_SOCKET_BY_ID || root.has_key ||
        (root.by == RCX_SOCKET_BY_FILE && strlen(root.path) > PATH_LETTERS))
        return bad_address(log, address);
    if (!rcx_socket_random(&root.key, sizeof root.key))
        return rcx_fail(log, RCX_ERR_LAUNCH, "rcx_get_id: no random numbers");
    memset(&id, 0, sizeof id);
    if (root.by == RCX_SOCKET_BY_FILE) {
        print_key(&root.key, hex);
        snprintf(id.text, sizeof id.text, "%s%.*s?%s", file_prefix,
                 PATH_LETTERS, root.path, hex);
    } else {
        status = listen_at_host(log, &root);
        if (status != RCX_OK)
            return status;
        rcx_socket_root_print(&root, id.text);
    }
    *id_p = id;
    return RCX_OK;
}
