/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared-memory channels: lengths, order, full FIFOs, no memory, wake-ups. */
#include "test.h"

#include "shm_ranks.h"

/* ---- Sizes --------------------------------------------------------------- */

/* When the receive is posted: before the send; after it; when the message is
 * unexpected; before, with polls for it. */
enum { BEFORE, HERE, EARLY, AWAITED, WHENS };

static void pass_on(size_t bytes, size_t room, int when)
{
    const bool is_posted = when == BEFORE || when == AWAITED;
    unsigned polls = 3;
    struct test_msg s, r;

    if (is_posted)
        msg_recv(1, 0, &r, 5, room);
    msg_send(0, 1, &s, 5, bytes + 3, bytes);
    if (when == EARLY)
        go_on();
    if (!is_posted)
        msg_recv(1, 0, &r, 5, room);
    if (when == AWAITED)
        require(msg_expect(1, 0, &r, &polls) || bytes > ranks[0].lane.eager ||
                ranks[0].lane.searches_ways);
    go_on();
    msg_check(&r, bytes + 3, bytes);
    require_ok(s.m.status);
}

/* Pass messages of all lengths to receives of rooms different lengths. */
static void pass_all(size_t (*room_for)(size_t bytes, int i), int rooms)
{
    for (size_t mode = 0; mode < MODES; mode++) {
        const size_t ring = modes[mode].ring;
        const size_t sizes[] = {0,        1,        8,
                                47,       48,       49,
                                64,       4096,     8192,
                                8193,     ring / 4, ring / 4 + 1,
                                ring - 1, ring,     3 * ring + 5,
                                HUGE - 7};

        ranks_open(&modes[mode]);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int j = 0; j < WHENS * rooms; j++)
                pass_on(sizes[i], room_for(sizes[i], j / WHENS), j % WHENS);
        ranks_close();
    }
}

static size_t enough(size_t bytes, int i)
{
    return bytes + (size_t)i * 100;
}

static void messages_of_every_size_arrive(void **state)
{
    (void)state;
    pass_all(enough, 2);
}

static size_t too_little(size_t bytes, int i)
{
    const size_t rooms[] = {0, bytes / 5, bytes / 2, bytes - (bytes > 0)};

    return rooms[i];
}

static void a_message_that_is_too_long_changes_no_other_memory(void **state)
{
    (void)state;
    pass_all(too_little, 4);
}

/* ---- Order --------------------------------------------------------------- */

enum { MANY = 700, TAGS = 7 };

static struct test_msg sends[MANY], recvs[MANY];

/* Lengths of all kinds. Each of them follows each other one. */
static size_t size_of(int number)
{
    static const size_t sizes[] = {8,  3000, RING / 4 + 9, 0,
                                   48, 9000, 2 * RING};

    return sizes[(number + number / 7) % 7];
}

static void send_many(int n, int tags)
{
    for (int i = 0; i < n; i++)
        msg_send(0, 1, &sends[i], (uint64_t)(i % tags), (uint64_t)i,
                 size_of(i));
}

static void recv_many(int n, int tags)
{
    for (int i = 0; i < n; i++)
        msg_recv(1, 0, &recvs[i], (uint64_t)(i % tags), size_of(i));
}

static void check_many(int n)
{
    for (int i = 0; i < n; i++) {
        msg_check(&recvs[i], (uint64_t)i, size_of(i));
        require_ok(sends[i].m.status);
    }
}

static void equal_tags_keep_their_order(void **state)
{
    (void)state;
    for (size_t mode = 0; mode < MODES; mode++)
        for (int when = 0; when < WHENS; when++) {
            ranks_open(&modes[mode]);
            const bool is_posted = when == BEFORE || when == AWAITED;
            unsigned polls = 1;

            if (is_posted)
                recv_many(MANY / 5, 1);
            send_many(MANY / 5, 1);
            if (when == EARLY)
                go_on();
            if (!is_posted)
                recv_many(MANY / 5, 1);
            for (int i = 0; when == AWAITED && i < MANY / 5; i++)
                msg_expect(1, 0, &recvs[i], &polls);
            go_on();
            check_many(MANY / 5);
            ranks_close();
        }
}

