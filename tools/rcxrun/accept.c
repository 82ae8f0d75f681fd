/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which connections the PMIx server gets: those whose other end belongs to the
 * user of rcxrun, as the kernel says. PMIx 4.2 does not find out: over
 * TCP it believes the user that a client claims to be, and names of jobs and
 * ports are public. libpmix accepts connections by the accept() of this file,
 * as the symbols of a program precede those of libc. So no byte of another
 * user's reaches it.
 */
#include "rcxrun/rcxrun.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int diag = -1; /* asks the kernel about sockets */
static atomic_bool is_used, has_refused;

void rcxrun_accept_begin(void)
{
    diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (diag < 0)
        rcxrun_die("the kernel does not tell the user of a connection "
                   "(NETLINK_SOCK_DIAG: %s)",
                   strerror(errno));
}

bool rcxrun_accept_is_used(void)
{
    return atomic_load(&is_used);
}

/* Store the addresses of the other end, as that end sees them. False: it is not
 * a connection over IP. */
static bool identify(int fd, struct inet_diag_req_v2 *request)
{
    struct inet_diag_sockid *id = &request->id;
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } here, there;
    socklen_t bytes = sizeof here, peer_bytes = sizeof there;

    if (getsockname(fd, &here.any, &bytes) != 0 ||
        getpeername(fd, &there.any, &peer_bytes) != 0)
        return false;
    request->sdiag_family = (uint8_t)there.any.sa_family;
    if (there.any.sa_family == AF_INET) {
        id->idiag_sport = there.four.sin_port;
        id->idiag_dport = here.four.sin_port;
        id->idiag_src[0] = there.four.sin_addr.s_addr;
        id->idiag_dst[0] = here.four.sin_addr.s_addr;
    } else if (there.any.sa_family == AF_INET6) {
        id->idiag_sport = there.six.sin6_port;
        id->idiag_dport = here.six.sin6_port;
        memcpy(id->idiag_src, &there.six.sin6_addr, sizeof id->idiag_src);
        memcpy(id->idiag_dst, &here.six.sin6_addr, sizeof id->idiag_dst);
    }
    id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return there.any.sa_family == AF_INET || there.any.sa_family == AF_INET6;
}

/* The user that has the other end's socket; -1: not known. Closed sockets have
 * none: the kernel would name root. */
static int64_t user_of(int fd)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
    } question = {
        .head = {.nlmsg_len = sizeof question,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_protocol = IPPROTO_TCP,
                    .idiag_states = 1u << TCP_ESTABLISHED},
    };
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } answer;
    const struct inet_diag_msg *found = NLMSG_DATA(&answer.head);
    ssize_t n = -1;

    if (identify(fd, &question.request) &&
        send(diag, &question, sizeof question, 0) == sizeof question)
        n = recv(diag, &answer, sizeof answer, 0);
    return n >= (ssize_t)NLMSG_LENGTH(sizeof *found) &&
                   answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
                   found->id.idiag_sport == question.request.id.idiag_sport &&
                   found->id.idiag_dport == question.request.id.idiag_dport &&
                   found->idiag_state == TCP_ESTABLISHED &&
                   found->idiag_inode != 0
               ? (int64_t)found->idiag_uid
               : -1;
}

/* Only the first refusal is said: another user can make many. */
static void warn_of(int64_t user)
{
    if (atomic_exchange(&has_refused, true))
        return;
    if (user < 0)
        rcxrun_warn("refused a connection to this job, whose user is unknown");
    else
        rcxrun_warn("refused a connection of user %lld to this job of user %lu",
                    (long long)user, (unsigned long)geteuid());
}

/* accept() of this process. The declaration has another name, as the types of
 * libc's differ between systems. */
int rcxrun_accept(int listener, struct sockaddr *address,
                  socklen_t *bytes) __asm__("accept")
    __attribute__((visibility("default")));

int rcxrun_accept(int listener, struct sockaddr *address, socklen_t *bytes)
{
    const int fd = accept4(listener, address, bytes, 0);
    int64_t user;

    atomic_store(&is_used, true);
    if (fd < 0)
        return fd;
    user = user_of(fd);
    if (user == (int64_t)geteuid())
        return fd;
    close(fd);
    warn_of(user);
    errno = ECONNABORTED; /* PMIx goes on */
    return -1;
}
