/* SPDX-License-Identifier: BSD-3-Clause */
/* Random messages over shared-memory channels between two ranks: on one thread,
 * and on two threads that sleep whenever there is nothing to do. No wake-up may
 * be lost. */
#include "test.h"

#include <pthread.h>

#include "../times.h"
#include "core/base/random.h"
#include "shm_ranks.h"

enum {
    FLOWS = 3,
    WINDOW = 40,
    MESSAGES = TIMES(100000, 20000),
    ROUNDS = TIMES(30000, 5000),
    DELAYS = 300
};

/* The sends and receives of a rank; one flow for each tag. */
struct endpoint {
    int self, peer, most; /* number of messages of a flow */
    bool uses_any;        /* the last flow receives from any source */
    uint64_t random;
    struct flow {
        struct test_msg sends[WINDOW], recvs[WINDOW];
        int started, sent, posted, received;
    } flows[FLOWS];
};

static size_t any_size(uint64_t number)
{
    uint64_t random = number;
    const uint64_t kind = rcx_random(&random) % 100, x = rcx_random(&random);

    if (kind < 50)
        return x % 50;
    if (kind < 90)
        return x % (UINT64_C(1) << (6 + kind % 8));
    return kind < 98 ? x % (RING / 4 + 2) : x % (3 * RING);
}

static uint64_t number_of(int from, int flow, int i)
{
    return (uint64_t)((i * FLOWS + flow) * RANKS + from);
}

/* At first one message is in flight per flow, so that both ranks often idle. */
static int window_of(const struct endpoint *k, const struct flow *f)
{
    return f->received < k->most / 4 ? 1 : WINDOW;
}

static bool send_some(struct endpoint *k, struct flow *f)
{
    const int tag = (int)(f - k->flows);
    const uint64_t number = number_of(k->self, tag, f->started);

    while (f->sent < f->started && !f->sends[f->sent % WINDOW].space)
        f->sent++;
    if (f->started == k->most || f->started - f->sent == window_of(k, f))
        return false;
    if (rcx_random(&k->random) % 2)
        msg_send(k->self, k->peer, &f->sends[f->started++ % WINDOW],
                 (uint64_t)tag, number, any_size(number));
    return true;
}

static bool receive_some(struct endpoint *k, struct flow *f)
{
    const int tag = (int)(f - k->flows);
    const uint64_t random = rcx_random(&k->random);
    const uint64_t number = number_of(k->peer, tag, f->received);
    const uint64_t next = number_of(k->peer, tag, f->posted);
    struct test_msg *l = &f->recvs[f->received % WINDOW];

    if (f->received < f->posted && l->m.status != RCX_IN_PROGRESS) {
        msg_check(l, number, any_size(number));
        f->received++;
        return true;
    }
    if (f->posted == k->most || f->posted - f->received == window_of(k, f))
        return false;
    if (random % 2)
        msg_recv(k->self, k->uses_any && tag == FLOWS - 1 ? ANY : k->peer,
                 &f->recvs[f->posted++ % WINDOW], (uint64_t)tag,
                 any_size(next) + random % 3 * 8);
    return true;
}

static bool is_over(const struct endpoint *k)
{
    bool over = true;

    for (const struct flow *f = k->flows; f < k->flows + FLOWS; f++)
        over = over && f->sent == k->most && f->received == k->most;
    return over;
}

/* Returns false if there was nothing to do. */
static bool exchange_some(struct endpoint *k)
{
    bool is_busy = false;

    for (struct flow *f = k->flows; f < k->flows + FLOWS; f++) {
        is_busy = send_some(k, f) || is_busy;
        is_busy = receive_some(k, f) || is_busy;
    }
    if (rcx_random(&k->random) % 4 == 0 || !is_busy)
        is_busy = look(k->self, k->peer) > 0 || is_busy;
    return is_busy;
}

static struct endpoint endpoints[2];

static void open_endpoints(const struct mode *mode, int messages, bool uses_any)
{
    ranks_open(mode);
    for (int i = 0; i < 2; i++)
        endpoints[i] = (struct endpoint){.self = i,
                                         .peer = 1 - i,
                                         .most = messages / FLOWS / 2 + 1,
                                         .uses_any = uses_any,
                                         .random = (uint64_t)(SEED + i)};
}

static void random_messages_go_both_ways(void **state)
{
    uint64_t random = SEED;

    (void)state;
    for (size_t mode = 0; mode < MODES; mode++) {
        open_endpoints(&modes[mode], MESSAGES / MODES, mode % 2);
        while (!is_over(&endpoints[0]) || !is_over(&endpoints[1]))
            exchange_some(&endpoints[rcx_random(&random) % 2]);
        go_on();
        ranks_close();
    }
}

/* ---- Threads ------------------------------------------------------------- */

/* Sleep as a transport does: announce it, and poll once more. */
static void sleep_until_woken(int self, int peer)
{
    struct rank *r = &ranks[self];

    atomic_store(&r->asleep, 1);
    if (look(self, peer) == 0)
        while (sem_wait(&r->woken) != 0)
            ;
    atomic_store(&r->asleep, 0);
}

static void run_two(void *(*fn)(void *arg))
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        assert_int_equal(0,
                         pthread_create(&threads[i], NULL, fn, &endpoints[i]));
    for (int i = 0; i < 2; i++)
        assert_int_equal(0, pthread_join(threads[i], NULL));
}

static void *exchange_all(void *arg)
{
    struct endpoint *k = arg;

    while (!is_over(k))
        if (!exchange_some(k) && !is_over(k))
            sleep_until_woken(k->self, k->peer);
    return NULL;
}

static void threads_that_sleep_get_all_messages(void **state)
{
    (void)state;
    for (size_t mode = 0; mode < MODES; mode++) {
        struct mode sleepy = modes[mode];

        sleepy.never_sleeps = false;
        open_endpoints(&sleepy, MESSAGES / 10, mode % 2);
        run_two(exchange_all);
        go_on();
        ranks_close();
    }
}

/* Wait for l, and fall asleep after a random number of polls, most often about
 * when the message arrives. */
static void wait_for(struct endpoint *k, const struct test_msg *l)
{
    uint64_t polls_left = rcx_random(&k->random) % DELAYS;

    while (l->m.status == RCX_IN_PROGRESS)
        if (look(k->self, k->peer) == 0 && polls_left-- == 0) {
            sleep_until_woken(k->self, k->peer);
            polls_left = DELAYS;
        }
}

static void *play(void *arg)
{
    struct endpoint *k = arg;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct test_msg in, out;
        volatile unsigned left = rcx_random(&k->random) % DELAYS;

        msg_recv(k->self, k->peer, &in, i, 8);
        if (k->self == 1)
            wait_for(k, &in);
        while (left > 0)
            left--;
        msg_send(k->self, k->peer, &out, i, i, 8);
        wait_for(k, &in);
        msg_check(&in, i, 8);
        require_ok(out.m.status);
    }
    return NULL;
}

/* One message is in flight at a time, so no later one hides a lost wake-up. */
static void a_single_message_wakes_a_rank_that_falls_asleep(void **state)
{
    (void)state;
    open_endpoints(&in_parts, 0, false);
    run_two(play);
    go_on();
    ranks_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_messages_go_both_ways),
        cmocka_unit_test(threads_that_sleep_get_all_messages),
        cmocka_unit_test(a_single_message_wakes_a_rank_that_falls_asleep),
    };

    return cmocka_run_group_tests_name("shm_model", tests, NULL, NULL);
}
