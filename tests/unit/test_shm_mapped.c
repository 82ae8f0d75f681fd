/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages in registered memory that peers have mapped. Each block is mapped
 * twice here. The sender's mapping is inaccessible during the transfer, so the
 * data must come through the other one, the alias.
 */
#include "test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/random.h"
#include "shm_ranks.h"
#include "transport/shm/mapped.h"

enum { DIRECT = 1000, BLOCKS = 40, ROUNDS = 3000, LONG = 1 << 30 };

struct block {
    struct rcx_region *region; /* NULL: unused */
    unsigned char *at, *alias;
    size_t bytes;
};

static unsigned maps, unmaps;
static bool refuses;

/* Map a region: its key is the address of the alias. */
static const void *map(struct rcx_shm_lane *lane, int peer, const void *key,
                       uint64_t base, void **handle_p)
{
    void *alias;

    (void)lane, (void)peer, (void)base;
    memcpy(&alias, key, sizeof alias);
    maps++;
    *handle_p = alias;
    return refuses ? NULL : alias;
}

static void unmap(struct rcx_shm_lane *lane, void *handle)
{
    (void)lane;
    require(handle != NULL);
    unmaps++;
}

static void begin(const struct mode *mode)
{
    ranks_open(mode);
    maps = unmaps = 0;
    refuses = false;
    for (int i = 0; i < RANKS; i++) {
        ranks[i].lane.settings.direct = DIRECT;
        ranks[i].lane.ranks = RANKS;
        ranks[i].lane.map = map;
        ranks[i].lane.unmap = unmap;
    }
}

static void end(void)
{
    for (int i = 0; i < RANKS; i++) {
        for (int j = 0; j < RANKS; j++)
            rcx_mapping_close_all(channel_of(i, j));
        rcx_region_close_all(&ranks[i].lane);
    }
    assert_int_equal(unmaps, refuses ? 0 : maps);
    ranks_close();
}

/* Expose a block of bytes on rank, at address at unless this is NULL. */
static struct block expose_at(int rank, void *at, size_t bytes)
{
    struct block b = {.bytes = bytes};
    const int fd = memfd_create("block", 0);

