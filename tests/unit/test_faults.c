/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A campaign of faults over the simulated network: in each trial a few
 * operations by some algorithm on some ranks, messages around a ring, and one
 * thing that goes wrong at some moment. Every rank that lives ends each operation with the right result
 * or with an error; nobody hangs; where nothing went wrong nobody has an error.
 *
 * test_faults [TRIALS [FIRST]]
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "collectives.h"
#include "context.h"
#include "core/base/random.h"
#include "core/run/failure.h"

enum { MOST_RANKS = 9, MOST_COUNT = 60, PATIENCE = 60, QUIET = 4 };
enum { OPS = 3, SENDS = OPS, RECEIVES, ALL };
#define DEADLINE_NS INT64_C(1000000000)

enum fault {
    FAULT_NONE,
    FAULT_SLOW,      /* a rank's messages */
    FAULT_STOP,      /* a rank runs no more */
    FAULT_ABSENT,    /* a rank never calls */
    FAULT_TRANSPORT, /* an error of a rank's transport */
    FAULT_MEMORY,    /* a rank's heap runs out */
    FAULT_ABORT,     /* a rank gives the communicator up */
    FAULT_MISMATCH,  /* a rank calls with another count */
    FAULTS
};

struct trial {
    uint64_t random;
    struct job job;
    enum fault fault;
    int victim;
    uint64_t moment; /* in turns, or messages, or allocations */
    uint64_t turns;
    bool stopped;
    enum rcx_coll coll;
    size_t count; /* of the vector */
    int root;
    int64_t in[MOST_RANKS][MOST_COUNT];
    int64_t out[MOST_RANKS][OPS][MOST_COUNT];
    int64_t got[MOST_RANKS]; /* from the rank before */
    rcx_request_t *requests[MOST_RANKS][ALL];
    rcx_status_t refused[MOST_RANKS]; /* at the start of an operation */
};

static unsigned trials = 10000, first_trial;

static uint64_t draw(struct trial *t)
{
    return rcx_random(&t->random);
}

static void ignore(rcx_log_level_t level, const char *text, void *arg)
{
    (void)level, (void)text, (void)arg;
}

/* ---- Setting up ------------------------------------------------------------ */

/* Those whose results is_right() knows. */
static bool is_tried(const struct rcx_algo *algo)
{
    return rcx_colls[algo->coll].reduces && !rcx_colls[algo->coll].is_prefix;
}

static const struct rcx_algo *any_algorithm(struct trial *t)
{
    int n = 0;

    while (rcx_algo_table[n])
        n++;
    for (;;) {
        const struct rcx_algo *algo = rcx_algo_table[draw(t) % (uint64_t)n];

        if (is_tried(algo))
            return algo;
    }
}

static void open_trial(struct trial *t, unsigned number)
{
    struct job_options options = {.seed = number};
    const struct rcx_algo *algo;
    int size;

    memset(t, 0, sizeof *t);
    t->random = number;
    size = 2 + (int)(draw(t) % (MOST_RANKS - 1));
    assert_ok(job_open(&t->job, size, &options));
    t->fault = (enum fault)(draw(t) % FAULTS);
    t->victim = (int)(draw(t) % (uint64_t)size);
    t->moment = draw(t) % 40;
    t->count = (size_t)size * (1 + draw(t) % (MOST_COUNT / MOST_RANKS));
    t->root = (int)(draw(t) % (uint64_t)size);
    algo = any_algorithm(t);
    t->coll = algo->coll;
    job_force(&t->job, algo, draw(t) % 2 ? SIZE_MAX : 8 * (size_t)size);
    for (int r = 0; r < size; r++) {
        t->job.contexts[r]->log.fn = ignore;
        t->job.contexts[r]->config.check = t->fault == FAULT_MISMATCH
                                               ? RCX_CHECK_FULL
                                               : (enum rcx_check)(number % 3);
        assert_ok(
            rcx_comm_set_timeout(rcx_world(t->job.contexts[r]), DEADLINE_NS));
        for (size_t i = 0; i < t->count; i++)
            t->in[r][i] = (int64_t)((uint64_t)(r + 1) * 1000 + i);
    }
    if (t->fault == FAULT_SLOW || t->fault == FAULT_TRANSPORT) {
        const struct rcx_sim_fault fault = {.rank = t->victim,
                                            .fails =
                                                t->fault == FAULT_TRANSPORT,
                                            .after = t->moment,
                                            .delays = 1000};

        rcx_sim_set_fault(t->job.sim, &fault);
    }
}

