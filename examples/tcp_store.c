/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bootstrap of the embedding example over TCP: rank 0 accepts a connection from
 * every other rank, and gathers and distributes data. For the loopback
 * interface only.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tcp_store.h"

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

static int find_rank_0(struct tcp_store *store, const struct sockaddr_in *at)
{
    int *rank_0 = &store->sockets[0];

    *rank_0 = socket(AF_INET, SOCK_STREAM, 0);
    while (connect(*rank_0, (const struct sockaddr *)at, sizeof *at) != 0) {
        close(*rank_0); /* rank 0 does not listen yet */
        usleep(10000);
        *rank_0 = socket(AF_INET, SOCK_STREAM, 0);
    }
    return move(*rank_0, &store->rank, sizeof store->rank, 1);
}

int tcp_store_meet(struct tcp_store *store, char *rank_size_port[])
{
    const int rank = atoi(rank_size_port[0]), size = atoi(rank_size_port[1]);
    const int port = atoi(rank_size_port[2]);
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int here, bad;

    if (rank < 0 || rank >= size || size > TCP_STORE_MOST)
        return -1;
    store->rank = rank;
    store->size = size;
    if (rank > 0)
        return find_rank_0(store, &at);
    here = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(here, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    bad = bind(here, (const struct sockaddr *)&at, sizeof at) ||
          listen(here, TCP_STORE_MOST);
    for (int i = 1, from = 0; i < size && !bad; i++) {
        const int peer = accept(here, NULL, NULL);

        bad = move(peer, &from, sizeof from, 0) || from < 1 || from >= size;
        store->sockets[bad ? 0 : from] = peer;
    }
    close(here);
    return bad;
}

int tcp_store_allgather(const void *send, void *recv, size_t bytes, void *arg)
{
    const struct tcp_store *store = arg;
    const size_t whole = (size_t)store->size * bytes;
    char *all = recv;
    int bad = 0;

    memcpy(all + (size_t)store->rank * bytes, send, bytes);
    if (store->rank > 0)
        return move(store->sockets[0], (void *)(size_t)send, bytes, 1) ||
               move(store->sockets[0], all, whole, 0);
    for (int i = 1; i < store->size && !bad; i++)
        bad = move(store->sockets[i], all + (size_t)i * bytes, bytes, 0);
    for (int i = 1; i < store->size && !bad; i++)
        bad = move(store->sockets[i], all, whole, 1);
    return bad;
}
