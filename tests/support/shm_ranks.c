/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages over shared-memory channels between three ranks of one process,
 * without a network. Checks contents, canaries and the number of completions. A
 * test that needs mapped regions adds them to the lane.
 */
#include "shm_ranks.h"

#include <string.h>
#include <unistd.h>

#include "core/base/random.h"
#include "test.h"
#include "transport/shm/fifo.h"
#include "transport/shm/way.h"

enum { SHIFTS = 65521 /* texts */, EDGE = 64, CANARY = 0xA5, SINK_XOR = 0x5A };

#define MODE(r, from, ...)                                                     \
    {                                                                          \
        .ring = (r), .cma_from = (from), __VA_ARGS__                           \
    }
const struct mode modes[MODES] = {
    MODE(RING, SIZE_MAX, .never_sleeps = false),
    MODE(RING, RING / 4 + 1, .never_sleeps = true),
    MODE(RING_LEAST, SIZE_MAX, .never_sleeps = true),
    MODE(RING_LEAST, 3 * RING, .never_sleeps = false),
    MODE(RING, RING / 4 + 1, .has_sinks = true),
    MODE(RING_LEAST, SIZE_MAX, .has_sinks = true),
    MODE(RING, SIZE_MAX, .eager = 1000, .has_sinks = true),
    MODE(RING, 3 * RING, .eager = RCX_SHM_SHORT),
    MODE(RING, SIZE_MAX, .may_hold = true),
    MODE(RING_LEAST, 3 * RING, .never_sleeps = true, .may_hold = true),
    MODE(RING, SIZE_MAX, .searches_ways = true, .has_sinks = true),
    MODE(RING, RING / 4, .searches_ways = true, .may_hold = true),
    MODE(2 * RING, SIZE_MAX, .eager = RING / 8, .may_hold = true)};
const struct mode in_parts = MODE(RING, SIZE_MAX, .has_sinks = false);
const struct mode in_place = MODE(RING, RING / 4 + 1, .has_sinks = false);
const struct mode sink_in_place = MODE(RING, RING / 4 + 1, .has_sinks = true);
const struct mode holding = MODE(RING, SIZE_MAX, .may_hold = true);

struct rank ranks[RANKS];
static const struct mode *mode_now;
static unsigned char noise[SHIFTS + HUGE];

/* ---- Ranks --------------------------------------------------------------- */

static bool reach(struct rcx_shm_lane *lane, int peer)
{
    struct rank *r = (struct rank *)lane;

    if (!r->is_cut_off)
        rcx_shm_channel_connect(&r->channels[peer],
                                ranks[peer].fifos[r - ranks],
                                &ranks[peer].asleep, ranks[peer].cico);
    return !r->is_cut_off;
}

static void wake(struct rcx_shm_lane *lane, int peer)
{
    const struct rank *waker = (struct rank *)lane;

    sem_post(&ranks[peer].woken);
    if (ranks[peer].is_up_again)
        look(peer, (int)(waker - ranks));
}

static void open_rank(struct rank *r, const struct mode *mode)
{
    size_t bytes;

    memset(r, 0, sizeof *r);
    r->heap = RCX_HEAP_INIT;
    r->lane = (struct rcx_shm_lane){
        .transport = &r->transport,
        .heap = &r->heap,
        .settings = {.ring = mode->ring,
                     .chunk = mode->ring,
                     .eager = mode->eager ? mode->eager : mode->ring,
                     .direct = SIZE_MAX,
                     .cma = mode->cma_from},
        .reach = reach,
        .wake = wake};
    rcx_shm_settings_limit(&r->lane.settings);
    rcx_way_open(&r->lane, mode->searches_ways, mode->eager);
    r->lane.any_end = &r->lane.any;
    r->lane.cico = (struct rcx_cico){.at = r->cico, .bytes = CICO};
    bytes = rcx_shm_fifo_bytes(&r->lane);
    rcx_transport_init(&r->transport);
    sem_init(&r->woken, 0, 0);
    for (int i = 0; i < RANKS; i++) {
        r->fifos[i] = aligned_alloc(_Alignof(struct rcx_shm_fifo), bytes);
        memset(r->fifos[i], 0, bytes);
        rcx_shm_channel_open(&r->channels[i], &r->lane, i, getpid(),
                             r->fifos[i], !mode->never_sleeps);
    }
}