static void only_the_next_message_is_polled_for(void **state)
{
    struct test_msg s, r[2];
    unsigned polls = 7;

    (void)state;
    ranks_open(&modes[0]);
    for (int i = 0; i < 2; i++)
        msg_recv(1, 0, &r[i], (uint64_t)i, 8);
    require(!msg_expect(1, 0, &r[0], &polls));
    require(polls == 0); /* nothing has arrived */
    polls = 7;
    msg_send(0, 1, &s, 1, 20, 8);
    require(!msg_expect(1, 0, &r[1], &polls));
    require(!msg_expect(1, 0, &r[0], &polls)); /* the message is for r[1] */
    require(polls == 7);
    msg_send(0, 1, &s, 0, 21, 8);
    go_on();
    msg_check(&r[1], 20, 8);
    msg_check(&r[0], 21, 8);
    ranks_close();
}

/* All messages arrive first. Receives are posted by tag, the last tag first. */
static void many_unexpected_messages_are_found_by_their_tags(void **state)
{
    (void)state;
    for (size_t mode = 0; mode < MODES; mode++) {
        ranks_open(&modes[mode]);
        send_many(MANY, TAGS);
        go_on();
        for (int tag = TAGS - 1; tag >= 0; tag--)
            for (int i = tag; i < MANY; i += TAGS)
                msg_recv(1, 0, &recvs[i], (uint64_t)tag, size_of(i));
        go_on();
        check_many(MANY);
        ranks_close();
    }
}

static void tags_may_come_in_any_order(void **state)
{
    const int step = 293; /* coprime to MANY */

    (void)state;
    ranks_open(&in_parts);
    for (int k = 0; k < MANY; k++) {
        const int i = k * step % MANY;

        msg_recv(1, 0, &recvs[i], (uint64_t)i, size_of(i));
    }
    for (int i = 0; i < MANY; i++)
        msg_send(0, 1, &sends[i], (uint64_t)i, (uint64_t)i, size_of(i));
    go_on();
    check_many(MANY);
    ranks_close();
}

static void unexpected_messages_stay_in_the_fifo_at_first(void **state)
{
    (void)state;
    ranks_open(&in_parts);
    send_many(TAGS, TAGS);
    assert_int_equal(rcx_shm_poll(channel_of(1, 0)), 0);
    assert_int_equal(ranks[1].heap.live, 0);
    msg_recv(1, 0, &recvs[1], 1, size_of(1)); /* not the first in the FIFO */
    assert_int_equal(rcx_shm_poll(channel_of(1, 0)), 2);
    assert_int_equal(ranks[1].heap.live, 1);
    for (int i = 0; i < TAGS; i++)
        if (i != 1)
            msg_recv(1, 0, &recvs[i], (uint64_t)i, size_of(i));
    go_on();
    check_many(TAGS);
    ranks_close();
}

/* ---- Receives by mask, and from any source ------------------------------- */

static void a_receive_by_mask_gets_the_oldest_that_fits(void **state)
{
    static const uint64_t tags[] = {0x105, 0x206, 0x305, 0x306};
    struct rcx_arrival found = {0};

    (void)state;
    for (int early = 0; early < 2; early++) {
        ranks_open(&in_parts);
        for (int i = 0; i < 4 && early; i++)
            msg_send(0, 1, &sends[i], tags[i], (uint64_t)i, 100);
        go_on();
        assert_int_equal(rcx_shm_probe(channel_of(1, 0), 6, 0xFF, &found),
                         early);
        assert_int_equal(found.tag, early ? 0x206 : 0);
        assert_false(rcx_shm_probe(channel_of(1, 0), 7, 0xFF, &found));
        msg_recv_masked(1, 0, &recvs[1], 0x06, 0xFF, 100);
        msg_recv_masked(1, 0, &recvs[2], 0x300, 0xF00, 100);
        msg_recv_masked(1, 0, &recvs[0], 0, 0, 100);
        msg_recv_masked(1, 0, &recvs[3], 0, 0, 100);
        for (int i = 0; i < 4 && !early; i++)
            msg_send(0, 1, &sends[i], tags[i], (uint64_t)i, 100);
        go_on();
        for (int i = 0; i < 4; i++) {
            msg_check(&recvs[i], (uint64_t)i, 100);
            assert_int_equal(recvs[i].m.tag, tags[i]);
        }
        ranks_close();
    }
}

