/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages over shared-memory channels whose memory cannot be read, and
 * cancelled sends and receives. After a cancel the buffer becomes inaccessible,
 * so any later access ends the test. */
#include "test.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shm_ranks.h"

enum { MANY = RCX_SHM_SLOTS + 3 };

static struct test_msg sends[MANY], recvs[MANY];

/* ---- Long messages read by CMA ------------------------------------------- */

static bool can_read(void)
{
    char from = 1, to = 0;
    const struct iovec here = {&to, 1}, there = {&from, 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

static void a_long_message_is_read_if_it_can_be(void **state)
{
    const struct rcx_ring *ring = &channel_of(0, 1)->ring_out;

    (void)state;
    for (int good = 0; good < 2; good++) {
        ranks_open(&in_place);
        if (!good)
            channel_of(1, 0)->pid = INT_MAX;
        exchange(0, 1, HUGE);
        assert_int_equal(ring->at == 0, good && can_read());
        exchange(0, 1, 3 * RING);
        exchange(1, 0, 3 * RING);
        ranks_close();
    }
}

static char *map(size_t bytes)
{
    char *const at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(at != MAP_FAILED);
    return at;
}

/* The buffer becomes unreadable from end on. The receiver has read the part
 * before it, with a sink or without; the rest must be sent. */
static void a_message_that_cannot_be_read_completely_is_sent(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t ends[] = {HUGE - page, HUGE / 2, 16 * page, page, 0};
    char *const buffer = map(HUGE);

    (void)state;
    memcpy(buffer, text_of(5), HUGE);
    for (int i = 0; i < 10; i++) {
        const size_t end = ends[i / 2];
        struct test_msg s = {.m.status = RCX_IN_PROGRESS}, r;

        ranks_open(i % 2 ? &in_place : &sink_in_place);
        memcpy(buffer, text_of(5), HUGE);
        msg_recv(1, 0, &r, 1, HUGE);
        assert_status(rcx_shm_send(channel_of(0, 1), buffer, HUGE, 1, &s.m),
                      RCX_IN_PROGRESS);
        mprotect(buffer + end, HUGE - end, PROT_NONE);
        while (look(1, 0) > 0)
            assert_status(r.m.status, RCX_IN_PROGRESS);
        mprotect(buffer, HUGE, PROT_READ);
        go_on();
        msg_check(&r, 5, HUGE);
        assert_ok(s.m.status);
        mprotect(buffer, HUGE, PROT_READ | PROT_WRITE);
        ranks_close();
    }
    munmap(buffer, HUGE);
}

/* ---- Cancel -------------------------------------------------------------- */

/* A send or receive whose buffer becomes inaccessible when it is cancelled. */
struct mapped {
    struct test_msg l; /* must be first */
    int self, peer;
    bool is_send;
    char *buffer;
    size_t bytes;
};

static struct mapped mapped(int self, int peer, bool is_send, size_t bytes)
{
    return (struct mapped){.l.m.status = RCX_IN_PROGRESS,
                           .self = self,
                           .peer = peer,
                           .is_send = is_send,
                           .buffer = map(bytes),
                           .bytes = bytes};
}

static void post(struct mapped *x, uint64_t tag)
{
    struct rcx_shm_channel *pair = channel_of(x->self, x->peer);
    rcx_status_t status;

    if (!x->is_send)
        rcx_message_set_match(&x->l.m, x->buffer, x->bytes, tag, UINT64_MAX);
    status = x->is_send ? rcx_shm_send(pair, x->buffer, x->bytes, tag, &x->l.m)
                        : rcx_shm_recv(pair, &x->l.m);
    assert_status(status, RCX_IN_PROGRESS);
}

/* Cancel x. Its buffer is not unmapped, as its address could be reused. */
static void give_up(struct mapped *x)
{
    assert_status(x->l.m.status, RCX_IN_PROGRESS);
    rcx_shm_cancel(channel_of(x->self, x->peer), &x->l.m);
    mprotect(x->buffer, x->bytes, PROT_NONE);
}

static void forget(struct mapped *x)
{
    assert_int_equal(x->l.completions, 1);
    munmap(x->buffer, x->bytes);
}

static void a_posted_receive_is_cancelled(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct mapped x = mapped(1, 0, false, 100);

        ranks_open(&in_parts);
        for (int i = 0; i < 3; i++)
            if (i == k)
                post(&x, 1);
            else
                msg_recv(1, 0, &recvs[i], 1, 100);
        give_up(&x);
        look(1, 0);
        assert_status(x.l.m.status, RCX_ERR_COMM_FAILED);
        msg_recv(1, 0, &recvs[k], 1, 100);
        for (int i = 0; i < 4; i++)
            msg_send(0, 1, &sends[i], 1, (uint64_t)i, 100);
        go_on();
        msg_recv(1, 0, &recvs[3], 1, 100);
        msg_check(&recvs[k], 2, 100);
        msg_check(&recvs[k == 0 ? 1 : 0], 0, 100);
        msg_check(&recvs[k == 2 ? 1 : 2], 1, 100);
        msg_check(&recvs[3], 3, 100);
        forget(&x);
        ranks_close();
    }
}

/* All slots are full, so sends wait. Of these, three are cancelled; the others
 * must arrive in order. */
static void a_send_that_waits_is_cancelled(void **state)
{
    static const size_t sizes[] = {8, 3000, HUGE};
    const int n = RCX_SHM_SLOTS;
    struct rcx_arrival found;

    (void)state;
    for (int k = 0; k < 3; k++) {
        const size_t bytes = sizes[k];
        struct mapped x[3];

        ranks_open(&in_parts);
        for (int i = 0; i < n; i++)
            msg_send(0, 1, &sends[i], 1, (uint64_t)i, 8);
        for (int i = 0; i < 3; i++) {
            x[i] = mapped(0, 1, true, bytes);
            post(&x[i], 2);
            if (i < 2)
                msg_send(0, 1, &sends[n + i], 1, (uint64_t)(n + i), bytes);
        }
        give_up(&x[2]);
        msg_send(0, 1, &sends[n + 2], 1, (uint64_t)(n + 2), bytes);
        give_up(&x[0]);
        give_up(&x[1]);
        for (int i = 0; i < n + 3; i++)
            msg_recv(1, 0, &recvs[i], 1, i < n ? 8 : bytes);
        go_on();
        for (int i = 0; i < n + 3; i++)
            msg_check(&recvs[i], (uint64_t)i, i < n ? 8 : bytes);
        assert_false(rcx_shm_probe(channel_of(1, 0), 2, UINT64_MAX, &found));
        for (int i = 0; i < 3; i++) {
            assert_status(x[i].l.m.status, RCX_ERR_COMM_FAILED);
            forget(&x[i]);
        }
        ranks_close();
    }
}

/* Cancel a long receive after some rounds of progress on both sides. */
static void a_receive_that_has_begun_is_cancelled(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * 2 * 2; k++) {
        const bool is_early = k / 2 % 2;
        struct mapped x = mapped(1, 0, false, HUGE);

        ranks_open(k % 2 ? &in_parts : &in_place);
        msg_send(0, 1, &sends[0], 1, 0, HUGE);
        if (is_early)
            look(1, 0);
        post(&x, 1);
        for (int turn = 0; turn < k / 4 + !is_early; turn++) {
            look(1, 0);
            look(0, 1);
        }
        assert_ptr_equal(channel_of(1, 0)->begun, &x.l.m);
        give_up(&x);
        exchange(0, 1, HUGE);
        assert_ok(sends[0].m.status);
        exchange(0, 1, 8);
        exchange(1, 0, HUGE);
        forget(&x);
        ranks_close();
    }
}

