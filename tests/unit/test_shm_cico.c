/* SPDX-License-Identifier: BSD-3-Clause */
/* Copy-in copy-out buffers: one copy that several peers read. */
#include "test.h"

#include "shm_ranks.h"
#include "transport/shm/fifo.h"
#include "transport/shm/cico.h"

enum { PART = CICO / RCX_CICO_PARTS, TAG = 5 };

/* Copy a text for ranks 1 and 2, and tell them. False: no room. */
static bool share(uint64_t number, size_t bytes)
{
    const unsigned char *text = text_of(number);
    size_t at;

    require(rcx_cico_takes(&ranks[0].lane, text, bytes));
    at = rcx_cico_put(&ranks[0].lane, text, bytes);
    if (at == SIZE_MAX)
        return false;
    for (int peer = 1; peer < RANKS; peer++)
        require(rcx_cico_tell(channel_of(0, peer), TAG, at, bytes));
    return true;
}

/* A channel is connected by its first message. */
static void open_connected(const struct mode *mode)
{
    ranks_open(mode);
    for (int peer = 1; peer < RANKS; peer++)
        exchange(0, peer, 8);
}

static void each_reader_gets_the_copy(void **state)
{
    static const size_t sizes[] = {RCX_SLOT_BYTES + 1, 500, 4096, PART};
    struct test_msg r[RANKS];

    (void)state;
    for (size_t mode = 0; mode < MODES; mode++)
        for (int early = 0; early < 2; early++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                open_connected(&modes[mode]);
                for (int peer = 1; peer < RANKS && !early; peer++)
                    msg_recv(peer, 0, &r[peer], TAG, sizes[i]);
                require(share(i, sizes[i]));
                go_on();
                for (int peer = 1; peer < RANKS && early; peer++)
                    msg_recv(peer, 0, &r[peer], TAG, sizes[i]);
                go_on();
                for (int peer = 1; peer < RANKS; peer++)
                    msg_check(&r[peer], i, sizes[i]);
                ranks_close();
            }
}

static void a_reader_may_lack_room(void **state)
{
    struct test_msg r[RANKS];

    (void)state;
    open_connected(&in_parts);
    msg_recv(1, 0, &r[1], TAG, 100);
    msg_recv(2, 0, &r[2], TAG, 3000);
    require(share(3, 2000));
    go_on();
    assert_int_equal(r[1].m.status, RCX_ERR_MISMATCH);
    msg_check_and_free(&r[1], text_of(3), 100);
    msg_check(&r[2], 3, 2000);
    ranks_close();
}

/* Copies and other messages of one channel keep their order. */
static void a_copy_keeps_its_place_among_messages(void **state)
{
    struct test_msg s[2], r[3], other;

    (void)state;
    open_connected(&in_parts);
    msg_send(0, 1, &s[0], TAG, 1, 3000);
    require(share(2, 3000));
    msg_send(0, 1, &s[1], TAG, 3, 40);
    msg_recv(2, 0, &other, TAG, 3000);
    for (int i = 0; i < 3; i++)
        msg_recv(1, 0, &r[i], TAG, 3000);
    go_on();
    msg_check(&r[0], 1, 3000);
    msg_check(&r[1], 2, 3000);
    msg_check(&r[2], 3, 40);
    msg_check(&other, 2, 3000);
    ranks_close();
}

/* While earlier messages wait for room in the ring, a copy must not overtake
 * them, although there are free slots. */
static void a_copy_does_not_overtake_messages_that_wait(void **state)
{
    enum { WAITING = 2 * RCX_SHM_CHUNKS };
    struct test_msg s[WAITING], r[WAITING];
    size_t at;

    (void)state;
    open_connected(&in_parts);
    for (int i = 0; i < WAITING; i++)
        msg_send(0, 1, &s[i], TAG, (uint64_t)i, RING / RCX_SHM_CHUNKS);
    at = rcx_cico_put(&ranks[0].lane, text_of(1), 1000);
    assert_false(rcx_cico_tell(channel_of(0, 1), TAG, at, 1000));
    for (int i = 0; i < WAITING; i++)
        msg_recv(1, 0, &r[i], TAG, RING / RCX_SHM_CHUNKS);
    go_on();
    for (int i = 0; i < WAITING; i++)
        msg_check(&r[i], (uint64_t)i, RING / RCX_SHM_CHUNKS);
    ranks_close();
}

/* Receive n copies at a peer, which takes each one out of its FIFO when it
 * posts the receive, and no more. */
static void read_copies(int peer, int first, int n, size_t bytes)
{
    for (int i = first; i < first + n; i++) {
        struct test_msg r;

        msg_recv(peer, 0, &r, TAG, bytes);
        msg_check(&r, (uint64_t)i, bytes);
    }
}

static void a_part_is_used_again_when_all_have_read_it(void **state)
{
    (void)state;
    open_connected(&in_parts);
    for (int i = 0; i < RCX_CICO_PARTS; i++)
        require(share((uint64_t)i, PART));
    assert_false(share(9, PART));
    read_copies(1, 0, RCX_CICO_PARTS, PART);
    assert_false(share(9, PART)); /* rank 2 has read nothing */
    read_copies(2, 0, 1, PART);
    require(share(4, PART));
    assert_false(share(9, PART));
    read_copies(2, 1, RCX_CICO_PARTS, PART);
    read_copies(1, RCX_CICO_PARTS, 1, PART);
    ranks_close();
}

