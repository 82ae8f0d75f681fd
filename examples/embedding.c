/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * embedding RANK SIZE PORT ROUNDS: a service whose processes were started by
 * something else than PMIx. They meet over TCP, sum a number in an event loop that
 * has other things to do as well, and go on without a rank that dies.
 */
#include <arpa/inet.h>
#include <rcx/rcx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 64 };
static struct store {
    int rank, size, sockets[MOST]; /* rank 0 has one to each; others [0] */
} store;

/* ---- The way that the processes know each other by anyhow ---------------------- */

static int move(int socket, void *at, size_t bytes, int is_out)
{
    for (ssize_t n; bytes > 0; at = (char *)at + n, bytes -= (size_t)n) {
        n = is_out ? send(socket, at, bytes, MSG_NOSIGNAL)
                   : recv(socket, at, bytes, 0);
        if (n <= 0)
            return -1;
    }
    return 0;
}

static int meet(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port)};
    int here = socket(AF_INET, SOCK_STREAM, 0), bad = 0;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (store.rank > 0) {
        while (connect(here, (struct sockaddr *)&at, sizeof at) != 0) {
            close(here); /* rank 0 is not there yet */
            usleep(10000);
            here = socket(AF_INET, SOCK_STREAM, 0);
        }
        store.sockets[0] = here;
        return move(here, &store.rank, sizeof store.rank, 1);
    }
    setsockopt(here, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    bad = bind(here, (struct sockaddr *)&at, sizeof at) || listen(here, MOST);
    for (int i = 1, rank = 0; i < store.size && !bad; i++) {
        const int peer = accept(here, NULL, NULL);

        bad =
            move(peer, &rank, sizeof rank, 0) || rank < 1 || rank >= store.size;
        store.sockets[bad ? 0 : rank] = peer;
    }
    close(here);
    return bad;
}

/* All that RCX asks for: recv[i] = what rank i gave. */
static int allgather(const void *send, void *recv, size_t bytes, void *arg)
{
    char *all = recv;
    int bad = 0;

    (void)arg;
    memcpy(all + (size_t)store.rank * bytes, send, bytes);
    if (store.rank > 0)
        return move(store.sockets[0], (void *)(size_t)send, bytes, 1) ||
               move(store.sockets[0], all, (size_t)store.size * bytes, 0);
    for (int i = 1; i < store.size && !bad; i++)
        bad = move(store.sockets[i], all + (size_t)i * bytes, bytes, 0);
    for (int i = 1; i < store.size && !bad; i++)
        bad = move(store.sockets[i], all, (size_t)store.size * bytes, 1);
    return bad;
}

/* ---- The event loop -------------------------------------------------------------- */

/* Until the request is done; what else is there to do, is done meanwhile. */
static rcx_status_t serve(rcx_context_t *context, int events,
                          rcx_request_t *request)
{
    struct epoll_event event;
    rcx_status_t status;
    int done;

    for (;;) {
        rcx_progress(context);
        status = rcx_test(request, &done);
        if (done || status != RCX_OK)
            return status;
        if (rcx_arm(context) == RCX_OK)
            epoll_wait(events, &event, 1, -1); /* RCX's, or a client's */
    }
}

/* The members of comm that are not to blame for its end, as a group of spare. */
static rcx_comm_t *without_the_lost(rcx_comm_t *comm, rcx_comm_t *spare,
                                    int alive[], int *n)
{
    rcx_error_info_t why;
    rcx_comm_t *rest = NULL;
    int kept = 0;

    rcx_comm_error(comm, &why);
    for (int i = 0; i < *n; i++) {
        int is_lost = 0;

        for (int k = 0; k < why.rank_count; k++)
            is_lost |= why.ranks[k] == i;
        if (!is_lost)
            alive[kept++] = alive[i];
    }
    fprintf(stderr, "rank %d goes on with %d of %d: %s\n", store.rank, kept, *n,
            why.text);
    *n = kept;
    rcx_comm_free(&comm);
    return rcx_comm_create_group(spare, kept, alive, 1, &rest) == RCX_OK ? rest
                                                                         : NULL;
}

int main(int argc, char **argv)
{
    rcx_params_t params = {.field_mask = RCX_PARAM_BOOTSTRAP |
                                         RCX_PARAM_WAKEUP | RCX_PARAM_TIMEOUT,
                           .bootstrap = {.allgather = allgather},
                           .wakeup = 1,
                           .timeout_ns = 2000000000};
    int alive[MOST], n, fd, events = epoll_create1(0);
    rcx_context_t *context;
    rcx_comm_t *comm, *spare;

    if (argc != 5 || atoi(argv[2]) > MOST)
        return 2;
    params.bootstrap.rank = store.rank = atoi(argv[1]);
    params.bootstrap.size = store.size = n = atoi(argv[2]);
    if (meet(atoi(argv[3])) != 0 || rcx_init(&params, &context) != RCX_OK ||
        rcx_comm_dup(rcx_world(context), &comm) != RCX_OK ||
        rcx_comm_dup(rcx_world(context), &spare) != RCX_OK ||
        rcx_get_fd(context, &fd) != RCX_OK)
        return 1;
    epoll_ctl(events, EPOLL_CTL_ADD, fd,
              &(struct epoll_event){.events = EPOLLIN});
    for (int i = 0; i < n; i++)
        alive[i] = i;
    for (int round = 0; round < atoi(argv[4]) && comm; round++) {
        rcx_request_t *request = NULL;
        long sum = 1;
        rcx_status_t status = rcx_iallreduce(RCX_IN_PLACE, &sum, 1, RCX_LONG,
                                             RCX_SUM, comm, &request);

        if (status == RCX_OK)
            status = serve(context, events, request);
        if (request)
            rcx_request_free(&request);
        if (status != RCX_OK)
            comm = without_the_lost(comm, spare, alive, &n);
        else if (sum != n)
            return 1;
        usleep(1000); /* a turn of the service's own work */
    }
    printf("rank %d: %d at the end\n", store.rank, n);
    rcx_comm_free(&comm);
    rcx_comm_free(&spare);
    /* bounded by the timeout, as the lost one does not come */
    rcx_finalize(&context);
    return 0;
}