/* Rank 1 receives from rank 0, any, rank 2, any, ...; ranks 0 and 2 send. */
static void the_older_of_two_receives_gets_the_message(void **state)
{
    static const int from[] = {0, ANY, 2, ANY, 0, 2};
    static const int senders[] = {2, 2, 0, 0, 2, 0};
    static const int gets[] = {1, 2, 0, 3, 5, 4};

    (void)state;
    for (size_t mode = 0; mode < MODES; mode++)
        for (int k = 0; k < 7; k++) {
            ranks_open(&modes[mode]);
            for (int i = 0; i < 6; i++)
                msg_recv(1, from[i], &recvs[i], 9, size_of(k));
            for (int i = 0; i < 6; i++) {
                msg_send(senders[i], 1, &sends[i], 9, (uint64_t)i, size_of(k));
                go_on();
                msg_check(&recvs[gets[i]], (uint64_t)i, size_of(k));
                assert_int_equal(recvs[gets[i]].m.tag, 9);
            }
            ranks_close();
        }
}

/* A message is in the FIFO, not polled yet, when a second receive is posted. */
static void a_message_in_the_fifo_matches_the_older_receive(void **state)
{
    (void)state;
    for (int from = ANY; from <= 0; from++) {
        ranks_open(&in_parts);
        msg_recv_masked(1, from, &recvs[0], 0, 0, 8);
        msg_send(0, 1, &sends[0], 9, 0, 8);
        msg_recv(1, 0, &recvs[1], 9, 8);
        msg_send(0, 1, &sends[1], 9, 1, 8);
        go_on();
        msg_check(&recvs[0], 0, 8);
        msg_check(&recvs[1], 1, 8);
        ranks_close();
    }
}

static void a_receive_from_any_finds_unexpected_messages(void **state)
{
    (void)state;
    ranks_open(&in_place);
    msg_send(2, 1, &sends[0], 8, 0, 10);
    msg_send(0, 1, &sends[1], 9, 1, RING);
    go_on();
    msg_recv(1, ANY, &recvs[1], 9, RING);
    msg_recv(1, ANY, &recvs[0], 8, 10);
    msg_recv(1, ANY, &recvs[2], 8, 10);
    msg_send(2, 1, &sends[2], 8, 2, 10);
    go_on();
    msg_check(&recvs[0], 0, 10);
    msg_check(&recvs[1], 1, RING);
    msg_check(&recvs[2], 2, 10);
    ranks_close();
}

/* ---- Full FIFOs ---------------------------------------------------------- */

/* Send messages until waiting of them wait for room. Returns their number. */
static int fill(size_t bytes, int waiting)
{
    int n = 0;

    for (int late = 0; late < waiting; n++) {
        msg_send(0, 1, &sends[n], 4, (uint64_t)n, bytes);
        late += sends[n].is_late;
        assert_true(late > 0 || (size_t)n * bytes < RING);
        assert_true(late > 0 || n < RCX_SHM_SLOTS);
        assert_int_equal(rcx_shm_is_flushed(channel_of(0, 1)), late == 0);
        assert_true(sends[n].is_late == (late > 0));
    }
    look(0, 1);
    return n;
}

static void sends_wait_for_room_and_go_on(void **state)
{
    static const size_t sizes[] = {0, 8, 48, 49, 700, 8192, 8193, RING / 4};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ranks_open(&modes[i % 2]);
        for (int turn = 0; turn < 20; turn++) {
            const int n = fill(sizes[i], 1 + turn * 5);

            for (int k = 0; k < n; k++)
                msg_recv(1, 0, &recvs[k], 4, sizes[i]);
            go_on();
            for (int k = 0; k < n; k++)
                msg_check(&recvs[k], (uint64_t)k, sizes[i]);
        }
        ranks_close();
    }
}

static void messages_wait_until_the_peer_is_connected(void **state)
{
    (void)state;
    ranks_open(&in_parts);
    ranks[0].is_cut_off = true;
    send_many(TAGS, 1);
    for (int i = 0; i < TAGS; i++)
        assert_true(sends[i].is_late);
    recv_many(TAGS, 1);
    go_on();
    assert_status(recvs[0].m.status, RCX_IN_PROGRESS);
    ranks[0].is_cut_off = false;
    go_on();
    check_many(TAGS);
    ranks_close();
}

/* Continue as if this number of slots had been sent and returned. */
static void begin_at(uint64_t slots)
{
    struct rcx_shm_channel *from = channel_of(0, 1), *to = channel_of(1, 0);

    exchange(0, 1, 8);
    from->sent = to->taken = to->told = slots;
    from->sent_room = slots + RCX_SHM_SLOTS;
    to->in->slots_taken = slots;
}

