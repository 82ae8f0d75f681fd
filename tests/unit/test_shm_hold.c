/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that the receiver holds in the FIFO of a channel. They must stay as
 * they are until they are released or copied, and must never keep later
 * messages from arriving. test_shm_channel.c and test_shm_model.c also run with
 * receives that hold.
 */
#include "test.h"

#include <string.h>

#include "core/base/random.h"
#include "shm_ranks.h"

enum {
    BYTES = 3000,
    CHUNK = RING / 4, /* the longest message that is not long */
    MANY = 400,
    ROUNDS = 20000,
    OPEN = 12
};

static struct test_msg sends[MANY], recvs[MANY];

static const unsigned char *fifo_of(int self, int peer)
{
    return (const unsigned char *)channel_of(self, peer)->in;
}

static bool is_held(const struct test_msg *l)
{
    const unsigned char *const fifo = fifo_of(1, 0), *const at = l->m.held;

    require(!at ||
            (at >= fifo && at < fifo + rcx_shm_fifo_bytes(&ranks[1].lane)));
    return at;
}

/* Send message number i from rank 0 to rank 1, and receive it. */
static void pass(int i, size_t bytes)
{
    msg_send(0, 1, &sends[i], 5, (uint64_t)i, bytes);
    msg_recv(1, 0, &recvs[i], 5, bytes);
    go_on();
    require_ok(sends[i].m.status);
    require_ok(recvs[i].m.status);
}

static void check(int i, size_t bytes)
{
    msg_check(&recvs[i], (uint64_t)i, bytes);
}

/* ---- Messages that are held ---------------------------------------------- */

enum { BEFORE, HERE, AWAITED, EARLY, WHENS };

static void a_message_is_held_where_it_arrives(void **state)
{
    (void)state;
    ranks_open(&holding);
    for (int when = 0; when < WHENS; when++) {
        unsigned polls = 3;

        if (when == BEFORE || when == AWAITED)
            msg_recv(1, 0, &recvs[0], 5, BYTES);
        msg_send(0, 1, &sends[0], 5, 0, BYTES);
        if (when == AWAITED)
            require(msg_expect(1, 0, &recvs[0], &polls));
        if (when == EARLY) /* it was copied as it left the FIFO */
            go_on();
        if (when == HERE || when == EARLY)
            msg_recv(1, 0, &recvs[0], 5, BYTES);
        go_on();
        assert_int_equal(is_held(&recvs[0]), when != EARLY);
        check(0, BYTES);
    }
    ranks_close();
}

/* A slot, a message of another length than expected, a long message, and a
 * receive that does not allow it. */
static void other_messages_are_copied(void **state)
{
    static const size_t sizes[][2] = {{RCX_SLOT_BYTES, RCX_SLOT_BYTES},
                                      {BYTES, BYTES + 4},
                                      {BYTES, BYTES - 4},
                                      {0, BYTES},
                                      {CHUNK + 4, CHUNK + 4},
                                      {BYTES + 3, BYTES + 3}};

    (void)state;
    ranks_open(&holding);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        msg_recv(1, 0, &recvs[i], 5, sizes[i][1]);
        msg_send(0, 1, &sends[i], 5, i, sizes[i][0]);
        go_on();
        assert_false(is_held(&recvs[i]));
        check((int)i, sizes[i][0]);
    }
    ranks_close();
}

static void messages_are_released_in_any_order(void **state)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    (void)state;
    ranks_open(&holding);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 3; i++)
            pass(i, BYTES);
        for (int i = 0; i < 3; i++) {
            assert_true(is_held(&recvs[orders[round % 6][i]]));
            check(orders[round % 6][i], BYTES);
        }
        assert_null(channel_of(1, 0)->holds[RCX_HELD_RING].first);
    }
    ranks_close();
}

/* ---- Room ---------------------------------------------------------------- */

/* One message is held for ever. All others arrive, and leave no send behind. */
static void hold_one_of_many(size_t first, size_t bytes, int n)
{
    ranks_open(&holding);
    pass(0, first);
    assert_true(is_held(&recvs[0]));
    for (int i = 1; i < n; i++) {
        msg_send(0, 1, &sends[i], 5, (uint64_t)i, bytes);
        require(!sends[i].is_late || bytes > CHUNK);
        msg_recv(1, 0, &recvs[i], 5, bytes);
        go_on();
        check(i, bytes);
    }
    assert_int_equal(is_held(&recvs[0]), bytes <= 200); /* they need no room */
    check(0, first);
    ranks_close();
}

static void a_held_message_lets_all_others_pass(void **state)
{
    static const size_t sizes[] = {8, 200, BYTES, CHUNK - 64, CHUNK, 2 * RING};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hold_one_of_many(BYTES, sizes[i], 60);
        hold_one_of_many(CHUNK, sizes[i], 60);
    }
}