void ranks_open(const struct mode *mode)
{
    uint64_t random = SEED;

    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)rcx_random(&random);
    mode_now = mode;
    for (int i = 0; i < RANKS; i++)
        open_rank(&ranks[i], mode);
}

void ranks_close(void)
{
    for (int i = 0; i < RANKS; i++) {
        struct rank *r = &ranks[i];

        assert_null(r->transport.done);
        assert_null(r->lane.any);
        for (int j = 0; j < RANKS; j++) {
            assert_false(rcx_shm_is_busy(&r->channels[j]));
            assert_true(rcx_shm_is_flushed(&r->channels[j]));
            rcx_shm_channel_close(&r->channels[j]);
            free(r->fifos[j]);
        }
        assert_int_equal(r->heap.live, 0);
        sem_destroy(&r->woken);
    }
}

/* ---- Sinks --------------------------------------------------------------- */

/* Ready for three receives out of four, by posting order and buffer length. */
static bool is_ready(struct rcx_message *m)
{
    return (rcx_shm_msg(m)->order + ((struct test_msg *)m)->bytes) % 4 != 3;
}

static void take(struct rcx_message *m, size_t at, const void *data,
                 size_t bytes)
{
    struct test_msg *l = (struct test_msg *)m;
    const unsigned char *from = data;

    require(at == l->sink_bytes && at % RCX_PART_BYTES == 0);
    require(bytes <= l->bytes - at);
    for (size_t i = 0; i < bytes; i++)
        l->space[EDGE + at + i] = from[i] ^ SINK_XOR;
    l->sink_bytes += bytes;
}

static const struct rcx_recv_sink test_sink = {.is_ready = is_ready,
                                               .take = take};

static bool is_blank(const unsigned char *at, size_t bytes)
{
    return bytes == 0 || (*at == CANARY && memcmp(at, at + 1, bytes - 1) == 0);
}

static bool is_stored(const struct test_msg *l, const unsigned char *text,
                      size_t bytes)
{
    const unsigned char *const buffer = l->space + EDGE;
    size_t i = 0;

    if (l->m.held)
        return l->sink_bytes == 0 && is_blank(buffer, l->bytes) &&
               memcmp(l->m.held, text, bytes) == 0;
    if (!l->m.is_consumed)
        return l->sink_bytes == 0 && memcmp(buffer, text, bytes) == 0;
    while (i < bytes && (buffer[i] ^ SINK_XOR) == text[i])
        i++;
    return i == bytes && l->sink_bytes == bytes;
}

/* ---- Messages ------------------------------------------------------------ */

const unsigned char *text_of(uint64_t number)
{
    return noise + number * 7919 % SHIFTS;
}

static unsigned char *make(struct test_msg *l, uint64_t number, size_t bytes)
{
    *l = (struct test_msg){.number = number, .bytes = bytes};
    l->m.status = RCX_IN_PROGRESS;
    rcx_shm_msg(&l->m)->taken = rcx_shm_msg(&l->m)->at =
        SIZE_MAX; /* stale, as after an earlier message */
    l->space = malloc(bytes + 2 * EDGE);
    memset(l->space, CANARY, bytes + 2 * EDGE);
    return l->space + EDGE;
}

void msg_check_and_free(struct test_msg *l, const unsigned char *text,
                        size_t bytes)
{
    unsigned char *const buffer = l->space + EDGE;

    require(l->completions == l->is_late);
    require(is_blank(l->space, EDGE));
    require(is_blank(buffer + l->bytes, EDGE));
    if (text) {
        require(is_stored(l, text, bytes));
        require(is_blank(buffer + bytes, l->bytes - bytes));
    }
    if (l->m.held)
        rcx_shm_release(&l->m);
    require(!l->m.held);
    memset(l->space, 0, l->bytes + 2 * EDGE);
    free(l->space);
    l->space = NULL;
}

/* After completion of a send: check its buffer, and overwrite and free it. */
static void check_if_sent(struct test_msg *l)
{
    if (!l->is_send || !l->space)
        return;
    require_ok(l->m.status);
    msg_check_and_free(l, text_of(l->number), l->bytes);
}