static void laps_may_wrap(void **state)
{
    (void)state;
    ranks_open(&in_parts);
    begin_at((UINT64_C(1) << 32) * RCX_SHM_SLOTS - 3 * RCX_SHM_SLOTS);
    for (int i = 0; i < 6 * RCX_SHM_SLOTS; i++)
        exchange(0, 1, 9);
    ranks_close();
}

/* The RTR or ATS of a long message needs a slot, while all are full. */
static void a_long_message_waits_for_a_slot_to_answer(void **state)
{
    (void)state;
    for (size_t mode = 0; mode < MODES; mode++) {
        const int n = RCX_SHM_SLOTS;

        ranks_open(&modes[mode]);
        for (int i = 0; i < n; i++) {
            msg_send(0, 1, &sends[i], 4, (uint64_t)i, 8);
            assert_false(sends[i].is_late);
        }
        msg_send(1, 0, &sends[n], 3, 999, HUGE);
        msg_recv(0, 1, &recvs[n], 3, HUGE);
        for (int i = 0; i < 9; i++) /* rank 1 makes no progress */
            look(0, 1);
        assert_status(recvs[n].m.status, RCX_IN_PROGRESS);
        for (int i = 0; i < n; i++)
            msg_recv(1, 0, &recvs[i], 4, 8);
        go_on();
        for (int i = 0; i < n; i++)
            msg_check(&recvs[i], (uint64_t)i, 8);
        msg_check(&recvs[n], 999, HUGE);
        ranks_close();
    }
}

/* ---- Lack of memory ------------------------------------------------------ */

/* Rank 1 has memory for 0 to TAGS - 1 unexpected messages. The next message
 * must be received from the FIFO, and so on. */
static void messages_that_cannot_be_kept_are_received_later(void **state)
{
    (void)state;
    for (size_t mode = 0; mode < MODES; mode++)
        for (int most = 0; most < TAGS; most++) {
            ranks_open(&modes[mode]);
            ranks[1].heap.budget = (uint64_t)most;
            send_many(TAGS, TAGS);
            go_on();
            assert_int_equal(ranks[1].heap.live, most);
            for (int k = 0; k < TAGS; k++) {
                const int i = (most + k) % TAGS;

                msg_recv(1, 0, &recvs[i], (uint64_t)i, size_of(i));
                go_on();
            }
            check_many(TAGS);
            ranks_close();
        }
}

static void messages_are_kept_once_there_is_memory(void **state)
{
    struct rcx_arrival found;

    (void)state;
    ranks_open(&in_parts);
    ranks[1].heap.budget = 0;
    send_many(TAGS, TAGS);
    go_on();
    assert_false(rcx_shm_probe(channel_of(1, 0), 0, 0, &found));
    msg_recv(1, 0, &recvs[2], 2, size_of(2)); /* third in the FIFO */
    go_on();
    assert_status(recvs[2].m.status, RCX_IN_PROGRESS);
    ranks[1].heap.budget = UINT64_MAX;
    go_on();
    msg_check(&recvs[2], 2, size_of(2));
    for (int i = 0; i < TAGS; i++)
        if (i != 2)
            msg_recv(1, 0, &recvs[i], (uint64_t)i, size_of(i));
    go_on();
    for (int i = 0; i < TAGS; i++)
        if (i != 2)
            msg_check(&recvs[i], (uint64_t)i, size_of(i));
    ranks_close();
}

/* ---- Wake-ups ------------------------------------------------------------ */

static int wakes_of(int rank)
{
    int wakes;

    sem_getvalue(&ranks[rank].woken, &wakes);
    return wakes;
}

static void expect_wake(int self, bool is_woken)
{
    assert_int_equal(wakes_of(self), is_woken);
    assert_int_equal(ranks[self].asleep, !is_woken);
    if (is_woken)
        sem_wait(&ranks[self].woken);
}

static void a_sleeping_rank_is_woken_once(void **state)
{
    (void)state;
    ranks_open(&in_parts);
    ranks[1].asleep = 1;
    expect_wake(1, false);
    msg_send(0, 1, &sends[0], 1, 0, 8);
    expect_wake(1, true);
    msg_send(0, 1, &sends[1], 1, 1, 3000);
    assert_int_equal(wakes_of(1), 0);
    msg_recv(1, 0, &recvs[0], 1, 8);
    msg_recv(1, 0, &recvs[1], 1, 3000);
    msg_check(&recvs[0], 0, 8);
    msg_check(&recvs[1], 1, 3000);
    ranks_close();
}