/* Cancel a long send after some rounds. Its receiver must complete, with data
 * or an error. */
static void a_send_that_has_begun_is_cancelled(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * 2 * 3; k++) {
        struct mapped x = mapped(0, 1, true, HUGE);
        struct test_msg r;

        ranks_open(k % 2 ? &in_parts : &in_place);
        if (k / 2 % 2)
            msg_recv(1, 0, &r, 1, HUGE);
        post(&x, 1);
        assert_ptr_equal(channel_of(0, 1)->streaming, &x.l.m);
        for (int turn = 0; turn < k / 4 && k / 2 % 2; turn++) {
            look(1, 0);
            look(0, 1);
        }
        give_up(&x);
        exchange(0, 1, 8);
        if (!(k / 2 % 2))
            msg_recv(1, 0, &r, 1, HUGE);
        exchange(0, 1, HUGE);
        assert_true(r.m.status != RCX_IN_PROGRESS);
        assert_int_equal(r.m.bytes, HUGE);
        msg_check_and_free(&r, NULL, 0);
        exchange(1, 0, HUGE);
        forget(&x);
        ranks_close();
    }
}

/* The owner of a cancelled send writes into its buffer at once. What the
 * receive gets is the message as it was, or an error; also if it had read a
 * part before. Long messages before and after it arrive. */
