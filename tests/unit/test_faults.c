/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A campaign of random faults over the simulated network. Each trial runs a few
 * operations of one algorithm, and messages around a ring, with one fault at a
 * random moment. Every live rank must complete each operation with the right
 * result or an error. No rank may hang, and without a fault no rank may return
 * an error.
 *
 *   test_faults [TRIALS [FIRST]]
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "attempt.h"
#include "context.h"
#include "core/base/random.h"
#include "core/run/fault/failure.h"
#include "core/sched/params.h"

enum { MOST_RANKS = 9, MOST_COUNT = 60, MOST_SKIPS = 60, QUIET = 4 };
enum { OPS = 3, SENDS = OPS, RECEIVES, ALL };
#define DEADLINE_NS INT64_C(1000000000)

enum fault {
    FAULT_NONE,
    FAULT_SLOW,      /* a rank's messages are delayed */
    FAULT_STOP,      /* a rank makes no progress any more */
    FAULT_ABSENT,    /* a rank never makes its calls */
    FAULT_TRANSPORT, /* a rank's transport returns an error */
    FAULT_MEMORY,    /* a rank's heap runs out */
    FAULT_ABORT,     /* a rank aborts the communicator */
    FAULT_MISMATCH,  /* a rank passes a shorter count */
    FAULTS
};

struct trial {
    uint64_t random;
    struct job job;
    enum fault fault;
    int victim;
    uint64_t moment; /* in turns, messages or allocations */
    uint64_t turns;
    bool stopped;
    struct call call;
    int odd_op; /* operation in which counts mismatch */
    struct attempt attempts[MOST_RANKS][OPS];
    int64_t given[MOST_RANKS], got[MOST_RANKS]; /* messages to the next rank */
    rcx_request_t *messages[MOST_RANKS][ALL - OPS];
    rcx_status_t refused[MOST_RANKS]; /* status of a call that failed at once */
};

static unsigned trials = 10000, first_trial;

static uint64_t draw(struct trial *t)
{
    return rcx_random(&t->random);
}

/* ---- Setup --------------------------------------------------------------- */

static bool suits(const struct rcx_algo *algo, int size)
{
    struct rcx_shape s = {.coll = algo->coll,
                          .size = size,
                          .count = (size_t)size,
                          .elem_bytes = sizeof(int64_t),
                          .commutative = true};

    if (algo->is_by_nodes)
        return size > 2;
    rcx_params_reset(algo, s.params);
    rcx_params_settle(algo, &s);
    return rcx_algo_fits(algo, &s);
}

static const struct rcx_algo *any_algorithm(struct trial *t)
{
    int n = 0;

    while (rcx_algo_table[n])
        n++;
    for (;;) {
        const struct rcx_algo *algo = rcx_algo_table[draw(t) % (uint64_t)n];

        if (suits(algo, t->job.size))
            return algo;
    }
}

/* Whether coll is a form of the library's collective other: itself, with
 * counts, with equal blocks, or with a list of vectors. */
static bool is_form_of(enum collective coll, enum rcx_coll other)
{
    static const char *const ends[] = {"", "v", "_block", "_many"};
    const char *base = rcx_coll_name(other);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[64];

        snprintf(name, sizeof name, "%s%s", base, ends[i]);
        if (strcmp(collectives[coll].name, name) == 0 &&
            (i == 0 || rcx_coll_by_name(name) == RCX_COLL_COUNT))
            return true;
    }
    return false;
}

static enum collective any_form_of(struct trial *t, enum rcx_coll coll)
{
    for (;;) {
        const enum collective form = (enum collective)(draw(t) % COLLECTIVES);

        if (is_form_of(form, coll))
            return form;
    }
}