static void a_rank_that_never_sleeps_is_not_woken(void **state)
{
    static const struct mode never = {
        .ring = RING, .cma_from = RING / 4 + 1, .never_sleeps = true};

    (void)state;
    ranks_open(&never);
    ranks[0].asleep = ranks[1].asleep = 1;
    exchange(0, 1, 8);
    exchange(0, 1, 3 * RING);
    assert_int_equal(wakes_of(0) + wakes_of(1), 0);
    ranks_close();
}

static void room_wakes_the_sender_that_waits_for_it(void **state)
{
    static const size_t sizes[] = {8, 8192, 9000};

    (void)state;
    ranks_open(&in_parts);
    for (int k = 0; k < 3; k++) {
        const int n = fill(sizes[k], 1);

        ranks[0].asleep = 1;
        for (int i = 0; i < n; i++)
            msg_recv(1, 0, &recvs[i], 4, sizes[k]);
        look(1, 0);
        expect_wake(0, true);
        go_on();
        for (int i = 0; i < n; i++)
            msg_check(&recvs[i], (uint64_t)i, sizes[k]);
    }
    ranks_close();
}

static void the_answer_to_a_long_message_wakes_its_sender(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        ranks_open(k ? &in_parts : &in_place);
        msg_send(0, 1, &sends[0], 1, 0, HUGE);
        look(1, 0);
        ranks[0].asleep = 1;
        msg_recv(1, 0, &recvs[0], 1, HUGE);
        while (look(1, 0) > 0)
            ;
        expect_wake(0, true);
        go_on();
        msg_check(&recvs[0], 0, HUGE);
        ranks_close();
    }
}

/* A returned slot is overwritten at once, so it must be read before. */
static void a_message_is_read_before_its_slot_is_returned(void **state)
{
    const int n = RCX_SHM_SLOTS, more = n / 2;

    (void)state;
    ranks_open(&in_parts);
    for (int i = 0; i < n + more; i++)
        msg_send(0, 1, &sends[i], (uint64_t)i, (uint64_t)i, 8);
    ranks[0].asleep = ranks[0].is_up_again = true;
    for (int i = 0; i < more; i++) {
        msg_recv_masked(1, 0, &recvs[i], 0, 0, 8);
        assert_int_equal(recvs[i].m.tag, i);
        msg_check(&recvs[i], (uint64_t)i, 8);
    }
    assert_int_equal(sends[n].completions, 1);
    ranks[0].is_up_again = false;
    for (int i = more; i < n + more; i++) {
        msg_recv(1, 0, &recvs[i], (uint64_t)i, 8);
        go_on();
        msg_check(&recvs[i], (uint64_t)i, 8);
    }
    ranks_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_every_size_arrive),
        cmocka_unit_test(a_message_that_is_too_long_changes_no_other_memory),
        cmocka_unit_test(equal_tags_keep_their_order),
        cmocka_unit_test(only_the_next_message_is_polled_for),
        cmocka_unit_test(many_unexpected_messages_are_found_by_their_tags),
        cmocka_unit_test(tags_may_come_in_any_order),
        cmocka_unit_test(unexpected_messages_stay_in_the_fifo_at_first),
        cmocka_unit_test(a_receive_by_mask_gets_the_oldest_that_fits),
        cmocka_unit_test(the_older_of_two_receives_gets_the_message),
        cmocka_unit_test(a_message_in_the_fifo_matches_the_older_receive),
        cmocka_unit_test(a_receive_from_any_finds_unexpected_messages),
        cmocka_unit_test(sends_wait_for_room_and_go_on),
        cmocka_unit_test(messages_wait_until_the_peer_is_connected),
        cmocka_unit_test(laps_may_wrap),
        cmocka_unit_test(a_long_message_waits_for_a_slot_to_answer),
        cmocka_unit_test(messages_that_cannot_be_kept_are_received_later),
        cmocka_unit_test(messages_are_kept_once_there_is_memory),
        cmocka_unit_test(a_sleeping_rank_is_woken_once),
        cmocka_unit_test(a_rank_that_never_sleeps_is_not_woken),
        cmocka_unit_test(room_wakes_the_sender_that_waits_for_it),
        cmocka_unit_test(the_answer_to_a_long_message_wakes_its_sender),
        cmocka_unit_test(a_message_is_read_before_its_slot_is_returned),
    };

    return cmocka_run_group_tests_name("shm_channel", tests, NULL, NULL);
}
