/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulates one call: builds the schedules of all ranks, and runs them in a
 * random order of events. Finds deadlocks, lost messages and failed ranks; the
 * caller checks the results.
 */
#include "sim/simulate.h"

#include <string.h>

#include "core/base/random.h"
#include "sim/framed.h"
#include "sim/gates.h"
#include "sim/network.h"

/* ---- Schedules ----------------------------------------------------------- */

static void keep_log(rcx_log_level_t level, const char *text, void *arg)
{
    struct simulation *s = arg;

    if (level == RCX_LOG_ERROR && !s->text[0])
        snprintf(s->text, sizeof s->text, "%s", text);
}

bool simulation_lacks_memory(struct simulation *s)
{
    s->lacks_memory = true;
    snprintf(s->text, sizeof s->text, "no memory");
    return false;
}

static bool refuse(struct simulation *s, int rank, const char *what,
                   rcx_status_t status)
{
    if (status == RCX_ERR_NOMEM)
        return simulation_lacks_memory(s);
    if (!s->text[0])
        snprintf(s->text, sizeof s->text, "rank %d %s: %s", rank, what,
                 rcx_status_string(status));
    return false;
}

static struct rcx_shape shape_of(const struct simulated_call *call, int rank)
{
    struct rcx_shape shape = call->shape;

    shape.rank = rank;
    shape.alias = call->alias ? call->alias[rank] : RCX_ALIAS_NONE;
    if (call->localize)
        call->localize(&shape, call->localize_arg);
    return shape;
}

static void count_steps(struct simulation *s, struct simulated_rank *rank)
{
    for (uint32_t i = 0; i < rank->plan->step_count; i++) {
        const struct rcx_step *step = &rank->plan->steps[i];

        if (step->kind == RCX_STEP_SEND) {
            rank->messages++;
            rank->sent += step->count;
        } else if (step->kind == RCX_STEP_REDUCE) {
            rank->combined += step->count;
        }
    }
    rank->first_step = s->step_count;
    s->step_count += rank->plan->step_count;
    s->messages += rank->messages;
}

/* whole: memory for the outer shape of a call with a frame, valid until b is
 * finished. */
static void write_steps(struct rcx_builder *b,
                        const struct simulated_call *call,
                        const struct rcx_shape *shape, struct rcx_shape *whole)
{
    if (call->row) {
        rcx_row_build(b, call->algo, shape, call->row);
    } else if (call->frame) {
        framed_write(b, call, shape, whole);
    } else {
        rcx_builder_begin(b, shape);
        call->algo->build(b, shape);
    }
    if (call->acks)
        rcx_sched_completion_ack(b, 0);
}

static bool build_rank(struct simulation *s, struct rcx_builder *b,
                       const struct simulated_call *call, int i)
{
    const struct simulation_hooks *hooks = call->hooks;
    struct simulated_rank *rank = &s->ranks[i];
    struct rcx_shape whole;
    rcx_status_t status;

    rank->shape = shape_of(call, i);
    write_steps(b, call, &rank->shape, &whole);
    if (hooks && hooks->steps)
        hooks->steps(b, &rank->shape, hooks->arg);
    status =
        rcx_sched_finish(b, rcx_tag_message_window(&s->layout), &rank->plan);
    if (status != RCX_OK)
        return refuse(s, i, "has no schedule", status);
    if (call->frame && !framed_take(s, call, rank))
        return false;
    if (hooks && hooks->plan)
        hooks->plan(rank->plan, &rank->shape, hooks->arg);
    s->is_changed = hooks != NULL;
    count_steps(s, rank);
    if (s->step_count < SIMULATION_STEPS_MAX)
        return true;
    snprintf(s->text, sizeof s->text,
             "ranks 0 to %d have %zu steps, more than a simulation can number",
             i, s->step_count);
    return false;
}

bool simulation_open(struct simulation *s, const struct simulated_call *call)
{
    struct rcx_builder b;
    bool good = true;

    *s = (struct simulation){.heap = call->heap,
                             .layout = call->layout,
                             .row = {.width = SIZE_MAX, .segments = 1},
                             .size = call->shape.size};
    if (call->row)
        s->row = *call->row;
    rcx_log_init(&s->log);
    s->log.fn = keep_log;
    s->log.arg = s;
    if (call->algo)
        s->ranks = rcx_heap_zalloc(s->heap, (size_t)s->size * sizeof *s->ranks);
    if (!s->ranks)
        return simulation_lacks_memory(s);
    rcx_builder_init(&b, s->heap, &s->log);
    for (int i = 0; i < s->size && good; i++) {
        s->log.rank = i;
        good = build_rank(s, &b, call, i);
    }
    good = good && (!call->frame || framed_check_others(s, &b, call));
    rcx_builder_free(&b);
    return good;
}