static void cancel_and_change(const struct mode *mode, bool is_posted,
                              int turns)
{
    struct mapped x = mapped(0, 1, true, HUGE);
    struct test_msg r;
    uint64_t ring;

    ranks_open(mode);
    memcpy(x.buffer, text_of(5), HUGE);
    msg_send(0, 1, &sends[0], 2, 6, HUGE);
    if (is_posted)
        msg_recv(1, 0, &r, 1, HUGE);
    post(&x, 1);
    msg_send(0, 1, &sends[1], 3, 7, HUGE);
    for (int i = 0; i < turns; i++) {
        look(1, 0);
        look(0, 1);
    }
    assert_status(x.l.m.status, RCX_IN_PROGRESS);
    rcx_shm_cancel(channel_of(0, 1), &x.l.m);
    memset(x.buffer, 0xee, HUGE);
    if (!is_posted)
        msg_recv(1, 0, &r, 1, HUGE);
    msg_recv(1, 0, &recvs[0], 2, HUGE);
    msg_recv(1, 0, &recvs[1], 3, HUGE);
    go_on();
    msg_check(&recvs[0], 6, HUGE);
    msg_check(&recvs[1], 7, HUGE);
    if (r.m.status == RCX_OK) {
        msg_check(&r, 5, HUGE);
    } else {
        assert_status(r.m.status, RCX_ERR_COMM_FAILED);
        msg_check_and_free(&r, NULL, 0);
    }
    exchange(1, 0, HUGE);
    forget(&x);
    ring = channel_of(0, 1)->ring_out.at;
    exchange(0, 1, HUGE); /* may be read in place again */
    assert_int_equal(channel_of(0, 1)->ring_out.at == ring,
                     mode != &in_parts && can_read());
    ranks_close();
}

static void a_cancelled_send_is_not_received_with_other_data(void **state)
{
    const struct mode *const all[] = {&in_parts, &in_place, &sink_in_place};

    (void)state;
    for (int k = 0; k < 3; k++)
        for (int turns = 0; turns < 3; turns++) {
            cancel_and_change(all[k], true, turns);
            cancel_and_change(all[k], false, 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_message_is_read_if_it_can_be),
        cmocka_unit_test(a_message_that_cannot_be_read_completely_is_sent),
        cmocka_unit_test(a_posted_receive_is_cancelled),
        cmocka_unit_test(a_send_that_waits_is_cancelled),
        cmocka_unit_test(a_receive_that_has_begun_is_cancelled),
        cmocka_unit_test(a_send_that_has_begun_is_cancelled),
        cmocka_unit_test(a_cancelled_send_is_not_received_with_other_data),
    };

    return cmocka_run_group_tests_name("shm_cancel", tests, NULL, NULL);
}
