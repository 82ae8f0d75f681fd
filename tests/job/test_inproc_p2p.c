/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages over real UCX of all lengths: short, eager and rendezvous. All ranks
 * are in one process, each on a thread of its own. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "capture.h"

enum { ANY = RCX_ANY_SOURCE, LONGEST = 3 << 20 };

static const size_t lengths[] = {0,    1,         8,       100,     8000, 9000,
                                 9001, 64 * 1024, 1 << 20, LONGEST, 7};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static void run_with(int size, rcx_thread_mode_t threads,
                     void (*fn)(struct job *job, int rank, void *arg),
                     struct capture *said)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_THREADS,
                                 .threads = threads};
    const struct job_options options = {.params = &params, .ucx = true};
    struct job job;

    assert_ok(job_open(&job, size, &options));
    for (int i = 0; i < size && said; i++) {
        said[i] = (struct capture){.host_lines = 0};
        job.contexts[i]->log.fn = capture_line;
        job.contexts[i]->log.arg = &said[i];
    }
    job_each(&job, fn, said);
    assert_ok(job_close(&job));
}

static void run(int size, void (*fn)(struct job *job, int rank, void *arg))
{
    run_with(size, RCX_THREAD_SERIALIZED, fn, NULL);
}

static unsigned char byte_of(int from, int number, size_t i)
{
    return (unsigned char)(from * 31 + number * 7 + (int)(i % 251));
}

static char *new_message(int from, int number, size_t bytes)
{
    char *message = malloc(bytes + 1);

    require(message != NULL);
    for (size_t i = 0; i < bytes; i++)
        message[i] = (char)byte_of(from, number, i);
    return message;
}

static void check_message(const char *got, int from, int number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        require((unsigned char)got[i] == byte_of(from, number, i));
    require(got[bytes] == 0x55); /* the byte behind the message */
}

/* ---- All lengths --------------------------------------------------------- */

/* Every rank receives all lengths from every rank, itself included, with one
 * tag. */
static void send_to_all(struct job *job, int rank, void *arg)
{
    rcx_comm_t *comm = world_of(job, rank);
    rcx_request_t *sends[5][LENGTHS];
    char *out[5][LENGTHS];

    (void)arg;
    for (int to = 0; to < job->size; to++)
        for (int i = 0; i < LENGTHS; i++) {
            out[to][i] = new_message(rank, i, lengths[i]);
            require_ok(rcx_isend(out[to][i], lengths[i], RCX_BYTE, to, 9, comm,
                                 &sends[to][i]));
        }
    for (int i = 0; i < LENGTHS; i++)
        for (int from = 0; from < job->size; from++) {
            char *in = malloc(LONGEST + 1);
            rcx_recv_info_t info = {.source = -1};

            require(in != NULL);
            memset(in, 0x55, LONGEST + 1);
            require_ok(rcx_recv(in, LONGEST, RCX_BYTE, from, 9, comm, &info));
            require(info.source == from && info.tag == 9);
            require(info.count == lengths[i]);
            check_message(in, from, i, lengths[i]);
            free(in);
        }
    for (int to = 0; to < job->size; to++) {
        require_ok(rcx_wait_all(LENGTHS, sends[to]));
        for (int i = 0; i < LENGTHS; i++) {
            require_ok(rcx_request_free(&sends[to][i]));
            free(out[to][i]);
        }
    }
}

static void eager_and_rendezvous_keep_the_order_of_sends(void **state)
{
    (void)state;
    for (int size = 1; size <= 4; size++)
        run(size, send_to_all);
}

/* Receives from any source are posted first; their info must name the
 * source. */
