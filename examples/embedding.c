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
static const int64_t seconds = 1000000000;

/* By the environment (RCX_ROOT), or by seat: "SIZE ID". */
static rcx_status_t open_context(const char *seat, int rank)
{
    rcx_params_t params = {.field_mask = RCX_PARAM_WAKEUP, .wakeup = 1};
    rcx_id_t id;

    if (seat && sscanf(seat, "%d %127s", &params.size, id.text) == 2) {
        params.field_mask |= RCX_PARAM_ID | RCX_PARAM_TIMEOUT;
        params.timeout_ns = 10 * seconds; /* one of them may have died */
        params.id = &id;
        params.rank = rank < 0 ? params.size - 1 : rank;
    }
    return rcx_init(&params, &rcx) ? RCX_ERR_LAUNCH
                                   : rcx_comm_dup(rcx_world(rcx), &comm);
}

static rcx_status_t sum(void)
{
    rcx_request_t *request;
    int done = 0;
    rcx_status_t status = rcx_get_fd(rcx, &events.fd);

    if (status == RCX_OK)
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
    long least;

    if (rcx_comm_shrink(comm, 300 * seconds, &living) != RCX_OK)
        return RCX_ERR_COMM_FAILED;
    rcx_comm_free(&comm);
    comm = living;
    if (!rcx_allreduce(&round_number, &least, 1, RCX_LONG, RCX_MIN, comm))
        round_number = least; /* after an error, the next sum fails as well */
    return RCX_OK;
}

/* A process that joins asks by the file "wanted", and gets its seat as the text
 * of the link "seat". All open a new context with it. Then the members agree
 * whether it is open on all, and go on with it, or else as after a failure. */
static rcx_status_t change(int failed)
{
    rcx_context_t *old_rcx = rcx;
    rcx_comm_t *old = comm;
    char seat[200] = "";
    rcx_id_t id = {""};
    uint64_t opened;
    rcx_status_t status;

    rcx = NULL;
    comm = NULL;
    if (!failed && rcx_comm_rank(old) == 0 && !rcx_get_id(NULL, &id)) {
        unlink("wanted");
        snprintf(seat, sizeof seat, "%d %s", rcx_comm_size(old) + 1, id.text);
        if (symlink(seat, "seat") != 0)
            *seat = 0;
    }
    opened = !failed && !rcx_bcast(seat, sizeof seat, RCX_UINT8, 0, old) &&
             *seat && !open_context(seat, rcx_comm_rank(old));
    status = rcx_comm_agree(old, &opened, 300 * seconds);
    if (status == RCX_OK && opened) {
        rcx_bcast(&(long){round_number}, 1, RCX_LONG, 0, comm); /* to join() */
        rcx_comm_free(&old);
        rcx_finalize(&old_rcx);
        return RCX_OK;
    }
    rcx_comm_free(&comm);
    if (rcx && !rcx_comm_abort(rcx_world(rcx)))
        rcx_finalize(&rcx);
    unlink("seat");
    rcx = old_rcx;
    comm = old;
    return status ? status : go_on();
}

static rcx_status_t join(void)
{
    char seat[200] = "";

    close(creat("wanted", 0600));
    while (readlink("seat", seat, sizeof seat - 1) < 0)
        usleep(1000);
    unlink("seat");
    return open_context(seat, -1)
               ? RCX_ERR_LAUNCH
               : rcx_bcast(&round_number, 1, RCX_LONG, 0, comm);
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
        if (status != RCX_OK || out[1] > 0)
            status = change(status);
        usleep(1000); /* a turn of the service's own work */
    }
    if (status == RCX_OK)
        printf("rank %d: %ld at the end\n", rcx_comm_rank(comm), out[0]);
    rcx_comm_free(&comm);
    return status != RCX_OK || rcx_finalize(&rcx) != RCX_OK;
}
