/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executor: starts each step whose dependencies are complete, marks steps as
 * complete, and repeats until none is left. Transports only mark messages as
 * complete; the steps that follow are started here, outside of transport
 * callbacks.
 *
 * As long as each step completes at once, the order of steps is known in
 * advance, and no queue of ready steps is kept. Receives of short messages that
 * have arrived complete at once. A receive that all other steps wait for may
 * complete later without changing the order.
 *
 * A failed execution runs to its end, so that no peer hangs and no buffer is
 * left to a transport. It skips local work and sends empty messages, which tell
 * the receiver of the failure. If a message is lost there is no such end: the
 * execution stops, with steps left.
 *
 * fused.c has reductions that run as one, packed.c short messages of elements
 * that say little.
 */
#include "core/exec/exec.h"

#include <string.h>

#include "core/base/stream.h"
#include "core/exec/fused.h"
#include "core/exec/packed.h"

static inline void enqueue(struct rcx_exec *x, struct rcx_message *m)
{
    if (rcx_step_is_message(m->kind))
        x->queue[x->last_message++] = m;
    else
        x->queue[--x->last_local] = m;
}

static size_t align(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

size_t rcx_exec_bytes(const struct rcx_plan *plan)
{
    const size_t n = plan->step_count;

    return align(sizeof(struct rcx_exec)) +
           n * (sizeof(struct rcx_message) + 2 * sizeof(struct rcx_message *));
}

/* ---- Reduction of data as it arrives ------------------------------------- */

static void fail(struct rcx_exec *x, rcx_status_t status)
{
    if (x->status == RCX_OK)
        x->status = status;
}

static inline char *dst_of(const struct rcx_exec *x,
                           const struct rcx_message *m)
{
    return rcx_exec_at(x, m->dst, m->dst_at);
}

static inline char *left_of(const struct rcx_exec *x,
                            const struct rcx_message *m)
{
    return rcx_exec_at(x, m->left, m->left_at);
}

static inline char *right_of(const struct rcx_exec *x,
                             const struct rcx_message *m)
{
    return rcx_exec_at(x, m->right, m->right_at);
}

/* dst = left op right, of all elements of a REDUCE step or of some. */
static rcx_status_t combine(struct rcx_exec *x, const struct rcx_step *step,
                            struct rcx_reduction vectors, size_t count)
{
    const struct rcx_reducer *r = x->reducer;

    if (__builtin_expect(!r->finish || !step->is_final, 1))
        return rcx_reducer_apply(r, vectors.dst, vectors.left, vectors.right,
                                 count);
    r->finish(vectors.dst, vectors.left, vectors.right, count, r->ranks);
    return RCX_OK;
}

/* Whether nothing but the data of m keeps its sink from running. */
static bool is_ready_to_take(struct rcx_message *m)
{
    const struct rcx_exec *x = m->owner;

    return x->status == RCX_OK &&
           (x->is_in_order ? m->feeds_next
                           : x->messages[m->step->sink - 1].waits == 1);
}

static void take(struct rcx_message *m, size_t from, const void *data,
                 size_t bytes)
{
    struct rcx_exec *x = m->owner;
    const struct rcx_message *reduction = &x->messages[m->step->sink - 1];
    const bool is_left =
        reduction->left == m->dst && reduction->left_at == m->dst_at;
    const struct rcx_reduction vectors = {
        .dst = dst_of(x, reduction) + from,
        .left = is_left ? data : left_of(x, reduction) + from,
        .right = is_left ? right_of(x, reduction) + from : data};
    const rcx_status_t status =
        combine(x, reduction->step, vectors, bytes / x->elem_bytes);

    if (status != RCX_OK)
        fail(x, status);
}

static const struct rcx_recv_sink recv_sink = {.is_ready = is_ready_to_take,
                                               .take = take};

/* ---- Executions ---------------------------------------------------------- */

void rcx_exec_set_step(struct rcx_exec *x, uint32_t i)
{
    const struct rcx_step *step = &x->plan->steps[i];
    struct rcx_message *m = &x->messages[i];

    m->step = step;
    m->kind = step->kind;
    m->dst = step->dst;
    m->left = step->left;
    m->right = step->right;
    m->dst_at = step->dst_at * x->elem_bytes;
    m->left_at = step->left_at * x->elem_bytes;
    m->right_at = step->right_at * x->elem_bytes;
    m->due = step->count * x->elem_bytes;
    m->streams = step->is_final && x->streams;
    if (step->fused > 0 && !x->is_stepwise)
        rcx_fused_set(x, m);
    if (rcx_packed_may_be(x, step)) {
        m->sharing = RCX_SHARING_PACKED;
        m->may_hold = false; /* data is unpacked into its buffer */
    }
}

static void init_message(struct rcx_exec *x, uint32_t i,
                         const struct rcx_exec_setting *s)
{
    const struct rcx_step *step = &x->plan->steps[i];
    struct rcx_message *m = &x->messages[i];

    *m = (struct rcx_message){.waits = step->waits, .owner = x};
    rcx_exec_set_step(x, i);
    if (!rcx_step_is_message(step->kind))
        return;
    m->peer = s->endpoints ? s->endpoints[step->peer] : step->peer;
    m->tag = rcx_tag_message(&s->layout, step->message,
                             step->kind == RCX_STEP_SEND ? s->rank : m->peer);
    if (step->next_shared > 0 && s->transport->ops->send_shared &&
        m->sharing == RCX_SHARING_NONE)
        m->sharing = RCX_SHARING_POSSIBLE;
    if (step->sink > 0 && !m->may_hold && !rcx_exec_combines_at_once(x) &&
        RCX_PART_BYTES % x->elem_bytes == 0)
        m->sink = &recv_sink;
}

/* Start a run: the queue contains the steps that are ready at the start. */
static inline void begin(struct rcx_exec *x)
{
    x->steps_left = x->plan->step_count;
    x->first_message = 0;
    x->last_message = x->ready_messages;
    x->first_local = x->steps_left;
    x->last_local = x->ready_local;
}

/* Return the next ready step, messages before local work. NULL: none. */
static inline struct rcx_message *next_ready(struct rcx_exec *x)
{
    if (x->first_message < x->last_message)
        return x->queue[x->first_message++];
    if (x->first_local > x->last_local)
        return x->queue[--x->first_local];
    return NULL;
}

/* Mark step as complete and enqueue the steps that it makes ready. Their counts
 * of dependencies are reset for the next run. */
static inline void complete(struct rcx_exec *x, const struct rcx_step *step)
{
    const uint32_t *successor = x->plan->successors + step->first_successor;
    const uint32_t *const end = successor + step->successor_count;

    x->steps_left--;
    for (; successor < end; successor++) {
        struct rcx_message *m = &x->messages[*successor];

        if (--m->waits == 0) {
            m->waits = m->step->waits;
            enqueue(x, m);
        }
    }
}

static inline bool has_ready(const struct rcx_exec *x)
{
    return x->first_message < x->last_message || x->first_local > x->last_local;
}

/* Find the order of steps if each one completes at once. */
static void find_order(struct rcx_exec *x)
{
    struct rcx_message **due = x->order, *m;

    begin(x);
    while ((m = next_ready(x))) {
        *due++ = m;
        m->holds_up_all = m->kind == RCX_STEP_RECV && !has_ready(x);
        complete(x, m->step);
    }
    for (struct rcx_message **next = x->order + 1; next < due; next++)
        next[-1]->feeds_next =
            next[-1]->step->sink == (uint32_t)(*next - x->messages) + 1;
}

void rcx_exec_init(struct rcx_exec *x, const struct rcx_plan *plan,
                   const struct rcx_exec_setting *setting)
{
    const uint32_t n = plan->step_count;

    memset(x, 0, sizeof *x);
    x->plan = plan;
    x->transport = setting->transport;
    x->reducer = setting->reducer;
    x->layout = setting->layout;
    x->elem_bytes = setting->reducer->elem_bytes;
    x->is_stepwise = setting->is_stepwise;
    x->streams = setting->streams;
    x->messages = (void *)((char *)x + align(sizeof *x));
    x->queue = (struct rcx_message **)(void *)(x->messages + n);
    x->order = x->queue + n;
    for (uint32_t i = 0; i < n; i++)
        init_message(x, i, setting);
    x->last_local = n;
    for (uint32_t i = 0; i < plan->ready_count; i++)
        enqueue(x, &x->messages[plan->ready[i]]);
    x->ready_messages = x->last_message;
    x->ready_local = x->last_local;
    find_order(x);
}

/* ---- Running ------------------------------------------------------------- */

/* Check the length of a received message. An empty message in place of data
 * means that its sender has failed. */
static void check_arrival(struct rcx_exec *x, struct rcx_message *m)
{
    if (m->is_consumed)
        x->messages[m->step->sink - 1].is_consumed = true;
    if (m->bytes == m->due || (x->takes_less && m->bytes < m->due))
        return;
    if (m->bytes > 0 && m->bytes < m->due && rcx_packed_may_be(x, m->step) &&
        rcx_packed_take(x, m, m->step->sink > 0 && is_ready_to_take(m)))
        return;
    if (m->bytes == 0)
        fail(x, x->reducer->kernel ? RCX_ERR_PEER_FAILED : RCX_ERR_OP);
    else
        fail(x, RCX_ERR_MISMATCH);
}

/* Handle the status that the transport returned for a receive. RCX_IN_PROGRESS:
 * the receive completes during progress. */
static inline rcx_status_t answer(struct rcx_exec *x, struct rcx_message *m,
                                  rcx_status_t status)
{
    if (status == RCX_IN_PROGRESS)
        return status;
    m->status = status;
    if (status == RCX_OK)
        check_arrival(x, m);
    return status;
}

static rcx_status_t receive(struct rcx_exec *x, struct rcx_message *m)
{
    m->status = RCX_IN_PROGRESS;
    m->is_consumed = false;
    return answer(x, m,
                  x->transport->ops->recv(x->transport, m->peer, dst_of(x, m),
                                          m->due, x->tag_base | m->tag, m));
}

/* Send m, and all that send the same data, as one where the transport can. They
 * are ready as well, and are issued later: then sharing tells what became of
 * them. */
static void send_as_one(struct rcx_exec *x, struct rcx_message *m)
{
    struct rcx_message *all[RCX_SHARED_MOST], *next = m;

    do {
        unsigned n = 0;

        do {
            all[n++] = next;
            next = &x->messages[next->step->next_shared - 1];
        } while (n < RCX_SHARED_MOST && next != m);
        x->transport->ops->send_shared(x->transport, all, n, left_of(x, m),
                                       m->due, x->tag_base);
    } while (next != m);
}

/* Whether m is sent, as one with others. */
static bool is_shared(struct rcx_exec *x, struct rcx_message *m)
{
    bool is_sent;

    if (m->sharing == RCX_SHARING_POSSIBLE && x->status == RCX_OK)
        send_as_one(x, m);
    is_sent = m->sharing == RCX_SHARING_SENT;
    m->sharing = RCX_SHARING_POSSIBLE; /* in the next run */
    return is_sent;
}

static inline rcx_status_t send_data(struct rcx_exec *x, struct rcx_message *m,
                                     const void *data, size_t bytes)
{
    rcx_status_t status;

    m->status = RCX_IN_PROGRESS;
    status = x->transport->ops->send(x->transport, m->peer, data, bytes,
                                     x->tag_base | m->tag, m);
    if (status != RCX_IN_PROGRESS)
        m->status = status;
    return status;
}

/* Out of line, so that a usual message does not pay for it. */
__attribute__((noinline)) static rcx_status_t
send_unusual(struct rcx_exec *x, struct rcx_message *m)
{
    const void *data = left_of(x, m);
    size_t bytes = x->status == RCX_OK ? m->due : 0;

    if (m->sharing == RCX_SHARING_PACKED) {
        data = rcx_packed_data(x, m, &bytes);
    } else if (is_shared(x, m)) {
        m->status = RCX_OK;
        return RCX_OK;
    }
    return send_data(x, m, data, bytes);
}

static inline rcx_status_t send(struct rcx_exec *x, struct rcx_message *m)
{
    if (__builtin_expect(m->sharing != RCX_SHARING_NONE, 0))
        return send_unusual(x, m);
    return send_data(x, m, left_of(x, m), x->status == RCX_OK ? m->due : 0);
}

static rcx_status_t work(struct rcx_exec *x, struct rcx_message *m)
{
    if (m->is_consumed) { /* its sink has done this step */
        m->is_consumed = false;
        return RCX_OK;
    }
    if (__builtin_expect(m->kind > RCX_STEP_REDUCE, 0))
        return m->kind == RCX_EXEC_FUSED ? rcx_fused_run(x, m) : RCX_OK;
    if (x->status != RCX_OK)
        return RCX_OK;
    if (m->kind == RCX_STEP_REDUCE)
        return combine(x, m->step,
                       (struct rcx_reduction){.dst = dst_of(x, m),
                                              .left = left_of(x, m),
                                              .right = right_of(x, m)},
                       m->step->count);
    if (m->streams)
        rcx_stream_copy(dst_of(x, m), left_of(x, m), m->due);
    else
        memcpy(dst_of(x, m), left_of(x, m), m->due);
    return RCX_OK;
}

/* Record the error of a step. Returns whether a message is lost: it never
 * arrives here, or at the peer. A message that is too long has arrived. */
static bool is_lost(struct rcx_exec *x, const struct rcx_step *step,
                    rcx_status_t status)
{
    fail(x, x->takes_less && status == RCX_ERR_MISMATCH ? RCX_ERR_TRUNCATED
                                                        : status);
    x->lost = step->peer;
    return rcx_step_is_message(step->kind) && status != RCX_ERR_MISMATCH;
}

static inline rcx_status_t issue(struct rcx_exec *x, struct rcx_message *m)
{
    const unsigned kind = m->kind;

    if (kind == RCX_STEP_RECV)
        return receive(x, m);
    return kind == RCX_STEP_SEND ? send(x, m) : work(x, m);
}

/* Start ready steps until none is left. True: x is over. */
static bool run(struct rcx_exec *x)
{
    struct rcx_message *m;

    while ((m = next_ready(x))) {
        const rcx_status_t status = issue(x, m);

        if (status == RCX_IN_PROGRESS)
            continue;
        if (status != RCX_OK && is_lost(x, m->step, status))
            return true;
        complete(x, m->step);
    }
    return x->steps_left == 0;
}

/* Leave the known order: step k is in flight, and those before it have
 * completed. */
__attribute__((noinline)) static bool go_on_from(struct rcx_exec *x,
                                                 const struct rcx_message *k)
{
    x->is_in_order = false;
    begin(x);
    for (const struct rcx_message *m = next_ready(x); m != k; m = next_ready(x))
        complete(x, m->step);
    return run(x);
}

/* If all other steps wait for m, poll for it alone, *polls times at most. */
static inline rcx_status_t expect(struct rcx_exec *x, struct rcx_message *m,
                                  unsigned *polls)
{
    const struct rcx_transport_ops *ops = x->transport->ops;

    if (*polls == 0 || !m->holds_up_all || !ops->expect)
        return RCX_IN_PROGRESS;
    return answer(x, m, ops->expect(x->transport, m, polls));
}

/* Step *due has completed with status. True: its message is lost, so the
 * execution is over. */
static inline bool is_end(struct rcx_exec *x, struct rcx_message **due,
                          rcx_status_t status)
{
    if (__builtin_expect(status == RCX_OK, 1) ||
        !is_lost(x, (*due)->step, status))
        return false;
    x->steps_left = x->plan->step_count - (uint32_t)(due - x->order);
    return true;
}

/* Run steps in order, from due on. True: x is over. False: x->due is in
 * flight. */
static inline bool run_in_order(struct rcx_exec *x, struct rcx_message **due)
{
    struct rcx_message **const end = x->order + x->plan->step_count;

    for (; due < end; due++) {
        const rcx_status_t status = issue(x, *due);

        if (status == RCX_IN_PROGRESS) {
            x->due = due;
            x->steps_left = (uint32_t)(end - due);
            return false;
        }
        if (is_end(x, due, status))
            return true;
    }
    x->steps_left = 0;
    return true;
}

bool rcx_exec_begin(struct rcx_exec *x)
{
    x->status = RCX_OK;
    x->is_in_order = true;
    return run_in_order(x, x->order);
}

bool rcx_exec_go_on(struct rcx_exec *x, unsigned polls)
{
    bool is_over;

    do {
        struct rcx_message **due = x->due;
        const rcx_status_t status = expect(x, *due, &polls);

        if (status == RCX_IN_PROGRESS) /* start other ready steps, if any */
            return !(*due)->holds_up_all && go_on_from(x, *due);
        is_over = is_end(x, due, status) || run_in_order(x, due + 1);
    } while (!is_over);
    return true;
}

bool rcx_exec_start_masked(struct rcx_exec *x, uint64_t mask)
{
    struct rcx_message *m = x->messages;
    rcx_status_t status;

    x->takes_less = true;
    x->is_in_order = false;
    x->status = RCX_OK;
    begin(x);
    next_ready(x); /* take m off the queue */
    m->status = RCX_IN_PROGRESS;
    status = x->transport->ops->recv_masked(x->transport, dst_of(x, m), m->due,
                                            x->tag_base, mask, m);
    if (status == RCX_IN_PROGRESS)
        return false;
    m->status = status;
    return rcx_exec_advance(x, m);
}

bool rcx_exec_advance(struct rcx_exec *x, struct rcx_message *m)
{
    const struct rcx_step *step = m->step;

    if (m->status == RCX_OK && m->kind == RCX_STEP_RECV)
        check_arrival(x, m);
    if (x->is_in_order)
        return is_end(x, x->due, m->status) || run_in_order(x, x->due + 1) ||
               rcx_exec_go_on(x, 0);
    if (m->status != RCX_OK && is_lost(x, step, m->status))
        return true;
    complete(x, step);
    return run(x);
}

static bool is_under_way(const struct rcx_exec *x, uint32_t i, unsigned kind)
{
    return x->messages[i].kind == kind &&
           x->messages[i].status == RCX_IN_PROGRESS;
}

uint32_t rcx_exec_under_way(const struct rcx_exec *x, enum rcx_step_kind kind)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->plan->step_count; i++)
        n += is_under_way(x, i, kind);
    return n;
}

