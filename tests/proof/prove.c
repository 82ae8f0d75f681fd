/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves one case (prove.h): runs the simulated call in several orders of
 * arrival, and checks every element and all memory after each run. case.c makes
 * the call; prove_cost.c checks the cost.
 */
#include "prove_state.h"

#include <stdarg.h>
#include <string.h>

enum { ALL_LATE = 64 /* ranks; in larger barriers, only some are late */ };

static const char *const order_names[] = {"LOOSE", "SAME", "RANK", "UNIFORM",
                                          "CANONICAL"};

/* ---- A proof in progress ------------------------------------------------- */

/* Print the case, which is the first line of a failure. */
static size_t describe_case(const struct proof *p)
{
    static const char *const places[] = {"apart", "in place", "in block",
                                         "mixed"};
    static const char *const blocks[] = {"equal", "i mod 3", "one", "huge",
                                         "random"};
    static const char *const gaps[] = {"", ", with gaps", ", reversed"};
    static const char *const sends[] = {"rendezvous", "eager", "mixed"};
    const struct proof_case *c = p->c;
    char method[128];

    rcx_algo_print(c->algo, c->params, method, sizeof method);
    return (size_t)snprintf(
        p->report->text, PROOF_TEXT,
        "%s %s fails: p=%d root=%d count=%zu segment=%zu (at %zu) blocks=%s "
        "%s%s, %s%s%s%s, seed %#llx, %s sends\n  ",
        rcx_coll_name(c->algo->coll), method, c->size, c->root, c->count,
        c->segment, p->s.row.first, blocks[c->blocks], places[c->place],
        gaps[c->gaps], proof_map_name(c->map),
        c->commutative ? "" : ", op does not commute",
        c->narrow ? ", narrow tags" : "", c->frame ? ", in a frame" : "",
        (unsigned long long)p->seed, sends[p->sends]);
}

bool proof_fail(struct proof *p, const char *format, ...)
{
    const size_t at = describe_case(p);
    va_list args;

    p->report->lacks_memory = p->s.lacks_memory;
    va_start(args, format);
    vsnprintf(p->report->text + at, PROOF_TEXT - at, format, args);
    va_end(args);
    return false;
}

static bool run_with(struct proof *p, const struct proof_operator *op, int late,
                     int *early_p)
{
    const struct rcx_reducer reducer = {.fn = op->combine,
                                        .elem_bytes = op->elem_bytes};
    struct simulated_run run = {
        .reducer = &reducer, .seed = p->seed, .sends = p->sends, .late = late};
    const bool good = simulation_run(&p->s, &run);

    *early_p = run.early;
    return good;
}

/* ---- Results ------------------------------------------------------------- */

/* Return which operands element i of the result of rank must combine. */
static struct rcx_expected expected_at(const struct proof *p, int rank,
                                       size_t i)
{
    const struct rcx_coll_row *coll = proof_coll(p->c);
    const struct rcx_shape *s = &p->s.ranks[rank].shape;
    struct rcx_expected e = coll->expect(s, proof_out_element(&p->s.row, s, i));

    if (coll->is_local)
        e.index += p->s.ranks[e.lo].shape.displs[rank];
    return e;
}

/* Return the target of e. The last target is kept, as most elements have the
 * same one. */
static const struct proof_target *target_of(struct proof *p,
                                            const struct rcx_expected *e)
{
    if (p->target.lo != e->lo || p->target.hi != e->hi)
        p->target = proof_target_of(e->lo, e->hi);
    return &p->target;
}

static bool is_same(const struct rcx_expected *a, const struct rcx_expected *b)
{
    return a->lo == b->lo && a->hi == b->hi && a->index == b->index;
}

static size_t count_at(const struct proof *p, int rank)
{
    return rcx_row_out_count(&p->s.row, &p->s.ranks[rank].shape);
}

/* Return the strongest level that element a keeps. same: this element on the
 * first rank that has it. first: the first element that combines as many
 * ranks. */
static rcx_order_t level_of(const struct proof_target *target,
                            const struct proof_atom *a,
                            const struct proof_atom *same,
                            const struct proof_atom *first)
{
    if (target->hi - target->lo == 1) /* moved, not combined */
        return RCX_ORDER_CANONICAL;
    if (a->bracket != same->bracket)
        return RCX_ORDER_LOOSE;
    if (a->lo != target->lo || a->ordered != same->ordered)
        return RCX_ORDER_SAME;
    if (a->ordered != first->ordered)
        return RCX_ORDER_RANK;
    return a->ordered == target->ordered ? RCX_ORDER_CANONICAL
                                         : RCX_ORDER_UNIFORM;
}

