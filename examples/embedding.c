/* SPDX-License-Identifier: BSD-3-Clause */
/* embedding DIRECTORY ROUNDS [join]: a service whose processes sum in their
 * event loop, go on without one that dies, and take in one that joins. */
#include <fcntl.h>
#include <poll.h>
#include <rcx/rcx.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct pollfd events = {.events = POLLIN}; /* beside the service's */
static rcx_context_t *rcx;
static rcx_comm_t *comm;
static long round_number, in[2] = {1}, out[2]; /* the service's state */

/* By the environment (RCX_ROOT), or by seat: "SIZE ID". */
static rcx_status_t open_context(const char *seat, int rank)
{
    rcx_params_t params = {.field_mask = RCX_PARAM_WAKEUP, .wakeup = 1};
    rcx_status_t status;
    rcx_id_t id;

    if (seat && sscanf(seat, "%d %127s", &params.size, id.text) == 2) {
        params.field_mask |= RCX_PARAM_ID;
        params.id = &id;
        params.rank = rank < 0 ? params.size - 1 : rank;
    }
    status = rcx_init(&params, &rcx);
    if (status || (status = rcx_get_fd(rcx, &events.fd)) ||
        (status = rcx_comm_dup(rcx_world(rcx), &comm)))
        return status;
    return rcx_bcast(&round_number, 1, RCX_LONG, 0, comm);
}

static rcx_status_t sum(void)
{
    rcx_request_t *request;
    int done = 0;
    rcx_status_t status;

    status = rcx_iallreduce(in, out, 2, RCX_LONG, RCX_SUM, comm, &request);
    if (status)
        return status;
    while ((status = rcx_test(request, &done)) == RCX_OK && !done)
        if (rcx_arm(rcx) == RCX_OK)
            poll(&events, 1, -1); /* RCX's, or a client's */
    rcx_request_free(&request);
    return status;
}

/* Those that live get a communicator, and repeat what not all have done. */
static rcx_status_t go_on(void)
{
    rcx_comm_t *living;

    if (rcx_comm_shrink(comm, 10000000000, &living) != RCX_OK)
        return RCX_ERR_COMM_FAILED;
    rcx_comm_free(&comm);
    comm = living;
    return rcx_allreduce(RCX_IN_PLACE, &round_number, 1, RCX_LONG, RCX_MIN,
                         comm);
}

/* A process that joins asks by the file "wanted", and gets its seat as the text
 * of the link "seat". All open a new context with it. */
static rcx_status_t take_in(void)
{
    rcx_context_t *old_rcx = rcx;
    rcx_comm_t *old = comm;
    rcx_status_t status;
    char seat[200] = "";
    rcx_id_t id = {""};

    if (rcx_comm_rank(old) == 0 && rcx_get_id(NULL, &id) == RCX_OK) {
        unlink("wanted");
        snprintf(seat, sizeof seat, "%d %s", rcx_comm_size(old) + 1, id.text);
        if (symlink(seat, "seat") != 0)
            return RCX_ERR_LAUNCH;
    }
    status = rcx_bcast(seat, sizeof seat, RCX_UINT8, 0, old);
    if (status == RCX_OK)
        status = open_context(seat, rcx_comm_rank(old));
    rcx_comm_free(&old);
    rcx_finalize(&old_rcx);
    return status;
}

static rcx_status_t join(void)
{
    char seat[200] = "";

    close(creat("wanted", 0600));
    while (readlink("seat", seat, sizeof seat - 1) < 0)
        usleep(1000);
    unlink("seat");
    return open_context(seat, -1);
}

int main(int argc, char **argv)
{
    rcx_status_t status = argc < 3 || chdir(argv[1]) ? RCX_ERR_ARG
                          : argc > 3                 ? join()
                                                     : open_context(NULL, 0);

    while (status == RCX_OK && round_number < atol(argv[2])) {
        in[1] = rcx_comm_rank(comm) == 0 && access("wanted", F_OK) == 0;
        status = sum();
        round_number += status == RCX_OK;
        if (status != RCX_OK)
            status = go_on();
        else if (out[1] > 0)
            status = take_in();
        usleep(1000); /* a turn of the service's own work */
    }
    if (status == RCX_OK)
        printf("rank %d: %ld at the end\n", rcx_comm_rank(comm), out[0]);
    if (comm)
        rcx_comm_free(&comm);
    return status != RCX_OK || rcx_finalize(&rcx) != RCX_OK;
}