static rcx_status_t start_one(struct trial *t, int r, int op, size_t count)
{
    size_t blocks[MOST_RANKS];
    const struct arguments a = {.sendbuf = t->in[r],
                                .recvbuf = t->out[r][op],
                                .count = count,
                                .blocks = blocks,
                                .type = RCX_INT64,
                                .op = RCX_SUM,
                                .root = t->root,
                                .comm = world_of(&t->job, r)};

    for (int i = 0; i < t->job.size; i++)
        blocks[i] = count / (size_t)t->job.size;
    return collective_call(collective_by_name(rcx_coll_name(t->coll)),
                           NONBLOCKING, &a, &t->requests[r][op]);
}

static rcx_status_t start_messages(struct trial *t, int r)
{
    const int n = t->job.size, before = (r + n - 1) % n;
    rcx_comm_t *comm = world_of(&t->job, r);
    rcx_status_t status = rcx_isend(&t->in[r][0], 1, RCX_INT64, (r + 1) % n, 7,
                                    comm, &t->requests[r][SENDS]);

    if (status != RCX_OK)
        return status;
    return rcx_irecv(&t->got[r], 1, RCX_INT64, r % 2 ? before : RCX_ANY_SOURCE,
                     7, comm, &t->requests[r][RECEIVES]);
}

static void start_rank(struct trial *t, int r)
{
    const bool is_victim = r == t->victim;
    const size_t odd = (size_t)t->job.size;

    if (is_victim && t->fault == FAULT_ABSENT)
        return;
    if (is_victim && t->fault == FAULT_MEMORY)
        t->job.contexts[r]->heap.budget = t->moment;
    for (int op = 0; op < OPS && t->refused[r] == RCX_OK; op++) {
        const bool differs = is_victim && t->fault == FAULT_MISMATCH && op == 1;

        t->refused[r] =
            start_one(t, r, op, differs ? t->count - odd : t->count);
    }
    if (t->refused[r] == RCX_OK)
        t->refused[r] = start_messages(t, r);
}

/* ---- Running ----------------------------------------------------------------- */

static bool runs(const struct trial *t, int r)
{
    return r != t->victim || !t->stopped;
}

static void strike(struct trial *t)
{
    if (t->turns++ != t->moment)
        return;
    t->stopped = t->fault == FAULT_STOP;
    if (t->fault == FAULT_ABORT)
        assert_ok(rcx_comm_abort(rcx_world(t->job.contexts[t->victim])));
}

static int active(const struct trial *t)
{
    int n = 0;

    for (int r = 0; r < t->job.size; r++)
        for (int op = 0; op < ALL && runs(t, r); op++)
            n += t->requests[r][op] &&
                 t->requests[r][op]->state == RCX_REQUEST_ACTIVE;
    return n;
}

/* Whether anything happened. */
static bool turn(struct trial *t)
{
    bool busy = false;

    for (int r = 0; r < t->job.size; r++) {
        strike(t);
        if (runs(t, r))
            busy |= rcx_progress(t->job.contexts[r]) > 0;
    }
    return busy;
}

/* Where nothing happens any more time passes. False: nothing will. */
static bool run(struct trial *t)
{
    int skips = 0, quiet = 0;

    while (active(t) > 0) {
        quiet = turn(t) ? 0 : quiet + 1;
        if (quiet < QUIET)
            continue;
        quiet = 0;
        if (++skips > PATIENCE)
            return false;
        for (int r = 0; r < t->job.size; r++) {
            t->job.contexts[r]->time.skipped_ns += DEADLINE_NS / 5;
            rcx_watch(t->job.contexts[r]);
        }
    }
    return true;
}

/* ---- Judging ------------------------------------------------------------------- */