/* Report that an element of the result is wrong, spelled out by a run with the
 * word operator. */
static bool spell(struct proof *p, int rank, size_t i, const char *why)
{
    const struct rcx_expected e = expected_at(p, rank, i);
    char got[PROOF_WORD_BYTES], wanted[PROOF_WORD_BYTES];
    const struct proof_word tree = proof_word_of(e.lo, e.hi, e.index);
    struct proof_memory m;
    struct proof_word word;
    int early;

    if (!proof_memory_open(&m, &p->s, &proof_words)) {
        p->s.lacks_memory = false; /* it is wrong, spelled out or not */
        return proof_fail(p, "%s", why);
    }
    proof_memory_fill(&m);
    run_with(p, &proof_words, -1, &early);
    p->s.lacks_memory = false;
    word = *(const struct proof_word *)proof_memory_result(&m, rank, i);
    proof_word_print(&word, got);
    proof_word_print(&tree, wanted);
    proof_memory_close(&m);
    return proof_fail(
        p,
        "rank %d, element %zu: %s\n"
        "  got:      %s%s\n  the tree: %s",
        rank, i, why, got,
        word.index == (int64_t)e.index ? "" : " of another element", wanted);
}

static bool fail_element(struct proof *p, int rank, size_t i,
                         const struct proof_atom *a, const char *why)
{
    if (p->c->size <= PROOF_WORD_SIZE_MAX)
        return spell(p, rank, i, why);
    return proof_fail(p,
                      "rank %d, element %zu: %s (%u operands from rank %d on)",
                      rank, i, why, a->operands, a->lo);
}

/* Whether element i of the first rank combines the same operands. Then its bits
 * must be the same. */
static bool first_has(const struct proof *p, size_t i,
                      const struct rcx_expected *e)
{
    struct rcx_expected other;

    if (i >= p->first_count)
        return false;
    other = expected_at(p, 0, i);
    return is_same(e, &other);
}

static bool check_element(struct proof *p, const struct proof_memory *m,
                          int rank, size_t i, const struct proof_atom *first)
{
    const struct proof_atom *a = proof_memory_result(m, rank, i);
    const struct rcx_expected e = expected_at(p, rank, i);
    const struct proof_target *target = target_of(p, &e);
    const struct proof_atom *same =
        first_has(p, i, &e) ? proof_memory_result(m, 0, i) : a;
    struct proof_report *report = p->report;
    rcx_order_t level;
    char why[96];

    if (!proof_is_complete(target, a, e.index))
        return fail_element(p, rank, i, a, "not each operand once");
    level = level_of(target, a, same, first);
    if (level < report->held)
        report->held = level;
    if (level >= report->stated)
        return true;
    snprintf(why, sizeof why, "order is %s, the algorithm states %s",
             order_names[level], order_names[report->stated]);
    return fail_element(p, rank, i, a, why);
}

static size_t result_count(const struct proof *p)
{
    size_t count = 0;

    for (int r = 0; r < p->s.size; r++)
        count += count_at(p, r);
    return count;
}

/* The bits of a result must be those of the first run, whatever the order of
 * arrival. */
static bool check_again(struct proof *p, int rank, size_t i,
                        const struct proof_atom *a, uint64_t *hash)
{
    if (p->seed == p->o->seed)
        *hash = a->ordered;
    return *hash == a->ordered ||
           fail_element(p, rank, i, a, "not as in the first run");
}

static bool check_results(struct proof *p, const struct proof_memory *m)
{
    const struct proof_atom *first = NULL;
    uint64_t *hash = p->first_run;

    p->first_count = count_at(p, 0);
    for (int r = 0; r < p->s.size; r++) {
        const size_t count = count_at(p, r);

        for (size_t i = 0; i < count; i++, hash++) {
            const struct proof_atom *a = proof_memory_result(m, r, i);

            if (!first || (i == 0 && proof_coll(p->c)->is_prefix))
                first = a;
            if (!check_element(p, m, r, i, first) ||
                !check_again(p, r, i, a, hash))
                return false;
        }
    }
    return true;
}

static bool prove_run(struct proof *p, struct proof_memory *m)
{
    char text[SIMULATION_TEXT];
    int early;

    proof_memory_fill(m);
    if (!run_with(p, m->op, -1, &early))
        return proof_fail(p, "%s", p->s.text);
    if (!proof_memory_check(m, text, sizeof text))
        return proof_fail(p, "%s", text);
    return proof_is_barrier(p) || check_results(p, m);
}