    require(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    b.at = mmap(at, bytes, PROT_READ | PROT_WRITE,
                MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
    b.alias = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    require(b.at != MAP_FAILED && b.alias != MAP_FAILED);
    b.region = rcx_region_expose(&ranks[rank].lane, b.at, bytes, &b.alias,
                                 sizeof b.alias);
    require(b.region != NULL);
    return b;
}

static struct block expose(int rank, size_t bytes)
{
    return expose_at(rank, NULL, bytes);
}

static void drop(struct block *b)
{
    munmap(b->at, b->bytes);
    mprotect(b->alias, b->bytes, PROT_NONE); /* its address is not reused */
    *b = (struct block){.region = NULL};
}

static void withdraw(int rank, struct block *b)
{
    rcx_region_withdraw(&ranks[rank].lane, b->region);
    for (int i = 0; i < RANKS; i++)
        rcx_region_announce_gone(channel_of(rank, i));
    drop(b);
}

/* Send out of a block. l has no buffer that is checked. */
static void send_from(int self, int peer, struct test_msg *l,
                      const struct block *b, size_t at, uint64_t number,
                      size_t bytes)
{
    memset(l, 0, sizeof *l);
    mprotect(b->at, b->bytes, PROT_READ | PROT_WRITE);
    memcpy(b->at + at, text_of(number), bytes);
    l->m.status =
        rcx_shm_send(channel_of(self, peer), b->at + at, bytes, number, &l->m);
}

static void lock(const struct block *b)
{
    mprotect(b->at, b->bytes, PROT_NONE);
}

enum { BEFORE, HERE, EARLY, WHENS };

static void pass_on(const struct block *b, size_t at, uint64_t number,
                    size_t bytes, size_t room, int when)
{
    struct test_msg s, r;

    if (when == BEFORE)
        msg_recv(1, 0, &r, number, room);
    send_from(0, 1, &s, b, at, number, bytes);
    assert_status(s.m.status, RCX_IN_PROGRESS);
    lock(b);
    if (when == EARLY)
        go_on();
    assert_status(s.m.status, RCX_IN_PROGRESS);
    if (when != BEFORE)
        msg_recv(1, 0, &r, number, room);
    go_on();
    msg_check(&r, number, bytes);
    assert_ok(s.m.status);
}

static void messages_are_read_in_place(void **state)
{
    static const size_t sizes[] = {DIRECT, 1024, RING / 4, RING + 5, HUGE};

    (void)state;
    for (size_t mode = 0; mode < MODES; mode++) {
        struct block b;

        begin(&modes[mode]);
        b = expose(0, LONG / 64);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int when = 0; when < WHENS; when++) {
                pass_on(&b, 64 * i, i, sizes[i], sizes[i] + i, when);
                pass_on(&b, b.bytes - sizes[i], i, sizes[i], sizes[i] / 2,
                        when);
            }
        assert_int_equal(maps, 1);
        drop(&b);
        end();
    }
}

/* A message that is too short, or partly outside of the region, must be
 * sent. */
static void a_message_partly_outside_of_a_region_is_sent(void **state)
{
    struct block b;
    struct test_msg s, r;

    (void)state;
    begin(&in_parts);
    b = expose(0, 1 << 16);
    send_from(0, 1, &s, &b, 0, 1, DIRECT - 1);
    assert_ok(s.m.status);
    msg_recv(1, 0, &r, 1, DIRECT);
    go_on();
    msg_check(&r, 1, DIRECT - 1);
    rcx_addr_map_remove(&ranks[0].lane.regions, &b.region->range);
    b.region->range.bytes -= 100; /* the last bytes are outside */
    rcx_addr_map_add(&ranks[0].lane.regions, &ranks[0].heap, &b.region->range);
    send_from(0, 1, &s, &b, b.bytes - 2000, 2, 2000);
    assert_ok(s.m.status);
    msg_recv(1, 0, &r, 2, 2000);
    go_on();
    msg_check(&r, 2, 2000);
    assert_int_equal(maps, 0);
    drop(&b);
    end();
}

static void a_message_in_a_region_that_cannot_be_mapped_arrives(void **state)
{
    (void)state;
    for (size_t mode = 0; mode < MODES; mode++)
        for (int budget = 0; budget < 3; budget++) {
            struct block b;
            struct test_msg s, r;

            begin(&modes[mode]);
            channel_of(1, 0)->pid = 0; /* CMA fails */
            refuses = true;
            b = expose(0, 1 << 20);
            ranks[1].heap.budget = (uint64_t)budget;
            msg_recv(1, 0, &r, 3, HUGE);
            send_from(0, 1, &s, &b, 64, 3, HUGE);
            go_on();
            msg_check(&r, 3, HUGE);
            assert_ok(s.m.status);
            drop(&b);
            end();
        }
}

/* Peers must unmap a region that is gone, and map a new one at its address. */
static void a_withdrawn_region_is_unmapped(void **state)
{
    (void)state;
    begin(&in_parts);
    for (unsigned i = 1; i <= 10; i++) {
        struct block b = expose(0, 1 << 16);

        pass_on(&b, 0, i, 4096, 4096, HERE);
        pass_on(&b, 4096, i + 1, 4096, 4096, EARLY);
        assert_int_equal(maps, i);
        withdraw(0, &b);
        assert_int_equal(unmaps, i - 1);
        go_on();
        assert_int_equal(unmaps, i);
    }
    assert_null(ranks[0].lane.gone);
    end();
}

/* The FIFO to rank 1 has no slot for the notice that a region is gone, nor for
 * another RTS: rank 1 must get the notice later. Rank 2 must get it once.
 * once_more: with a new region at the same address. */
static void notify_later(bool once_more)
{
    enum { FILL = RCX_SHM_SLOTS - 2 /* a notice, an RTS */ };
    static struct test_msg fill[FILL], recvs[FILL];
    struct block old, b;
    struct test_msg s, r;
    void *at;

    begin(&in_parts);
    old = expose(0, 1 << 16);
    at = old.at;
    pass_on(&old, 0, 1, 4096, 4096, HERE);
    msg_recv(2, 0, &r, 7, 4096);
    send_from(0, 2, &s, &old, 0, 7, 4096);
    go_on();
    msg_check(&r, 7, 4096);
    for (int i = 0; i < FILL; i++)
        msg_send(0, 1, &fill[i], 9, (uint64_t)i, 8);
    assert_null(channel_of(0, 1)->starting);
    withdraw(0, &old);
    assert_true(rcx_region_announce_gone(channel_of(0, 2)));
    assert_non_null(ranks[0].lane.gone);
    if (once_more) {
        look(1, 0); /* frees slots; rank 0 does not know yet */
        b = expose_at(0, at, 1 << 16);
        send_from(0, 1, &s, &b, 0, 2, 4096);
        lock(&b);
        msg_recv(1, 0, &r, 2, 4096);
    }
    go_on();
    assert_null(ranks[0].lane.gone);
    assert_int_equal(maps, 2 + once_more);
    assert_int_equal(unmaps, 2);
    if (once_more) {
        msg_check(&r, 2, 4096);
        assert_ok(s.m.status);
        pass_on(&b, 4096, 5, 4096, 4096, HERE);
        drop(&b);
    }
    for (int i = 0; i < FILL; i++)
        msg_recv(1, 0, &recvs[i], 9, 8);
    go_on();
    for (int i = 0; i < FILL; i++)
        msg_check(&recvs[i], (uint64_t)i, 8);
    end();
}

static void a_notice_that_finds_no_slot_is_sent_later(void **state)
{
    (void)state;
    notify_later(false);
    notify_later(true);
}

static void give_up(struct test_msg *l, int self, int peer)
{
    rcx_shm_cancel(channel_of(self, peer), &l->m);
}

/* After a cancel the sender must complete, and the buffer must not be
 * written. */
static void a_receive_that_is_cancelled_reads_no_more(void **state)
{
    struct block b;
    struct test_msg s, r;

    (void)state;
    begin(&in_parts);
    b = expose(0, 1 << 20);
    msg_recv(1, 0, &r, 4, HUGE);
    send_from(0, 1, &s, &b, 0, 4, HUGE);
    require(rcx_shm_progress(channel_of(1, 0), true) > 0);
    give_up(&r, 1, 0);
    memset(r.space, 0, r.bytes); /* not checked any more */
    go_on();
    assert_status(r.m.status, RCX_ERR_MISMATCH);
    assert_ok(s.m.status);
    for (size_t i = 0; i < r.bytes; i++)
        require(r.space[i] == 0);
    free(r.space);
    drop(&b);
    end();
}

/* ---- Messages that are held ---------------------------------------------- */

/* One call of progress, as while a rank waits. */
static void poll_once(int self, int peer)
{
    rcx_shm_progress(channel_of(self, peer), false);
    rcx_transport_init(&ranks[self].transport);
}

/* Send number messages from b, which are all received and held. */
static void hold(const struct block *b, struct test_msg *s, struct test_msg *r,
                 int number)
{
    for (int i = 0; i < number; i++) {
        send_from(0, 1, &s[i], b, (size_t)i * 4096, (uint64_t)i, 4096);
        lock(b);
        msg_recv(1, 0, &r[i], (uint64_t)i, 4096);
        if (r[i].is_late) /* behind the notice of the region */
            poll_once(1, 0);
        r[i].is_late = false;
        assert_ok(r[i].m.status);
        assert_ptr_equal(r[i].m.held, b->alias + i * 4096);
    }
}

/* The sender completes when the message is released, and not before. */
static void a_message_is_held_in_the_memory_of_its_sender(void **state)
{
    struct test_msg s[3], r[3];
    struct block b;

    (void)state;
    begin(&holding);
    b = expose(0, 1 << 20);
    for (int round = 0; round < 50; round++) {
        hold(&b, s, r, 3);
        for (int i = 0; i < 3; i++) {
            const int k = (i + round) % 3;

            poll_once(0, 1);
            assert_status(s[k].m.status, RCX_IN_PROGRESS);
            msg_check(&r[k], (uint64_t)k, 4096);
            poll_once(0, 1);
            assert_ok(s[k].m.status);
        }
        assert_false(rcx_shm_is_busy(channel_of(1, 0)));
        assert_int_equal(channel_of(1, 0)->answers_due, 0);
    }
    drop(&b);
    end();
}

/* The receiver waits for something that needs the sender's completion. */
static void a_sender_is_not_kept_waiting(void **state)
{
    struct test_msg s[3], r[3];
    struct block b;

    (void)state;
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        begin(&holding);
        b = expose(0, 1 << 20);
        hold(&b, s, r, 3);
        for (int i = 0; i < 1000 && !sleeps; i++)
            poll_once(1, 0);
        if (sleeps) /* the last look before it sleeps */
            assert_true(rcx_shm_progress(channel_of(1, 0), true) > 0);
        poll_once(0, 1);
        for (int i = 0; i < 3; i++) {
            assert_ok(s[i].m.status);
            assert_null(r[i].m.held);
            msg_check(&r[i], (uint64_t)i, 4096);
        }
        drop(&b);
        end();
    }
}