static void receive_from_any(struct job *job, int rank, void *arg)
{
    rcx_comm_t *comm = world_of(job, rank);
    const int n = LENGTHS * job->size;
    rcx_request_t **recvs = calloc((size_t)n, sizeof(rcx_request_t *));
    char **in = calloc((size_t)n, sizeof(char *));
    int next[5] = {0};

    (void)arg;
    for (int i = 0; i < n; i++) {
        in[i] = malloc(LONGEST + 1);
        memset(in[i], 0x55, LONGEST + 1);
        require_ok(rcx_irecv(in[i], LONGEST, RCX_BYTE, ANY, RCX_TAG_MAX, comm,
                             &recvs[i]));
    }
    for (int to = 0; to < job->size; to++)
        for (int i = 0; i < LENGTHS; i++) {
            char *out = new_message(rank, i, lengths[i]);

            require_ok(
                rcx_send(out, lengths[i], RCX_BYTE, to, RCX_TAG_MAX, comm));
            free(out);
        }
    require_ok(rcx_wait_all((size_t)n, recvs));
    for (int i = 0; i < n; i++) {
        rcx_recv_info_t info;

        require_ok(rcx_request_recv_info(recvs[i], &info));
        require(info.source >= 0 && info.source < job->size);
        require(info.count == lengths[next[info.source]]);
        check_message(in[i], info.source, next[info.source]++, info.count);
        require_ok(rcx_request_free(&recvs[i]));
        free(in[i]);
    }
    free(in);
    free(recvs);
}

static void a_receive_from_any_source_reports_its_source(void **state)
{
    (void)state;
    for (int size = 1; size <= 4; size++)
        run(size, receive_from_any);
}

/* ---- Messages longer than their receives --------------------------------- */

/* Send a message of bytes bytes and one of one byte with tag 2, then an empty
 * one with tag 3 that says that both are sent. */
static void send_too_much(rcx_comm_t *comm, size_t bytes, bool is_expected)
{
    char *out = new_message(1, 0, bytes), three = 3;
    rcx_request_t *requests[3];

    if (is_expected)
        require_ok(rcx_recv(NULL, 0, RCX_BYTE, 0, 1, comm, NULL));
    require_ok(rcx_isend(out, bytes, RCX_BYTE, 0, 2, comm, &requests[0]));
    require_ok(rcx_isend(&three, 1, RCX_BYTE, 0, 2, comm, &requests[1]));
    require_ok(rcx_isend(NULL, 0, RCX_BYTE, 0, 3, comm, &requests[2]));
    require_ok(rcx_wait_all(3, requests));
    for (int i = 0; i < 3; i++)
        require_ok(rcx_request_free(&requests[i]));
    free(out);
}

/* Receive the message of send_too_much() into a buffer of 5 bytes, posted
 * before it arrives (is_expected) or after. */
static void receive_too_much(rcx_comm_t *comm, size_t bytes, bool is_expected,
                             int source)
{
    rcx_request_t *request;
    char small[6] = {0}, word = 0;
    rcx_recv_info_t info;

    if (!is_expected)
        require_ok(rcx_recv(NULL, 0, RCX_BYTE, 1, 3, comm, NULL));
    require_ok(rcx_irecv(small, 5, RCX_BYTE, source, 2, comm, &request));
    if (is_expected) {
        require_ok(rcx_send(NULL, 0, RCX_BYTE, 1, 1, comm));
        require_ok(rcx_recv(NULL, 0, RCX_BYTE, 1, 3, comm, NULL));
    }
    require_status(rcx_wait(request), RCX_ERR_TRUNCATED);
    require_ok(rcx_request_recv_info(request, &info));
    require(info.source == 1 && info.count == bytes && small[5] == 0);
    require_ok(rcx_request_free(&request));
    require_ok(rcx_recv(&word, 1, RCX_BYTE, source, 2, comm, NULL));
    require(word == 3);
}

static void receive_all_that_is_too_much(struct job *job, int rank, void *arg)
{
    static const size_t bytes[] = {6, 100, 20000, 1 << 20};
    struct capture *said = arg;
    rcx_comm_t *comm = world_of(job, rank);
    const int32_t one = 1;
    int32_t sum;

    for (int i = 0; i < 16; i++)
        if (rank == 1)
            send_too_much(comm, bytes[i % 4], i / 4 % 2);
        else
            receive_too_much(comm, bytes[i % 4], i / 4 % 2,
                             i / 8 % 2 ? ANY : 1);
    require_ok(
        rcx_allreduce(&one, &sum, 1, RCX_INT32, RCX_SUM, world_of(job, rank)));
    require(sum == 2 && said[rank].host_lines == (rank == 0 ? 16 : 0));
    if (rank == 0)
        require(strstr(said[0].text, "1048576 bytes, and the buffer 5"));
}