static void posted(struct test_msg *l, rcx_status_t status)
{
    l->is_late = status == RCX_IN_PROGRESS;
    if (l->is_late)
        return;
    l->m.status = status;
    check_if_sent(l);
}

void msg_send(int self, int peer, struct test_msg *l, uint64_t tag,
              uint64_t number, size_t bytes)
{
    unsigned char *const buffer = make(l, number, bytes);
    struct rcx_shm_channel *pair = channel_of(self, peer);

    l->is_send = true;
    memcpy(buffer, text_of(number), bytes);
    posted(l, rcx_shm_send_tiny(pair, buffer, bytes, tag)
                  ? RCX_OK
                  : rcx_shm_send(pair, buffer, bytes, tag, &l->m));
}

/* Post a receive from any source, as a transport does: match unexpected
 * messages of each channel, then append to the list. */
static rcx_status_t recv_any(struct rank *r, struct rcx_message *m)
{
    rcx_shm_msg(m)->channel = NULL;
    rcx_shm_msg(m)->order = r->lane.posts++;
    rcx_shm_msg(m)->tells_tag = true;
    for (int i = 0; i < RANKS; i++) {
        const rcx_status_t status = rcx_shm_match(&r->channels[i], m);

        if (status != RCX_ERR_ARG)
            return status;
    }
    m->next = NULL;
    *r->lane.any_end = m;
    r->lane.any_end = &m->next;
    return RCX_IN_PROGRESS;
}

void msg_recv_masked(int self, int peer, struct test_msg *l, uint64_t tag,
                     uint64_t mask, size_t room)
{
    void *const buffer = make(l, 0, room);

    rcx_message_set_match(&l->m, buffer, room, tag, mask);
    rcx_shm_msg(&l->m)->tells_tag = true;
    l->m.sink = mode_now->has_sinks ? &test_sink : NULL;
    l->m.may_hold = mode_now->may_hold && room % 4 != 3;
    posted(l, peer == ANY ? recv_any(&ranks[self], &l->m)
                          : rcx_shm_recv(channel_of(self, peer), &l->m));
}

void msg_recv(int self, int peer, struct test_msg *l, uint64_t tag, size_t room)
{
    msg_recv_masked(self, peer, l, tag, UINT64_MAX, room);
}

bool msg_expect(int self, int peer, struct test_msg *l, unsigned *polls)
{
    const rcx_status_t status =
        rcx_shm_expect(channel_of(self, peer), &l->m, polls);

    if (status == RCX_IN_PROGRESS)
        return false;
    l->m.status = status;
    l->is_late = false; /* no later completion is expected */
    return true;
}

void msg_check(struct test_msg *l, uint64_t number, size_t bytes)
{
    const bool fits = bytes <= l->bytes;

    require_status(l->m.status, fits ? RCX_OK : RCX_ERR_MISMATCH);
    require(l->m.bytes == bytes);
    msg_check_and_free(l, fits ? text_of(number) : NULL, bytes);
}

/* ---- Progress ------------------------------------------------------------ */

unsigned look(int self, int peer)
{
    struct rank *r = &ranks[self];
    struct rcx_message **const end = r->transport.done_end;
    const unsigned events = rcx_shm_progress(&r->channels[peer], true);
    struct rcx_message *m = r->transport.done;

    require(events > 0 || r->transport.done_end == end);
    rcx_transport_init(&r->transport);
    while (m) {
        struct test_msg *l = (struct test_msg *)m;

        m = m->next;
        l->completions++;
        check_if_sent(l);
    }
    return events;
}

void go_on(void)
{
    for (int idle = 0; idle < 2; idle++)
        for (int i = 0; i < RANKS * RANKS; i++)
            if (look(i / RANKS, i % RANKS) > 0)
                idle = -1;
}

void exchange(int self, int peer, size_t bytes)
{
    struct test_msg s, r;

    msg_recv(peer, self, &r, 77, bytes);
    msg_send(self, peer, &s, 77, bytes + 1, bytes);
    go_on();
    msg_check(&r, bytes + 1, bytes);
    require_ok(s.m.status);
}