/* The sender may change a held message once it is cancelled. Later ones are
 * held again. */
static void a_held_message_that_is_cancelled_is_an_error(void **state)
{
    struct test_msg s, r;
    struct block b;

    (void)state;
    for (int ends_itself = 0; ends_itself < 2; ends_itself++) {
        begin(&holding);
        b = expose(0, 1 << 20);
        hold(&b, &s, &r, 1);
        give_up(&s, 0, 1);
        if (ends_itself)
            for (int i = 0; i < 1000; i++)
                poll_once(1, 0);
        else
            rcx_shm_release(&r.m);
        assert_null(r.m.held);
        assert_status(r.m.status, RCX_ERR_COMM_FAILED);
        poll_once(0, 1);
        assert_true(s.m.status != RCX_IN_PROGRESS);
        free(r.space);
        hold(&b, &s, &r, 1);
        msg_check(&r, 0, 4096);
        go_on();
        assert_ok(s.m.status);
        drop(&b);
        end();
    }
}

static void some_messages_are_held_and_others_copied(void **state)
{
    enum { N = RCX_MAPPED_HELD };
    struct test_msg s[N + 1], r[N + 1];
    struct block b;

    (void)state;
    begin(&holding);
    b = expose(0, 1 << 20);
    hold(&b, s, r, N);
    send_from(0, 1, &s[N], &b, N * 4096, N, 4096);
    lock(&b);
    msg_recv(1, 0, &r[N], N, 4096);
    assert_status(r[N].m.status, RCX_IN_PROGRESS);
    poll_once(1, 0);
    assert_ok(r[N].m.status);
    assert_null(r[N].m.held);
    r[N].is_late = false; /* its completion was not counted */
    for (int i = N; i >= 0; i--)
        msg_check(&r[i], (uint64_t)i, 4096);
    poll_once(0, 1);
    for (int i = 0; i <= N; i++)
        assert_ok(s[i].m.status);
    drop(&b);
    end();
}