static void a_message_that_is_too_long_fails_one_receive(void **state)
{
    struct capture said[2];

    (void)state;
    run_with(2, RCX_THREAD_SERIALIZED, receive_all_that_is_too_much, said);
}

/* ---- Communicators ------------------------------------------------------- */

static void leave_one_unreceived(struct job *job, int rank, void *arg)
{
    struct capture *said = arg;
    rcx_comm_t *world = world_of(job, rank), *comm, *next;
    int x = rank;
    uint32_t id;

    require_ok(rcx_comm_dup(world, &comm));
    id = comm->id;
    if (rank == 1) {
        require_ok(rcx_send(&x, 1, RCX_INT, 0, 77, comm));
        require_ok(rcx_send(&x, 1, RCX_INT, 0, 78, world));
    } else {
        require_ok(rcx_recv(&x, 1, RCX_INT, 1, 78, world, NULL));
    }
    require_ok(rcx_comm_free(&comm));
    require_ok(rcx_comm_dup(world, &next));
    require(next->id != id);
    require_ok(rcx_comm_free(&next));
    if (rank == 1)
        return;
    require(said[0].host_lines == 1 && strstr(said[0].text, "rank 1") &&
            strstr(said[0].text, "tag 77"));
}

static void
a_message_that_is_left_over_spoils_no_later_communicator(void **state)
{
    struct capture said[2];

    (void)state;
    if (!getenv("UCX_RNDV_THRESH")) /* eager: completes without a receive */
        run_with(2, RCX_THREAD_SERIALIZED, leave_one_unreceived, said);
}

/* Both communicators have messages with the same tags and sources, and
 * collectives, in flight at once. */
static void mix(struct job *job, int rank, void *arg)
{
    rcx_comm_t *comms[2] = {world_of(job, rank)};
    const int right = (rank + 1) % job->size;
    const int left = (rank + job->size - 1) % job->size;

    (void)arg;
    require_ok(rcx_comm_dup(comms[0], &comms[1]));
    for (int i = 0; i < 200; i++) {
        rcx_request_t *requests[6];
        int in[2], out[2] = {2 * i, 2 * i + 1}, sums[2];

        for (int k = 0; k < 2; k++) {
            rcx_comm_t *comm = comms[(i + rank + k) % 2];
            const int mine = comm == comms[1];

            require_ok(rcx_irecv(&in[mine], 1, RCX_INT, i % 3 ? left : ANY, 4,
                                 comm, &requests[mine]));
        }
        for (int k = 0; k < 2; k++) {
            require_ok(rcx_isend(&out[k], 1, RCX_INT, right, 4, comms[k],
                                 &requests[2 + k]));
            require_ok(rcx_iallreduce(&out[k], &sums[k], 1, RCX_INT, RCX_SUM,
                                      comms[k], &requests[4 + k]));
        }
        require_ok(rcx_wait_all(6, requests));
        for (int k = 0; k < 6; k++)
            require_ok(rcx_request_free(&requests[k]));
        for (int k = 0; k < 2; k++)
            require(in[k] == out[k] && sums[k] == job->size * out[k]);
    }
    require_ok(rcx_comm_free(&comms[1]));
}

static void communicators_and_collectives_do_not_mix(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        if (full)
            setenv("RCX_CHECK", "full", 1);
        for (int size = 1; size <= 4; size++)
            run_with(size, RCX_THREAD_MULTIPLE, mix, NULL);
        unsetenv("RCX_CHECK");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(eager_and_rendezvous_keep_the_order_of_sends),
        cmocka_unit_test(a_receive_from_any_source_reports_its_source),
        cmocka_unit_test(a_message_that_is_too_long_fails_one_receive),
        cmocka_unit_test(
            a_message_that_is_left_over_spoils_no_later_communicator),
        cmocka_unit_test(communicators_and_collectives_do_not_mix),
    };

    return cmocka_run_group_tests_name("inproc_p2p", tests, NULL, NULL);
}