static bool is_right(const struct trial *t, int r, int op)
{
    const size_t n = (size_t)t->job.size, block = t->count / n;
    const bool has_blocks = rcx_coll_has_blocks(t->coll);
    const size_t first = has_blocks ? (size_t)r * block : 0;
    size_t count = has_blocks ? block : t->count;

    if (op == RECEIVES)
        return t->got[r] == t->in[(r + t->job.size - 1) % t->job.size][0];
    if (op == SENDS)
        return true;
    if (!rcx_coll_gets(t->coll, r, t->root))
        count = 0;
    for (size_t i = 0; i < count; i++)
        if (t->out[r][op][i] !=
            (int64_t)(n * (n + 1) / 2 * 1000 + n * (first + i)))
            return false;
    return true;
}

static const char *verdict(const struct trial *t)
{
    const bool harmless = t->fault == FAULT_NONE || t->fault == FAULT_SLOW;

    for (int r = 0; r < t->job.size; r++) {
        if (harmless && t->refused[r] != RCX_OK)
            return "a call is refused though nothing is wrong";
        for (int op = 0; op < ALL && runs(t, r); op++) {
            const rcx_request_t *request = t->requests[r][op];

            if (!request)
                continue;
            if (request->status == RCX_OK && !is_right(t, r, op) &&
                !(t->fault == FAULT_MISMATCH && r == t->victim && op == 1))
                return "a wrong result is reported as good";
            if (harmless && request->status != RCX_OK)
                return "an error though nothing went wrong";
        }
    }
    return NULL;
}

/* Plans of calls have as many pins as they have executions that were given up. */
static void check_pins(const struct rcx_context *context)
{
    const struct rcx_program *e = context->world->cache.recent;
    uint64_t pins = 0, given_up = 0;

    for (; e; e = e->older)
        pins += e->pins;
    for (const struct rcx_exec *x = context->abandoned.first; x; x = x->next)
        given_up += !rcx_piece_of(x)->program->is_p2p;
    assert_int_equal(pins, given_up);
}

/* What stopped goes on, to end; nobody says good-bye to the others. No message
 * comes into a user's buffer any more. */
static void close_trial(struct trial *t)
{
    for (int r = 0; r < t->job.size; r++) {
        t->job.contexts[r]->heap.budget = UINT64_MAX;
        assert_ok(rcx_comm_abort(rcx_world(t->job.contexts[r])));
        assert_int_equal(t->job.contexts[r]->abandoned.receives, 0);
        for (int op = 0; op < ALL; op++)
            if (t->requests[r][op])
                assert_ok(rcx_request_free(&t->requests[r][op]));
        check_pins(t->job.contexts[r]);
    }
    job_abandon(&t->job);
}

static void every_rank_that_lives_has_a_result_or_an_error(void **state)
{
    static struct trial t;
    unsigned by_fault[FAULTS] = {0};

    (void)state;
    for (unsigned i = first_trial; i < first_trial + trials; i++) {
        const char *wrong = NULL;

        open_trial(&t, i);
        for (int r = 0; r < t.job.size; r++)
            start_rank(&t, r);
        if (!run(&t))
            wrong = "somebody hangs";
        else
            wrong = verdict(&t);
        if (wrong)
            fail_msg("trial %u (fault %d of rank %d of %d, moment %llu): %s", i,
                     t.fault, t.victim, t.job.size,
                     (unsigned long long)t.moment, wrong);
        by_fault[t.fault]++;
        close_trial(&t);
    }
    for (int f = 0; f < FAULTS; f++)
        assert_true(trials < 1000 || by_fault[f] > 0);
}

/* ---- One message --------------------------------------------------------------- */

static bool was_hit(const struct trial *t)
{
    for (int op = 0; op < ALL; op++)
        if (t->refused[t->victim] != RCX_OK ||
            t->requests[t->victim][op]->status != RCX_OK)
            return true;
    return false;
}

/* The victim's message number after is an error. Nobody has a deadline. False:
 * it gives no such message. */