void simulation_close(struct simulation *s)
{
    for (int i = 0; s->ranks && i < s->size; i++) {
        rcx_heap_free(s->heap, s->ranks[i].plan);
        rcx_heap_free(s->heap, s->ranks[i].gated);
        rcx_heap_free(s->heap, s->ranks[i].exec);
    }
    rcx_heap_free(s->heap, s->ranks);
    s->ranks = NULL;
}

static bool same_step(const struct rcx_step *a, const struct rcx_step *b)
{
    return a->kind == b->kind && a->peer == b->peer && a->dst == b->dst &&
           a->left == b->left && a->right == b->right &&
           a->dst_at == b->dst_at && a->left_at == b->left_at &&
           a->right_at == b->right_at && a->count == b->count;
}

static bool same_steps(const struct rcx_builder *a, const struct rcx_builder *b)
{
    if (a->status != b->status || a->status == RCX_ERR_NOMEM ||
        a->step_count != b->step_count || a->scratch != b->scratch)
        return false;
    for (uint32_t i = 0; i < a->step_count; i++)
        if (!same_step(&a->steps[i], &b->steps[i]))
            return false;
    return true;
}

bool simulation_same_steps(const struct simulated_call *a,
                           const struct simulated_call *b)
{
    const struct simulated_call *call[] = {a, b};
    struct rcx_builder builder[2];
    struct rcx_log log;
    bool same = a->algo && b->algo;

    rcx_log_init(&log);
    rcx_builder_init(&builder[0], a->heap, &log);
    rcx_builder_init(&builder[1], b->heap, &log);
    for (int r = 0; r < a->shape.size && same; r++) {
        struct rcx_shape shape[2], whole[2];

        for (int k = 0; k < 2; k++) {
            shape[k] = shape_of(call[k], r);
            write_steps(&builder[k], call[k], &shape[k], &whole[k]);
        }
        same = same_steps(&builder[0], &builder[1]);
    }
    rcx_builder_free(&builder[0]);
    rcx_builder_free(&builder[1]);
    return same;
}

/* ---- Ports: the simulated network with eager sends ----------------------- */

struct run;

struct port {
    struct rcx_transport base;
    struct rcx_transport *net;
    struct run *run;
};

/* A send that is complete for the executor, but not delivered yet. */
struct eager {
    struct rcx_message message; /* has no owner */
    struct eager *prev, *next;
    _Alignas(16) char data[];
};

struct run {
    struct simulation *s;
    struct rcx_sim *net;
    struct port *ports;
    struct eager *eager;        /* list of eager sends that are not delivered */
    struct rcx_message **gates; /* gates that steps wait at */
    size_t gate_count;
    struct rcx_message *last; /* gate that opens when no other event is
                                 possible */
    size_t gates_to_last;
    uint64_t random;
    enum simulated_sends sends;
    bool is_stepwise;
    int *waiting; /* ranks that have not started yet */
    int waiting_count;
    int complete;
};

static bool is_eager(struct run *run)
{
    return run->sends == SENDS_EAGER ||
           (run->sends == SENDS_MIXED && rcx_random(&run->random) % 2);
}

/* Record a lack of memory, since its effect on peers is a different error. */
static rcx_status_t watched(struct run *run, rcx_status_t status)
{
    run->s->lacks_memory |= status == RCX_ERR_NOMEM;
    return status;
}

static rcx_status_t port_send(struct rcx_transport *t, int peer,
                              const void *buffer, size_t bytes, uint64_t tag,
                              struct rcx_message *m)
{
    struct port *port = (struct port *)t;
    struct run *run = port->run;
    struct eager *e;
    rcx_status_t status;

    if (!is_eager(run))
        return watched(
            run, port->net->ops->send(port->net, peer, buffer, bytes, tag, m));
    e = rcx_heap_alloc(run->s->heap, sizeof *e + bytes);
    if (!e)
        return watched(run, RCX_ERR_NOMEM);
    *e = (struct eager){.next = run->eager};
    if (bytes > 0)
        memcpy(e->data, buffer, bytes);
    if (run->eager)
        run->eager->prev = e;
    run->eager = e;
    status =
        port->net->ops->send(port->net, peer, e->data, bytes, tag, &e->message);
    return status == RCX_IN_PROGRESS ? RCX_OK : watched(run, status);
}

