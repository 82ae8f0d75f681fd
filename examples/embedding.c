/* SPDX-License-Identifier: BSD-3-Clause */
/* embedding RANK SIZE PORT ROUNDS: processes that PMIx has not started sum
 * numbers in an event loop that does other things, too, and go on without a
 * dead one. */
#include <rcx/rcx.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tcp_store.h"

/* Until the request is done; what else is there to do, is done meanwhile. */
static rcx_status_t serve(rcx_context_t *rcx, int events, rcx_request_t *sum)
{
    struct epoll_event event;
    rcx_status_t status;
    int done;

    while ((status = rcx_test(sum, &done)) == RCX_OK && !done)
        if (rcx_arm(rcx) == RCX_OK)
            epoll_wait(events, &event, 1, -1); /* RCX's, or a client's */
    rcx_request_free(&sum);
    return status;
}

/* In comm's place a group of the world's ranks, without those that it misses;
 * how many are left, or 0 where no group can be made of them. */
static int go_on(rcx_comm_t **comm, rcx_comm_t *world, int ranks[], int n)
{
    rcx_error_info_t why;
    int kept = 0, is_lost[TCP_STORE_MOST] = {0};

    rcx_comm_error(*comm, &why);
    for (int k = 0; k < why.rank_count; k++)
        is_lost[why.ranks[k]] = 1;
    for (int i = 0; i < n; i++)
        if (!is_lost[i])
            ranks[kept++] = ranks[i];
    fprintf(stderr, "rank %d goes on with %d of %d: %s\n", rcx_comm_rank(world),
            kept, n, why.text);
    rcx_comm_free(comm);
    if (kept == n || rcx_comm_create_group(world, kept, ranks, 1, comm))
        return 0;
    return kept;
}

int main(int argc, char **argv)
{
    struct tcp_store store;
    rcx_params_t params = {.field_mask = RCX_PARAM_BOOTSTRAP |
                                         RCX_PARAM_WAKEUP | RCX_PARAM_TIMEOUT,
                           .bootstrap.allgather = tcp_store_allgather,
                           .bootstrap.arg = &store,
                           .wakeup = 1,
                           .timeout_ns = 2000000000};
    int ranks[TCP_STORE_MOST], n, fd, events = epoll_create1(0);
    rcx_context_t *context;
    rcx_comm_t *comm;
    rcx_request_t *request;
    long one = 1, sum = 0;

    if (argc != 5 || tcp_store_meet(&store, argv + 1))
        return 2;
    params.bootstrap.rank = store.rank;
    params.bootstrap.size = n = store.size;
    if (rcx_init(&params, &context) || rcx_get_fd(context, &fd) ||
        rcx_comm_dup(rcx_world(context), &comm))
        return 1;
    epoll_ctl(events, EPOLL_CTL_ADD, fd,
              &(struct epoll_event){.events = EPOLLIN});
    for (int i = 0; i < n; i++)
        ranks[i] = i;
    for (int round = 0; round < atoi(argv[4]) && n > 0; round++) {
        if (rcx_iallreduce(&one, &sum, 1, RCX_LONG, RCX_SUM, comm, &request) ||
            serve(context, events, request))
            n = go_on(&comm, rcx_world(context), ranks, n);
        usleep(1000); /* a turn of the service's own work */
    }
    if (n > 0)
        printf("rank %d: %ld at the end\n", store.rank, sum);
    if (comm)
        rcx_comm_free(&comm);
    rcx_finalize(&context); /* the lost do not come: by the timeout */
    return n > 0 ? 0 : 1;
}