/* No slot is free, and then only two, so the sender is told later. */
static void a_release_without_a_slot_is_sent_later(void **state)
{
    enum { FULL = RCX_SHM_SLOTS, ALL = 2 * FULL - 2 };
    static struct test_msg fill[ALL], recvs[ALL];
    struct test_msg s[3], r[3];
    struct block b;

    (void)state;
    begin(&holding);
    b = expose(0, 1 << 20);
    hold(&b, s, r, 3);
    for (int i = 0; i < FULL; i++)
        msg_send(1, 0, &fill[i], 9, (uint64_t)i, 8);
    for (int i = 0; i < 3; i++)
        msg_check(&r[i], (uint64_t)i, 4096);
    assert_int_equal(channel_of(1, 0)->released_count, 3);
    assert_false(rcx_shm_is_flushed(channel_of(1, 0)));
    rcx_shm_progress(channel_of(0, 1), true); /* frees all slots */
    for (int i = FULL; i < ALL; i++)
        msg_send(1, 0, &fill[i], 9, (uint64_t)i, 8);
    poll_once(1, 0);
    assert_int_equal(channel_of(1, 0)->released_count, 1);
    go_on();
    assert_int_equal(channel_of(1, 0)->released_count, 0);
    for (int i = 0; i < 3; i++)
        assert_ok(s[i].m.status);
    for (int i = 0; i < ALL; i++)
        msg_recv(0, 1, &recvs[i], 9, 8);
    go_on();
    for (int i = 0; i < ALL; i++)
        msg_check(&recvs[i], (uint64_t)i, 8);
    drop(&b);
    end();
}