static rcx_status_t port_recv(struct rcx_transport *t, int peer, void *buffer,
                              size_t bytes, uint64_t tag, struct rcx_message *m)
{
    struct port *port = (struct port *)t;
    struct run *run = port->run;

    if (peer != RCX_GATE)
        return watched(
            run, port->net->ops->recv(port->net, peer, buffer, bytes, tag, m));
    if (run->gates_to_last-- == 0)
        run->last = m;
    else
        run->gates[run->gate_count++] = m;
    return RCX_IN_PROGRESS;
}

static void port_release(struct rcx_transport *t, struct rcx_message *m)
{
    struct port *port = (struct port *)t;

    port->net->ops->release(port->net, m);
}

static const struct rcx_transport_ops port_ops = {
    .name = "proof",
    .send = port_send,
    .recv = port_recv,
    .release = port_release,
};

static void free_eager(struct run *run, struct eager *e)
{
    *(e->prev ? &e->prev->next : &run->eager) = e->next;
    if (e->next)
        e->next->prev = e->prev;
    rcx_heap_free(run->s->heap, e);
}

/* ---- Runs ---------------------------------------------------------------- */

static bool note_completion(struct run *run, int rank)
{
    const rcx_status_t status = run->s->ranks[rank].exec->status;

    run->complete++;
    return status == RCX_OK || refuse(run->s, rank, "ends with", status);
}

static bool start(struct run *run, int rank)
{
    return !rcx_exec_start(run->s->ranks[rank].exec) ||
           note_completion(run, rank);
}

static bool drain(struct run *run, int rank)
{
    struct rcx_transport *net = run->ports[rank].net;
    struct rcx_message *m = net->done;
    bool good = true;

    rcx_transport_reset_done(net);
    while (m && good) {
        struct rcx_message *next = m->next;

        if (!m->owner)
            free_eager(run, (struct eager *)m);
        else if (rcx_exec_advance(m->owner, m))
            good = note_completion(run, rank);
        m = next;
    }
    return good;
}

/* Open one of the gates at random, or the last one if there is no other. */
static bool open_gate(struct run *run)
{
    struct rcx_message *m = run->last;
    struct rcx_exec *x;
    int rank;

    if (run->gate_count > 0) {
        const size_t i = rcx_random(&run->random) % run->gate_count;

        m = run->gates[i];
        run->gates[i] = run->gates[--run->gate_count];
    } else {
        run->last = NULL;
    }
    x = m->owner;
    rank = (int)((struct port *)x->transport - run->ports);
    m->status = RCX_OK;
    return !rcx_exec_advance(x, m) || note_completion(run, rank);
}

/* Deliver messages, open gates and start ranks at random, until nothing is
 * left. */
static bool deliver(struct run *run)
{
    bool good = true;

    while (good) {
        int ranks[2];
        const bool starts =
            run->waiting_count > 0 && rcx_random(&run->random) % 2;
        const bool opens = run->gate_count > 0 && rcx_random(&run->random) % 2;

        if (!starts && !opens && rcx_sim_deliver(run->net, ranks))
            good = drain(run, ranks[0]) && drain(run, ranks[1]);
        else if (!starts && run->gate_count > 0)
            good = open_gate(run);
        else if (run->waiting_count > 0)
            good = start(run, run->waiting[--run->waiting_count]);
        else if (run->last)
            good = open_gate(run);
        else
            break;
    }
    return good;
}

/* Prepare the plan of a run, and memory for its execution. Rendezvous runs
 * execute the plan itself, others the plan with gates. */
static const struct rcx_plan *prepare_plan(struct simulated_rank *rank,
                                           struct simulation *s,
                                           enum simulated_sends sends)
{
    const struct rcx_plan *plan = rank->plan;
    struct rcx_exec *x = rank->exec;

    if (sends != SENDS_RENDEZVOUS) {
        if (!rank->gated)
            rank->gated = rcx_gates_add(s->heap, plan);
        plan = rank->gated;
    }
    if (x && x->plan == plan)
        return plan;
    rcx_heap_free(s->heap, x);
    rank->exec = plan ? rcx_heap_alloc(s->heap, rcx_exec_bytes(plan)) : NULL;
    return rank->exec ? plan : NULL;
}

static bool prepare_exec(struct simulated_rank *rank, struct simulation *s,
                         struct run *run, const struct rcx_reducer *reducer)
{
    const struct rcx_plan *plan = prepare_plan(rank, s, run->sends);
    const int number = rank->shape.rank;
    const struct rcx_exec_setting setting = {.transport =
                                                 &run->ports[number].base,
                                             .reducer = reducer,
                                             .layout = s->layout,
                                             .rank = number,
                                             .is_stepwise = run->is_stepwise};
    struct rcx_exec *x = rank->exec;