/* Nothing is released, so the oldest are copied, one after the other. */
static void the_oldest_hold_ends_first(void **state)
{
    static const size_t sizes[] = {200, BYTES, CHUNK};

    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int held = 0;

        ranks_open(&holding);
        for (int i = 0; i < MANY; i++) {
            pass(i, sizes[k]);
            require(!sends[i].is_late);
            assert_true(is_held(&recvs[i]));
        }
        for (int i = 0; i < MANY; i++) {
            require(is_held(&recvs[i]) || held == 0);
            held += is_held(&recvs[i]);
            check(i, sizes[k]);
        }
        assert_in_range(held, 1, RING / 2 / sizes[k]);
        ranks_close();
    }
}

/* Messages are released late, some of them never, before they are copied. */
static void random_holds_end_in_any_order(void **state)
{
    uint64_t random = SEED;
    int open[OPEN], numbers[OPEN];

    (void)state;
    ranks_open(&holding);
    for (int i = 0; i < OPEN; i++)
        open[i] = -1;
    for (int i = 0; i < ROUNDS; i++) {
        const int k = (int)(rcx_random(&random) % OPEN);
        const size_t bytes =
            4 * (1 + rcx_random(&random) %
                         (rcx_random(&random) % 8 ? BYTES / 4 : CHUNK / 4));

        if (open[k] >= 0)
            msg_check(&recvs[k], (uint64_t)numbers[k], (size_t)open[k]);
        open[k] = (int)bytes;
        numbers[k] = i;
        msg_send(0, 1, &sends[0], 5, (uint64_t)i, bytes);
        require(!sends[0].is_late);
        msg_recv(1, 0, &recvs[k], 5, bytes);
        go_on();
        require_ok(recvs[k].m.status);
    }
    for (int k = 0; k < OPEN; k++)
        msg_check(&recvs[k], (uint64_t)numbers[k], (size_t)open[k]);
    ranks_close();
}

/* ---- Ends ---------------------------------------------------------------- */

/* The FIFO belongs to the receiver. */
static void a_message_outlives_its_sender(void **state)
{
    (void)state;
    ranks_open(&holding);
    pass(0, BYTES);
    msg_recv(1, 0, &recvs[1], 5, BYTES);
    rcx_shm_peer_ended(channel_of(1, 0));
    assert_true(is_held(&recvs[0]));
    check(0, BYTES);
    rcx_shm_cancel(channel_of(1, 0), &recvs[1].m);
    go_on();
    assert_status(recvs[1].m.status, RCX_ERR_COMM_FAILED);
    msg_check_and_free(&recvs[1], NULL, 0);
    ranks_close();
}

static void a_cancelled_receive_leaves_holds_alone(void **state)
{
    (void)state;
    ranks_open(&holding);
    pass(0, BYTES);
    msg_recv(1, 0, &recvs[1], 6, BYTES);
    pass(2, BYTES);
    rcx_shm_cancel(channel_of(1, 0), &recvs[1].m);
    look(1, 0);
    assert_status(recvs[1].m.status, RCX_ERR_COMM_FAILED);
    msg_check_and_free(&recvs[1], NULL, 0);
    assert_true(is_held(&recvs[0]) && is_held(&recvs[2]));
    check(2, BYTES);
    check(0, BYTES);
    ranks_close();
}

/* A sender that waits for room gets it by the release, and is woken. */
static void a_release_returns_room(void **state)
{
    const struct rcx_ring *ring = &channel_of(1, 0)->ring_in;

    (void)state;
    ranks_open(&holding);
    for (int i = 0; i < 3; i++)
        pass(i, RING / 8);
    assert_int_equal(ring->known, 0);
    atomic_store(&ranks[0].asleep, 1);
    check(2, RING / 8);
    check(1, RING / 8);
    assert_int_equal(ring->known, 0);
    assert_int_equal(atomic_load(&ranks[0].asleep), 1);
    check(0, RING / 8);
    assert_int_equal(ring->known, 3 * RING / 8);
    assert_int_equal(atomic_load(&ranks[0].asleep), 0);
    ranks_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_held_where_it_arrives),
        cmocka_unit_test(other_messages_are_copied),
        cmocka_unit_test(messages_are_released_in_any_order),
        cmocka_unit_test(a_held_message_lets_all_others_pass),
        cmocka_unit_test(the_oldest_hold_ends_first),
        cmocka_unit_test(random_holds_end_in_any_order),
        cmocka_unit_test(a_message_outlives_its_sender),
        cmocka_unit_test(a_cancelled_receive_leaves_holds_alone),
        cmocka_unit_test(a_release_returns_room),
    };

    return cmocka_run_group_tests_name("shm_hold", tests, NULL, NULL);
}