static void holds_end_with_the_sender(void **state)
{
    struct test_msg s[2], r[2], late;
    struct block b;

    (void)state;
    begin(&holding);
    b = expose(0, 1 << 20);
    hold(&b, s, r, 1);
    send_from(0, 1, &s[1], &b, 4096, 8, 4096);
    rcx_shm_peer_ended(channel_of(1, 0));
    assert_null(r[0].m.held);
    msg_check(&r[0], 0, 4096);
    msg_recv(1, 0, &late, 8, 4096);
    assert_null(late.m.held);
    rcx_shm_progress(channel_of(1, 0), false);
    rcx_transport_init(&ranks[1].transport);
    assert_ok(late.m.status);
    late.is_late = false;
    msg_check(&late, 8, 4096);
    go_on();
    drop(&b);
    end();
}

/* ---- Many regions -------------------------------------------------------- */

static void any_number_of_regions_comes_and_goes(void **state)
{
    static struct block blocks[BLOCKS];
    uint64_t random = SEED;

    (void)state;
    begin(&in_parts);
    for (int i = 0; i < ROUNDS; i++) {
        struct block *b = &blocks[rcx_random(&random) % BLOCKS];
        const size_t bytes = DIRECT + rcx_random(&random) % 9000;
        struct test_msg s, r;

        if (!b->region) {
            *b = expose(0, 4096 * (3 + rcx_random(&random) % 6));
            continue;
        }
        if (rcx_random(&random) % 8 == 0) {
            withdraw(0, b);
            continue;
        }
        msg_recv(1 + i % 2, 0, &r, (uint64_t)i, bytes);
        send_from(0, 1 + i % 2, &s, b, rcx_random(&random) % (b->bytes - bytes),
                  (uint64_t)i, bytes);
        lock(b);
        go_on();
        msg_check(&r, (uint64_t)i, bytes);
        assert_ok(s.m.status);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].region)
            drop(&blocks[i]);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_read_in_place),
        cmocka_unit_test(a_message_partly_outside_of_a_region_is_sent),
        cmocka_unit_test(a_message_in_a_region_that_cannot_be_mapped_arrives),
        cmocka_unit_test(a_withdrawn_region_is_unmapped),
        cmocka_unit_test(a_notice_that_finds_no_slot_is_sent_later),
        cmocka_unit_test(a_receive_that_is_cancelled_reads_no_more),
        cmocka_unit_test(a_message_is_held_in_the_memory_of_its_sender),
        cmocka_unit_test(a_sender_is_not_kept_waiting),
        cmocka_unit_test(a_held_message_that_is_cancelled_is_an_error),
        cmocka_unit_test(some_messages_are_held_and_others_copied),
        cmocka_unit_test(a_release_without_a_slot_is_sent_later),
        cmocka_unit_test(holds_end_with_the_sender),
        cmocka_unit_test(any_number_of_regions_comes_and_goes),
    };

    return cmocka_run_group_tests_name("shm_mapped", tests, NULL, NULL);
}