    if (!plan)
        return false;
    rcx_exec_init(x, plan, &setting);
    x->tag_base = 0; /* there are no other calls to distinguish */
    memcpy(x->base, rank->base, sizeof x->base);
    x->base[RCX_BUFFER_IN] += s->row.first * x->elem_bytes;
    x->base[RCX_BUFFER_IN] -= rank->in_at * x->elem_bytes;
    x->base[RCX_BUFFER_OUT] += s->row.first * x->elem_bytes;
    x->base[RCX_BUFFER_OUT] -= rank->out_at * x->elem_bytes;
    return true;
}

static bool open_run(struct run *run, struct simulation *s,
                     const struct simulated_run *args)
{
    const size_t n = (size_t)s->size;
    bool good = true;

    *run = (struct run){.s = s,
                        .random = args->seed,
                        .sends = args->sends,
                        .is_stepwise = s->is_changed || args->seed % 2 == 0};
    run->net = rcx_sim_create(s->heap, s->size, rcx_random(&run->random));
    run->ports = rcx_heap_zalloc(s->heap, n * sizeof *run->ports);
    run->waiting = rcx_heap_zalloc(s->heap, n * sizeof *run->waiting);
    run->gates =
        rcx_heap_alloc(s->heap, (s->step_count + 1) * sizeof *run->gates);
    if (!run->net || !run->ports || !run->waiting || !run->gates)
        return false;
    for (int i = 0; i < s->size && good; i++) {
        run->ports[i] = (struct port){.base.ops = &port_ops,
                                      .run = run,
                                      .net = rcx_sim_port(run->net, i)};
        good = prepare_exec(&s->ranks[i], s, run, args->reducer);
        if (i != args->late) { /* inside-out shuffle */
            const int j = (int)(rcx_random(&run->random) %
                                (uint64_t)(run->waiting_count + 1));

            run->waiting[run->waiting_count++] = run->waiting[j];
            run->waiting[j] = i;
        }
    }
    run->gates_to_last = rcx_random(&run->random) % (s->step_count + 1);
    return good;
}

static void close_run(struct run *run)
{
    while (run->eager)
        free_eager(run, run->eager);
    rcx_sim_destroy(run->net);
    rcx_heap_free(run->s->heap, run->ports);
    rcx_heap_free(run->s->heap, run->waiting);
    rcx_heap_free(run->s->heap, run->gates);
}

/* Describe a deadlock in s->text: steps that one of the incomplete ranks waits
 * for. */
static void describe_deadlock(struct simulation *s, const struct run *run)
{
    char *text = s->text;
    size_t at;
    int i = 0;

    while (s->ranks[i].exec->steps_left == 0)
        i++;

    const struct rcx_exec *x = s->ranks[i].exec;

    at = (size_t)snprintf(text, sizeof s->text,
                          "deadlock: %d of %d ranks do not complete; rank %d "
                          "waits for",
                          s->size - run->complete, s->size, i);
    for (uint32_t k = 0; k < x->plan->step_count && at < 200; k++) {
        const struct rcx_step *step = &x->plan->steps[k];

        if (x->messages[k].status == RCX_IN_PROGRESS)
            at += (size_t)snprintf(
                text + at, sizeof s->text - at, " step %u, %s %d", k,
                step->kind == RCX_STEP_RECV ? "recv from" : "send to",
                step->peer);
    }
}

static bool check_end(struct simulation *s, const struct run *run)
{
    const size_t unmatched = rcx_sim_unmatched(run->net);
    const size_t held = rcx_sim_held(run->net);

    if (run->complete < s->size) {
        describe_deadlock(s, run);
        return false;
    }
    if (unmatched > 0) {
        snprintf(s->text, sizeof s->text, "%zu messages are never received",
                 unmatched);
        return false;
    }
    if (rcx_sim_delivered(run->net) != s->messages) {
        snprintf(s->text, sizeof s->text, "messages were lost");
        return false;
    }
    if (held > 0) {
        snprintf(s->text, sizeof s->text, "%zu messages are never released",
                 held);
        return false;
    }
    return true;
}

bool simulation_run(struct simulation *s, struct simulated_run *args)
{
    struct run run;
    bool good = open_run(&run, s, args);

    s->text[0] = 0;
    s->lacks_memory = !good;
    good = good && deliver(&run);
    args->early = run.complete;
    if (good && args->late >= 0)
        good = start(&run, args->late) && deliver(&run);
    good = good && check_end(s, &run);
    close_run(&run);
    if (s->lacks_memory)
        return simulation_lacks_memory(s);
    return good;
}