static void draw_call(struct trial *t, const struct rcx_algo *algo)
{
    const enum collective coll = any_form_of(t, algo->coll);
    const size_t blocks = 1 + draw(t) % (MOST_COUNT / MOST_RANKS);
    const size_t size = (size_t)t->job.size;

    t->call = (struct call){
        .coll = coll,
        .form = NONBLOCKING,
        .place = (enum place)(draw(t) % (PLACES + 1)),
        .kind = &sums,
        .count = collective_has_equal_blocks(coll) ? blocks : blocks * size,
        .root = (int)(draw(t) % size),
        .seed = draw(t)};
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
    t->odd_op = 1;
    algo = any_algorithm(t);
    draw_call(t, algo);
    job_force(&t->job, algo, draw(t) % 2 ? SIZE_MAX : 8 * (size_t)size);
    job_hush(&t->job);
    for (int r = 0; r < size; r++) {
        t->job.contexts[r]->config.check = t->fault == FAULT_MISMATCH
                                               ? RCX_CHECK_FULL
                                               : (enum rcx_check)(number % 3);
        assert_ok(
            rcx_comm_set_timeout(rcx_world(t->job.contexts[r]), DEADLINE_NS));
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

/* The call with one element less in each block, or size less in total. */
static struct call shorter(const struct trial *t)
{
    struct call call = t->call;

    call.count -=
        collective_has_equal_blocks(call.coll) ? 1 : (size_t)t->job.size;
    return call;
}

static rcx_status_t start_one(struct trial *t, int r, int op,
                              const struct call *call)
{
    rcx_comm_t *comm = world_of(&t->job, r);

    attempt_open(&t->attempts[r][op], call, comm);
    return attempt_call(&t->attempts[r][op], comm);
}

static rcx_request_t **request_at(struct trial *t, int r, int op)
{
    return op < OPS ? &t->attempts[r][op].request : &t->messages[r][op - OPS];
}

static rcx_status_t start_messages(struct trial *t, int r)
{
    const int n = t->job.size, before = (r + n - 1) % n;
    rcx_comm_t *comm = world_of(&t->job, r);
    rcx_status_t status;

    t->given[r] = 1000 + r;
    status = rcx_isend(&t->given[r], 1, RCX_INT64, (r + 1) % n, 7, comm,
                       request_at(t, r, SENDS));
    if (status != RCX_OK)
        return status;
    return rcx_irecv(&t->got[r], 1, RCX_INT64, r % 2 ? before : RCX_ANY_SOURCE,
                     7, comm, request_at(t, r, RECEIVES));
}

static void start_rank(struct trial *t, int r)
{
    const bool is_victim = r == t->victim;
    const struct call less = shorter(t);

    if (is_victim && t->fault == FAULT_ABSENT)
        return;
    if (is_victim && t->fault == FAULT_MEMORY)
        t->job.contexts[r]->heap.budget = t->moment;
    for (int op = 0; op < OPS && t->refused[r] == RCX_OK; op++) {
        const bool differs =
            is_victim && t->fault == FAULT_MISMATCH && op == t->odd_op;

        t->refused[r] = start_one(t, r, op, differs ? &less : &t->call);
    }
    if (t->refused[r] == RCX_OK)
        t->refused[r] = start_messages(t, r);
}

/* ---- Running ------------------------------------------------------------- */

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

static int active(struct trial *t)
{
    int n = 0;

    for (int r = 0; r < t->job.size; r++)
        for (int op = 0; op < ALL && runs(t, r); op++) {
            const rcx_request_t *request = *request_at(t, r, op);

            n += request && request->state == RCX_REQUEST_ACTIVE;
        }
    return n;
}

/* Let each rank progress once; returns whether there were events. */
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

/* Run until no operation is active. Time is skipped while there are no events.
 * Returns false if operations remain active after MOST_SKIPS skips. */
static bool run(struct trial *t)
{
    int skips = 0, quiet = 0;

    while (active(t) > 0) {
        quiet = turn(t) ? 0 : quiet + 1;
        if (quiet < QUIET)
            continue;
        quiet = 0;
        if (++skips > MOST_SKIPS)
            return false;
        for (int r = 0; r < t->job.size; r++) {
            t->job.contexts[r]->time.skipped_ns += DEADLINE_NS / 5;
            rcx_detector_poll(t->job.contexts[r]);
        }
    }
    return true;
}

/* ---- Checks -------------------------------------------------------------- */

/* Whether the result of an operation is not defined: for the victim of a
 * mismatch, and for all ranks if counts are local, as no rank knows those of
 * the others. */
static bool is_special(const struct trial *t, int r, int op)
{
    return t->fault == FAULT_MISMATCH && op == t->odd_op &&
           (r == t->victim || collectives[t->call.coll].is_local);
}

static const char *check_message(const struct trial *t, int r)
{
    const int before = (r + t->job.size - 1) % t->job.size;

    return t->got[r] == 1000 + before ? NULL : "a wrong message";
}

/* Check the result of a successful operation. If it failed, check that nothing
 * but its result was written. */
static const char *check_operation(struct trial *t, int r, int op)
{
    const bool is_good = (*request_at(t, r, op))->status == RCX_OK;

    if (op >= OPS)
        return is_good && op == RECEIVES ? check_message(t, r) : NULL;
    return is_good && !is_special(t, r, op)
               ? attempt_check(&t->attempts[r][op])
               : attempt_check_rest(&t->attempts[r][op]);
}

static const char *verdict(struct trial *t)
{
    const bool harmless = t->fault == FAULT_NONE || t->fault == FAULT_SLOW;

    for (int r = 0; r < t->job.size; r++) {
        if (harmless && t->refused[r] != RCX_OK)
            return "a call is refused though nothing is wrong";
        for (int op = 0; op < ALL && runs(t, r); op++) {
            const rcx_request_t *request = *request_at(t, r, op);
            const char *wrong = request ? check_operation(t, r, op) : NULL;

            if (wrong)
                return wrong;
            if (harmless && request->status != RCX_OK)
                return "an error though nothing went wrong";
        }
    }
    return NULL;
}

/* Programs must have as many pins as there are orphaned executions of
 * collectives. */
static void check_pins(const struct rcx_context *context)
{
    const struct rcx_program *e = context->world->cache->recent;
    uint64_t pins = 0, given_up = 0;

    for (; e; e = e->older)
        pins += e->pins;
    for (const struct rcx_exec *x = context->orphans.first; x; x = x->next)
        given_up += !rcx_piece_of(x)->program->is_p2p;
    assert_int_equal(pins, given_up);
}

/* Abort all worlds, so that rcx_finalize() waits for nothing; a stopped rank
 * finalizes as well. After the abort no receive may hold a buffer of the
 * user. */
static void close_trial(struct trial *t)
{
    for (int r = 0; r < t->job.size; r++) {
        t->job.contexts[r]->heap.budget = UINT64_MAX;
        assert_ok(rcx_comm_abort(rcx_world(t->job.contexts[r])));
        assert_int_equal(t->job.contexts[r]->orphans.receives, 0);
        for (int op = 0; op < ALL; op++)
            if (*request_at(t, r, op))
                assert_ok(rcx_request_free(request_at(t, r, op)));
        check_pins(t->job.contexts[r]);
    }
    job_abandon(&t->job);
    for (int r = 0; r < t->job.size; r++) /* sends may read buffers until now */
        for (int op = 0; op < OPS; op++)
            attempt_close(&t->attempts[r][op]);
}

static void every_rank_that_lives_has_a_result_or_an_error(void **state)
{
    static struct trial t;
    unsigned by_fault[FAULTS] = {0}, by_coll[COLLECTIVES] = {0};

    (void)state;
    for (unsigned i = first_trial; i < first_trial + trials; i++) {
        const char *wrong = NULL;

        open_trial(&t, i);
        for (int r = 0; r < t.job.size; r++)
            start_rank(&t, r);
        if (!run(&t))
            wrong = "a rank hangs";
        else
            wrong = verdict(&t);
        if (wrong)
            fail_msg("trial %u (%s, fault %d of rank %d of %d, moment %llu): "
                     "%s",
                     i, collectives[t.call.coll].name, t.fault, t.victim,
                     t.job.size, (unsigned long long)t.moment, wrong);
        by_fault[t.fault]++;
        by_coll[t.call.coll]++;
        close_trial(&t);
    }
    for (int f = 0; f < FAULTS; f++)
        assert_true(trials < 1000 || by_fault[f] > 0);
    for (int coll = 0; coll < COLLECTIVES; coll++)
        assert_true(trials < 1000 || by_coll[coll] > 0);
}

/* ---- A lost message ------------------------------------------------------ */

static bool was_hit(struct trial *t)
{
    for (int op = 0; op < ALL; op++)
        if (t->refused[t->victim] != RCX_OK ||
            (*request_at(t, t->victim, op))->status != RCX_OK)
            return true;
    return false;
}

/* Posting message number after of victim fails. Although there is no deadline,
 * all ranks must complete, and all must learn of the failure. Returns false if
 * victim posts fewer messages. */
static bool lose_a_message(struct trial *t, const struct rcx_algo *algo,
                           int victim, uint64_t after)
{
    const struct rcx_sim_fault fault = {
        .rank = victim, .fails = true, .after = after};
    bool hit;

    memset(t, 0, sizeof *t);
    t->victim = victim;
    assert_ok(job_open(&t->job, suits(algo, 5) ? 5 : 4,
                       &(struct job_options){.seed = after}));
    t->call =
        (struct call){.coll = collective_by_name(rcx_coll_name(algo->coll)),
                      .form = NONBLOCKING,
                      .kind = &sums,
                      .count = 30};
    job_force(&t->job, algo, SIZE_MAX);
    rcx_sim_set_fault(t->job.sim, &fault);
    job_hush(&t->job);
    for (int r = 0; r < t->job.size; r++)
        start_rank(t, r);
    if (!run(t))
        fail_msg("%s %s: a rank hangs after message %llu of rank %d",
                 rcx_coll_name(algo->coll), algo->name,
                 (unsigned long long)after, t->victim);
    turn(t); /* ranks that have completed must learn too */
    hit = was_hit(t);
    for (int r = 0; r < t->job.size && hit; r++)
        if (!rcx_comm_is_failed(world_of(&t->job, r)))
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
        uint64_t all = 0;

        for (int victim = 0; victim < 4; victim++) {
            uint64_t after = 0;

            while (lose_a_message(&t, algo, victim, after)) {
                after += TIMES(1, 7);
                all++;
            }
        }
        assert_true(all >= TIMES(OPS, 1)); /* at least the first of each call */
    }
}

/* ---- A mismatching call -------------------------------------------------- */

/*
 * Without RCX_CHECK=full calls are not compared. Ranks that divide a call into
 * different numbers of segments number the segments of later calls differently.
 * Here the first call of a rank that is not the root is shorter, so each of its
 * later segments has a number of another segment at its peers, which must not
 * accept it.
 */
static void run_unequal_segments(struct trial *t, const struct rcx_algo *algo,
                                 int size, int odd)
{
    const size_t each = rcx_coll_has_blocks(algo->coll) ? (size_t)size : 1;
    struct call less;
    const char *wrong;
    int mismatches = 0;

    memset(t, 0, sizeof *t);
    t->fault = FAULT_MISMATCH;
    t->victim = odd;
    t->call =
        (struct call){.coll = collective_by_name(rcx_coll_name(algo->coll)),
                      .form = NONBLOCKING,
                      .kind = &sums,
                      .count = 3}; /* all segments may be in flight */
    less = t->call;
    less.count--;
    assert_ok(job_open(&t->job, size, &(struct job_options){.seed = 1}));
    job_force(&t->job, algo, each * sizeof(int64_t));
    job_hush(&t->job);
    for (int r = 0; r < size; r++) {
        assert_ok(rcx_comm_set_timeout(world_of(&t->job, r), DEADLINE_NS));
        for (int op = 0; op < OPS; op++)
            assert_ok(start_one(
                t, r, op, r == odd && op == t->odd_op ? &less : &t->call));
    }
    wrong = run(t) ? verdict(t) : "a rank hangs";
    if (wrong)
        fail_msg("%s %s: rank %d of %d calls less: %s",
                 rcx_coll_name(algo->coll), algo->name, odd, size, wrong);
    for (int r = 0; r < size; r++)
        for (int op = 0; op < OPS; op++)
            mismatches +=
                t->attempts[r][op].request->status == RCX_ERR_MISMATCH;
    assert_true(mismatches > 0);
    close_trial(t);
}

/* Rooted collectives, in which a rank may complete before the others have
 * begun. */
static void after_a_call_that_does_not_match_no_result_is_wrong(void **state)
{
    static struct trial t;

    (void)state;
    for (int i = 0; rcx_algo_table[i]; i++)
        for (int size = 2; size <= 5; size++)
            for (int odd = 1; odd < size; odd++)
                if (rcx_coll_is_rooted(rcx_algo_table[i]->coll) &&
                    suits(rcx_algo_table[i], size))
                    run_unequal_segments(&t, rcx_algo_table[i], size, odd);
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