/* ---- Barriers ------------------------------------------------------------ */

/* No rank may leave the barrier before the late one has entered. Sends are
 * eager: with rendezvous, waiting for a receiver could make a barrier of a
 * schedule that is none. */
static bool prove_no_rank_leaves_early(struct proof *p, struct proof_memory *m)
{
    const int size = p->s.size;
    const int step = size <= ALL_LATE ? 1 : size / 4;

    p->sends = SENDS_EAGER;
    for (int late = 0; late < size; late += step) {
        int early;

        proof_memory_fill(m);
        if (!run_with(p, m->op, late, &early))
            return proof_fail(p, "%s", p->s.text);
        if (early > 0)
            return proof_fail(p, "%d ranks leave before rank %d has come",
                              early, late);
    }
    return true;
}

/* ---- Statements of the registry ------------------------------------------ */

static bool same_cost(struct rcx_cost a, struct rcx_cost b)
{
    return a.rounds == b.rounds && a.volume == b.volume &&
           a.combines == b.combines;
}

/* Ranks choose algorithms without communication, so all must see the same fits,
 * order and cost. */
static bool check_agreement(struct proof *p)
{
    const struct rcx_algo *algo = p->c->algo;
    const struct rcx_shape *first = &p->s.ranks[0].shape;

    for (int r = 0; r < p->s.size; r++) {
        const struct rcx_shape *s = &p->s.ranks[r].shape;

        if (!rcx_algo_fits(algo, s))
            return proof_fail(p, "rank %d does not think that it fits", r);
        if (rcx_algo_order(algo, s) != p->report->stated)
            return proof_fail(p, "ranks state different orders");
        if (!same_cost(algo->cost(s), algo->cost(first)))
            return proof_fail(p, "ranks state different costs");
    }
    return true;
}

/* ---- The proof ----------------------------------------------------------- */

static bool prove_runs(struct proof *p)
{
    struct proof_memory m;
    bool good;

    if (!proof_memory_open(&m, &p->s, &proof_atoms))
        return proof_fail(p, "%s", p->s.text);
    p->first_run =
        rcx_heap_alloc(p->s.heap, (result_count(p) + 1) * sizeof *p->first_run);
    good = p->first_run || simulation_lacks_memory(&p->s);
    if (!good)
        proof_fail(p, "%s", p->s.text);
    for (int i = 0; i < p->o->runs && good; i++) {
        p->seed = p->o->seed + (uint64_t)i;
        p->sends = i == 0 ? SENDS_RENDEZVOUS : SENDS_MIXED;
        good = prove_run(p, &m);
    }
    if (good && proof_is_barrier(p))
        good = prove_no_rank_leaves_early(p, &m);
    proof_memory_close(&m);
    rcx_heap_free(p->s.heap, p->first_run);
    return good;
}

static bool prove_row(struct proof *p, const struct rcx_row *row)
{
    static const struct rcx_row all = {.width = SIZE_MAX, .segments = 1};
    bool good;

    p->call.row = p->c->segment                      ? row
                  : p->c->gaps != PROOF_SIDE_BY_SIDE ? &all
                                                     : NULL;
    good = simulation_open(&p->s, &p->call);
    if (!good)
        proof_fail(p, "%s", p->s.text);
    p->report->messages += p->s.messages;
    good = good && check_agreement(p) && prove_runs(p) &&
           (p->c->narrow || p->call.row || proof_check_cost(p));
    simulation_close(&p->s);
    return good;
}

bool proof_prove(const struct proof_case *c, const struct proof_options *o,
                 struct proof_report *report_p)
{
    struct rcx_heap own = RCX_HEAP_INIT, *heap = o->heap ? o->heap : &own;
    struct proof p = {.c = c,
                      .o = o,
                      .report = report_p,
                      .seed = o->seed,
                      .call = proof_call_of(c, heap)};
    struct rcx_cutter cutter;
    struct rcx_row row;
    bool good;

    p.call.hooks = o->hooks;
    *report_p =
        (struct proof_report){.stated = rcx_algo_order(c->algo, &p.call.shape),
                              .held = RCX_ORDER_CANONICAL};
    good = rcx_cutter_open(&cutter, heap, &p.call.shape, c->segment) == RCX_OK;
    if (!good) {
        simulation_lacks_memory(&p.s);
        proof_fail(&p, "%s", p.s.text);
    }
    while (good && rcx_cutter_next(&cutter, &row))
        good = prove_row(&p, &row);
    rcx_cutter_close(&cutter);
    proof_call_free(&p.call);
    return good;
}