static void short_copies_fill_a_part(void **state)
{
    int n = 0;

    (void)state;
    open_connected(&in_parts);
    for (int i = 0; i < 10 * RCX_CICO_PARTS; i++, n++) {
        require(share((uint64_t)n, PART / 3));
        read_copies(1, n, 1, PART / 3);
        read_copies(2, n, 1, PART / 3);
    }
    ranks_close();
}

static void a_reader_that_has_ended_is_not_waited_for(void **state)
{
    (void)state;
    open_connected(&in_parts);
    for (int i = 0; i < RCX_CICO_PARTS; i++)
        require(share((uint64_t)i, PART));
    rcx_shm_peer_ended(channel_of(0, 2));
    read_copies(1, 0, RCX_CICO_PARTS, PART);
    require(share(4, PART));
    read_copies(1, 4, 1, PART);
    read_copies(2, 4, 1, PART); /* in fact it has not; the first is gone */
    read_copies(2, 1, RCX_CICO_PARTS, PART);
    ranks_close();
}

static void a_copy_that_cannot_be_mapped_is_an_error(void **state)
{
    struct test_msg r[RANKS];

    (void)state;
    for (int early = 0; early < 2; early++) {
        open_connected(&in_parts);
        ranks[1].is_cut_off = true;
        channel_of(1, 0)->out = NULL;
        require(share(3, 1000));
        if (early)
            go_on();
        msg_recv(1, 0, &r[1], TAG, 1000);
        msg_recv(2, 0, &r[2], TAG, 1000);
        go_on();
        assert_int_equal(r[1].m.status, RCX_ERR_TRANSPORT);
        msg_check_and_free(&r[1], NULL, 0);
        msg_check(&r[2], 3, 1000);
        ranks_close();
    }
}

static void a_copy_wakes_a_reader_that_sleeps(void **state)
{
    struct test_msg r[RANKS];
    int value;

    (void)state;
    open_connected(&modes[0]);
    for (int peer = 1; peer < RANKS; peer++)
        msg_recv(peer, 0, &r[peer], TAG, 1000);
    atomic_store(&ranks[2].asleep, 1);
    require(share(3, 1000));
    sem_getvalue(&ranks[2].woken, &value);
    assert_int_equal(value, 1);
    assert_int_equal(atomic_load(&ranks[2].asleep), 0);
    go_on();
    for (int peer = 1; peer < RANKS; peer++)
        msg_check(&r[peer], 3, 1000);
    ranks_close();
}

static void some_messages_are_not_shared(void **state)
{
    (void)state;
    ranks_open(&in_parts);
    assert_false(rcx_cico_takes(&ranks[0].lane, text_of(0), RCX_SLOT_BYTES));
    assert_false(rcx_cico_takes(&ranks[0].lane, text_of(0), PART + 1));
    ranks[0].lane.cico.bytes = 0;
    assert_false(rcx_cico_takes(&ranks[0].lane, text_of(0), 1000));
    ranks_close();
}

/* Rank 2 reads at once; rank 1 holds the copies of the first two parts. The
 * sender finds no room until the first one is released, and messages arrive all
 * the same. */
static void a_copy_that_is_held_is_not_overwritten(void **state)
{
    struct test_msg held[RCX_CICO_PARTS], other;

    (void)state;
    for (int first = 0; first < 2; first++) {
        open_connected(&holding);
        for (int i = 0; i < RCX_CICO_PARTS; i++) {
            msg_recv(1, 0, &held[i], TAG, PART);
            msg_recv(2, 0, &other, TAG, PART);
            require(share((uint64_t)i, PART));
            go_on();
            msg_check(&other, (uint64_t)i, PART);
            assert_ptr_equal(held[i].m.held, ranks[0].lane.cico.at + i * PART);
            if (i > 1)
                msg_check(&held[i], (uint64_t)i, PART);
        }
        assert_false(share(9, PART));
        msg_check(&held[first], (uint64_t)first, PART);
        assert_int_equal(share(9, PART), first == 0);
        exchange(0, 1, 3000);
        msg_check(&held[!first], (uint64_t)!first, PART);
        if (first == 1)
            require(share(9, PART));
        for (int peer = 1; peer < RANKS; peer++) {
            msg_recv(peer, 0, &other, TAG, PART);
            go_on();
            msg_check(&other, 9, PART);
        }
        ranks_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reader_gets_the_copy),
        cmocka_unit_test(a_reader_may_lack_room),
        cmocka_unit_test(a_copy_keeps_its_place_among_messages),
        cmocka_unit_test(a_copy_that_is_held_is_not_overwritten),
        cmocka_unit_test(a_copy_does_not_overtake_messages_that_wait),
        cmocka_unit_test(a_part_is_used_again_when_all_have_read_it),
        cmocka_unit_test(short_copies_fill_a_part),
        cmocka_unit_test(a_reader_that_has_ended_is_not_waited_for),
        cmocka_unit_test(a_copy_that_cannot_be_mapped_is_an_error),
        cmocka_unit_test(a_copy_wakes_a_reader_that_sleeps),
        cmocka_unit_test(some_messages_are_not_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