void rcx_exec_detach(struct rcx_exec *x)
{
    const struct rcx_transport_ops *ops = x->transport->ops;

    x->owner = NULL;
    x->steps_left = rcx_exec_under_way(x, RCX_STEP_SEND) +
                    rcx_exec_under_way(x, RCX_STEP_RECV);
    for (uint32_t i = 0; i < x->plan->step_count; i++) {
        x->messages[i].may_hold = false; /* nothing would release it */
        if (is_under_way(x, i, RCX_STEP_RECV) ||
            (ops->cancels_sends && is_under_way(x, i, RCX_STEP_SEND)))
            ops->cancel(x->transport, &x->messages[i]);
    }
    rcx_fused_release(x);
}

int rcx_exec_peers(const struct rcx_exec *x, int peers[], int most)
{
    int n = 0;

    for (uint32_t i = 0; i < x->plan->step_count; i++) {
        const int peer = x->plan->steps[i].peer;
        bool is_new = n < most && peer >= 0 &&
                      (is_under_way(x, i, RCX_STEP_SEND) ||
                       is_under_way(x, i, RCX_STEP_RECV));

        for (int k = 0; k < n && is_new; k++)
            is_new = peers[k] != peer;
        if (is_new)
            peers[n++] = peer;
    }
    return n;
}
