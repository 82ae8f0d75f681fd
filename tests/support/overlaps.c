/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's part of a test with 64 overlapping communicators: make them, run
 * rounds of concurrent collectives on all of them, check the results, free
 * them. Each rank calls overlaps_use() on its own thread or in its own process.
 */
#include "overlaps.h"

#include "members.h"
#include "test.h"

enum { OVERLAPPING = 64, OPS = 4, ALL = OVERLAPPING * OPS, ROUNDS = 2 };

static const struct kind sum = {.type = RCX_UINT64, .op = RCX_SUM};

struct overlap {
    rcx_comm_t *comm; /* NULL: this rank is not a member */
    int ranks[MEMBERS_MOST], n;
    struct attempt attempts[OPS];
    int started;
};

/* ---- Making communicators ------------------------------------------------ */

/* Make a group of some of the ranks, in random order. */
static void make_group(struct overlap *o, rcx_comm_t *world, int tag,
                       uint64_t *random)
{
    const int rank = rcx_comm_rank(world);

    o->n = members_draw(random, rcx_comm_size(world)) + 1;
    for (int k = 0; k < o->n; k++)
        if (o->ranks[k] == rank)
            require_ok(
                rcx_comm_create_group(world, o->n, o->ranks, tag, &o->comm));
}

/* Split world into two parts, each in random order. Some ranks are in
 * neither. */
static void make_split(struct overlap *o, rcx_comm_t *world, uint64_t *random)
{
    const int rank = rcx_comm_rank(world), size = rcx_comm_size(world);
    int colors[MEMBERS_MOST] = {0}, key = 0;

    for (int i = 0; i < size; i++)
        colors[i] = members_draw(random, 3) + RCX_UNDEFINED;
    for (int i = 0; i < size; i++) {
        if (o->ranks[i] == rank)
            key = i;
        if (colors[o->ranks[i]] == colors[rank])
            o->ranks[o->n++] = o->ranks[i];
    }
    require_ok(rcx_comm_split(world, colors[rank], key, &o->comm));
    require((o->comm == NULL) == (colors[rank] == RCX_UNDEFINED));
}

static void make_all(struct overlap overlaps[], rcx_comm_t *world,
                     uint64_t seed)
{
    uint64_t random = seed; /* the same on all ranks */

    for (int i = 0; i < OVERLAPPING; i++) {
        struct overlap *o = &overlaps[i];

        members_shuffle(&random, o->ranks, rcx_comm_size(world));
        if (i % 2)
            make_split(o, world, &random);
        else
            make_group(o, world, i, &random);
    }
}

/* ---- Using communicators ------------------------------------------------- */

static bool is_persistent(int k)
{
    return k % 2 == 1;
}

/* Draw a count; most are short, so that many operations are in flight. */
static size_t draw_count(uint64_t random, size_t most)
{
    const size_t counts[] = {0, 1, most / 256, most / 16, most};

    return random % 16 == 0 ? most : counts[random % 4];
}

static void open_attempt(struct overlap *o, int k, size_t most, uint64_t seed)
{
    struct call call =
        call_mixed(&sum, draw_count(seed, most), o->n, seed >> 8);

    call.form = is_persistent(k) ? PERSISTENT : NONBLOCKING;
    attempt_open(&o->attempts[k], &call, o->comm);
}

/* Create the persistent requests. This may communicate, so all ranks follow one
 * order. */
static void prepare_persistent(struct overlap overlaps[], size_t most,
                               uint64_t seed)
{
    for (int i = 0; i < OVERLAPPING; i++)
        for (int k = 0; k < OPS && overlaps[i].comm; k++) {
            struct overlap *o = &overlaps[i];

            if (!is_persistent(k))
                continue;
            open_attempt(o, k, most,
                         serial_mix((uint64_t)i, (uint64_t)k, seed));
            require_ok(attempt_call(&o->attempts[k], o->comm));
        }
}

static void start_next(struct overlap *o, size_t most, uint64_t seed)
{
    const int k = o->started++;

    if (is_persistent(k)) {
        attempt_load(&o->attempts[k], seed);
        require_ok(rcx_start(o->attempts[k].request));
    } else {
        open_attempt(o, k, most, seed);
        require_ok(attempt_call(&o->attempts[k], o->comm));
    }
}

static void finish_one(struct overlap *o, int k)
{
    struct attempt *a = &o->attempts[k];

    if (!is_persistent(k)) {
        members_finish(a);
        return;
    }
    require_ok(rcx_wait(a->request));
    if (attempt_check(a))
        require_failed(__FILE__, __LINE__, "attempt_check", a->problem);
}

/* Start all operations, then wait for them. The order on each communicator is
 * the same on all ranks; the order of communicators differs. */
static void run_round(struct overlap overlaps[], size_t most, uint64_t round,
                      uint64_t *random)
{
    int order[ALL];

    members_shuffle(random, order, ALL);
    for (int i = 0; i < ALL; i++) {
        const int which = order[i] % OVERLAPPING;
        struct overlap *o = &overlaps[which];

        if (o->comm)
            start_next(
                o, most,
                serial_mix((uint64_t)which, (uint64_t)o->started, round));
    }
    members_shuffle(random, order, ALL);
    for (int i = 0; i < ALL; i++)
        if (overlaps[order[i] % OVERLAPPING].comm)
            finish_one(&overlaps[order[i] % OVERLAPPING],
                       order[i] / OVERLAPPING);
    for (int i = 0; i < OVERLAPPING; i++)
        overlaps[i].started = 0;
}

/* Check and free all communicators. members_check() blocks, so all ranks follow
 * one order. */
static void close_all(struct overlap overlaps[], int rank)
{
    for (int i = 0; i < OVERLAPPING; i++) {
        struct overlap *o = &overlaps[i];

        for (int k = 0; k < OPS && o->comm; k++)
            if (is_persistent(k))
                attempt_close(&o->attempts[k]);
        if (!o->comm)
            continue;
        members_check(o->comm, rank, o->ranks, o->n);
        require_ok(rcx_comm_free(&o->comm));
    }
}

void overlaps_use(rcx_comm_t *world, uint64_t seed, size_t most)
{
    const int rank = rcx_comm_rank(world);
    struct overlap *overlaps = calloc(OVERLAPPING, sizeof *overlaps);
    uint64_t random = serial_mix(seed, (uint64_t)rank, 9);

    require(overlaps);
    make_all(overlaps, world, seed);
    prepare_persistent(overlaps, most, seed);
    for (uint64_t round = 0; round < ROUNDS; round++)
        run_round(overlaps, most, serial_mix(seed, round, 1), &random);
    close_all(overlaps, rank);
    free(overlaps);
}