static bool lose_a_message(struct trial *t, const struct rcx_algo *algo,
                           int victim, uint64_t after)
{
    const struct rcx_sim_fault fault = {
        .rank = victim, .fails = true, .after = after};
    bool hit;

    memset(t, 0, sizeof *t);
    t->victim = victim;
    assert_ok(job_open(&t->job, 5, &(struct job_options){.seed = after}));
    t->coll = algo->coll;
    t->count = 30;
    job_force(&t->job, algo, SIZE_MAX);
    rcx_sim_set_fault(t->job.sim, &fault);
    for (int r = 0; r < t->job.size; r++)
        t->job.contexts[r]->log.fn = ignore;
    for (int r = 0; r < t->job.size; r++)
        start_rank(t, r);
    if (!run(t))
        fail_msg("%s %s: somebody hangs after message %llu of rank %d",
                 rcx_coll_name(algo->coll), algo->name,
                 (unsigned long long)after, t->victim);
    turn(t); /* who was done already hears of it as well */
    hit = was_hit(t);
    for (int r = 0; r < t->job.size && hit; r++)
        if (world_of(&t->job, r)->failed == RCX_OK)
            fail_msg("%s %s: rank %d knows nothing of message %llu of rank %d",
                     rcx_coll_name(algo->coll), algo->name, r,
                     (unsigned long long)after, t->victim);
    close_trial(t);
    return hit;
}

static void
a_message_that_is_lost_fails_all_ranks_without_a_deadline(void **state)
{
    static struct trial t;

    (void)state;
    for (int i = 0; rcx_algo_table[i]; i++) {
        const struct rcx_algo *algo = rcx_algo_table[i];
        uint64_t after = 0;

        if (!is_tried(algo))
            continue;
        while (lose_a_message(&t, algo, i % 5, after))
            after++;
        assert_true(after >= OPS); /* the first one of each call at least */
    }
}

/* ---- One call that does not match ------------------------------------------- */

/*
 * Without RCX_CHECK=full nobody compares calls: ranks that count the segments
 * of one differently give other sequence numbers to those of the next. Here the
 * first call of a rank that only sends is shorter, so each of its later
 * segments has the number of another one at the root, where it must not end up.
 */
static void come_apart(struct trial *t, const struct rcx_algo *algo, int size,
                       int odd)
{
    const size_t segments = 3; /* as many as may be in flight */
    const char *wrong;

    memset(t, 0, sizeof *t);
    t->coll = RCX_COLL_REDUCE;
    t->fault = FAULT_MISMATCH;
    t->victim = odd;
    t->count = segments;
    assert_ok(job_open(&t->job, size, &(struct job_options){.seed = 1}));
    job_force(&t->job, algo, sizeof t->in[0][0]);
    for (int r = 0; r < size; r++) {
        t->job.contexts[r]->log.fn = ignore;
        assert_ok(rcx_comm_set_timeout(world_of(&t->job, r), DEADLINE_NS));
        for (size_t i = 0; i < t->count; i++)
            t->in[r][i] = (int64_t)((uint64_t)(r + 1) * 1000 + i);
        for (int op = 0; op < OPS; op++)
            assert_ok(start_one(t, r, op, segments - (r == odd && op == 0)));
    }
    wrong = run(t) ? verdict(t) : "somebody hangs";
    if (wrong)
        fail_msg("%s: rank %d of %d calls less: %s", algo->name, odd, size,
                 wrong);
    assert_status(t->requests[0][0]->status, RCX_ERR_MISMATCH);
    close_trial(t);
}

static void after_a_call_that_does_not_match_no_result_is_wrong(void **state)
{
    static struct trial t;

    (void)state;
    for (int i = 0; rcx_algo_table[i]; i++)
        for (int size = 2; size <= 5; size++)
            for (int odd = 1; odd < size; odd++)
                if (rcx_algo_table[i]->coll == RCX_COLL_REDUCE)
                    come_apart(&t, rcx_algo_table[i], size, odd);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_message_that_is_lost_fails_all_ranks_without_a_deadline),
        cmocka_unit_test(after_a_call_that_does_not_match_no_result_is_wrong),
        cmocka_unit_test(every_rank_that_lives_has_a_result_or_an_error),
    };

    if (argc > 1)
        trials = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        first_trial = (unsigned)strtoul(argv[2], NULL, 10);
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
