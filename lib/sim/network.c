/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated network: transports that post, deliver and cancel messages, and
 * send control messages. match.c finds the partners of messages.
 */
#include "sim/network.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/random.h"
#include "sim/match.h"
#include "sim/notifier.h"

enum { GARBAGE = 0xA5 };

struct port {
    struct rcx_transport base;
    struct rcx_sim *sim;
    int rank;
    struct side *arrived; /* threaded: sides of this rank that were completed,
                             oldest first */
    struct side **arrived_end;
    struct rcx_transport ctrl_inbox; /* threaded: queue of control messages from
                                       other threads */
    struct rcx_notifier notifier;
};

/* Data that is held for a receive. */
struct held {
    struct held *next;
    struct rcx_message *message;
    char *buffer;
    size_t bytes;
    _Alignas(16) char data[];
};

struct rcx_sim {
    struct rcx_heap *heap;
    int size;
    uint64_t random;
    struct port *ports;
    struct sides sides;
    struct held *held; /* newest first */
    uint64_t delivered;
    struct rcx_sim_fault fault;
    uint64_t posted;
    bool threaded;
    pthread_mutex_t mutex; /* threaded: protects the whole struct */
};

static void lock(struct rcx_sim *sim)
{
    if (sim->threaded)
        pthread_mutex_lock(&sim->mutex);
}

static void unlock(struct rcx_sim *sim)
{
    if (sim->threaded)
        pthread_mutex_unlock(&sim->mutex);
}

/* Complete the message of side in its rank's transport. */
static void finish(struct rcx_sim *sim, struct side *side)
{
    if (!side->is_send)
        side->message->bytes = side->bytes;
    if (side->is_masked)
        side->message->tag = side->tag;
    rcx_message_complete(&sim->ports[side->from].base, side->message,
                         side->status);
    sides_recycle(&sim->sides, side);
}

/* Complete side. A thread does not touch messages of another thread's rank, so
 * in threaded mode the rank finishes side in its next progress call. */
static void complete(struct rcx_sim *sim, struct side *side,
                     rcx_status_t status)
{
    struct port *port = &sim->ports[side->from];

    side->status = status;
    rcx_notifier_notify(&port->notifier);
    if (!sim->threaded) {
        finish(sim, side);
        return;
    }
    side->next = NULL;
    *port->arrived_end = side;
    port->arrived_end = &side->next;
}

static bool is_due(struct rcx_sim *sim, int rank)
{
    return rank == sim->fault.rank && sim->posted++ == sim->fault.after &&
           sim->fault.fails;
}

/* Match side, and notify the rank of its partner, which may sleep. */
static rcx_status_t match(struct rcx_sim *sim, struct side side)
{
    struct side *partner;
    const rcx_status_t status = sides_match(&sim->sides, side, &partner);

    if (status != RCX_OK)
        return status;
    if (partner)
        rcx_notifier_notify(&sim->ports[partner->from].notifier);
    return RCX_IN_PROGRESS;
}

static rcx_status_t add(struct port *port, struct side side)
{
    struct rcx_sim *sim = port->sim;
    rcx_status_t status;

    lock(sim);
    status = is_due(sim, port->rank) ? RCX_ERR_TRANSPORT : match(sim, side);
    unlock(sim);
    return status;
}

static rcx_status_t sim_send(struct rcx_transport *t, int peer,
                             const void *buffer, size_t bytes, uint64_t tag,
                             struct rcx_message *m)
{
    struct port *port = (struct port *)t;

    return add(port, (struct side){.is_send = true,
                                   .rank = peer,
                                   .from = port->rank,
                                   .tag = tag,
                                   .mask = UINT64_MAX,
                                   .buffer = (char *)buffer,
                                   .bytes = bytes,
                                   .message = m});
}

static rcx_status_t sim_recv(struct rcx_transport *t, int peer, void *buffer,
                             size_t bytes, uint64_t tag, struct rcx_message *m)
{
    struct port *port = (struct port *)t;

    (void)peer;
    if (bytes > 0) /* an acknowledgement may have no buffer */
        memset(buffer, GARBAGE, bytes);
    return add(port, (struct side){.rank = port->rank,
                                   .from = port->rank,
                                   .tag = tag,
                                   .mask = UINT64_MAX,
                                   .buffer = buffer,
                                   .bytes = bytes,
                                   .message = m});
}

static rcx_status_t sim_recv_masked(struct rcx_transport *t, void *buffer,
                                    size_t bytes, uint64_t tag, uint64_t mask,
                                    struct rcx_message *m)
{
    struct port *port = (struct port *)t;

    return add(port, (struct side){.rank = port->rank,
                                   .from = port->rank,
                                   .tag = tag,
                                   .mask = mask,
                                   .is_masked = true,
                                   .buffer = buffer,
                                   .bytes = bytes,
                                   .message = m});
}

/* Choose a pair at random. While fault.delays is not 0, pairs from the slow
 * rank are passed over, if there are others. */
static size_t choose(struct rcx_sim *sim)
{
    const size_t first = rcx_random(&sim->random) % sim->sides.pair_count;

    for (size_t k = 0; k < sim->sides.pair_count && sim->fault.delays > 0;
         k++) {
        const size_t i = (first + k) % sim->sides.pair_count;

        if (sim->sides.pairs[i].send->from != sim->fault.rank) {
            sim->fault.delays--;
            return i;
        }
    }
    return first;
}

/* ---- Data that is held --------------------------------------------------- */

/* Hold most data. False: it is to be copied to the buffer of recv. */
static bool hold(struct rcx_sim *sim, const struct side *send,
                 const struct side *recv)
{
    struct rcx_message *m = recv->message;
    struct held *held;

    if (sim->threaded || !m->may_hold || send->bytes != recv->bytes ||
        rcx_random(&sim->random) % 4 == 0)
        return false;
    held = rcx_heap_alloc(sim->heap, sizeof *held + send->bytes);
    if (!held)
        return false;
    *held = (struct held){.next = sim->held,
                          .message = m,
                          .buffer = recv->buffer,
                          .bytes = send->bytes};
    memcpy(held->data, send->buffer, send->bytes);
    sim->held = held;
    m->held = held->data;
    return true;
}

static void free_held(struct rcx_sim *sim, struct held **link)
{
    struct held *held = *link;

    *link = held->next;
    held->message->held = NULL;
    memset(held->data, GARBAGE, held->bytes);
    rcx_heap_free(sim->heap, held);
}

static void sim_release(struct rcx_transport *t, struct rcx_message *m)
{
    struct rcx_sim *sim = ((struct port *)t)->sim;
    struct held **link = &sim->held;

    while ((*link)->message != m)
        link = &(*link)->next;
    free_held(sim, link);
}

/* Now and then, copy data that is held to its buffer. */
static void end_some_hold(struct rcx_sim *sim)
{
    struct held **link = &sim->held;

    while (*link && rcx_random(&sim->random) % 8 > 0)
        link = &(*link)->next;
    if (!*link)
        return;
    memcpy((*link)->buffer, (*link)->data, (*link)->bytes);
    free_held(sim, link);
}

size_t rcx_sim_held(const struct rcx_sim *sim)
{
    size_t n = 0;

    for (const struct held *held = sim->held; held; held = held->next)
        n++;
    return n;
}

/* ---- Deliveries ---------------------------------------------------------- */

/* Move the data of a message to the sink of recv, if it is ready, or to its
 * buffer. In threaded mode always to the buffer, since a sink uses the state of
 * another thread's rank. */
static void hand_over(struct rcx_sim *sim, const struct side *send,
                      const struct side *recv)
{
    struct rcx_message *m = recv->message;

    if (!sim->threaded && rcx_message_offer_to_sink(m))
        m->sink->take(m, 0, send->buffer, send->bytes);
    else if (!hold(sim, send, recv))
        memcpy(recv->buffer, send->buffer, send->bytes);
}

bool rcx_sim_deliver(struct rcx_sim *sim, int ranks[2])
{
    if (sim->sides.pair_count == 0)
        return false;

    const size_t i = choose(sim);
    const struct pair pair = sim->sides.pairs[i];
    struct side *send = pair.send, *recv = pair.recv;
    const bool fits = send->bytes <= recv->bytes;

    sim->sides.pairs[i] = sim->sides.pairs[--sim->sides.pair_count];
    end_some_hold(sim);
    if (fits && send->bytes > 0)
        hand_over(sim, send, recv);
    recv->bytes = send->bytes;
    recv->tag = send->tag;
    ranks[0] = send->from;
    ranks[1] = recv->from;
    complete(sim, send, RCX_OK);
    complete(sim, recv, fits ? RCX_OK : RCX_ERR_MISMATCH);
    sim->delivered++;
    return true;
}

/* Take over completed sides and control messages. Returns their number. */
static unsigned take_arrived(struct port *port)
{
    unsigned events = 0;

    if (port->ctrl_inbox.ctrl) {
        *port->base.ctrl_end = port->ctrl_inbox.ctrl;
        port->base.ctrl_end = port->ctrl_inbox.ctrl_end;
        rcx_transport_init(&port->ctrl_inbox);
        events++;
    }
    for (; port->arrived; events++) {
        struct side *side = port->arrived;

        port->arrived = side->next;
        finish(port->sim, side);
    }
    port->arrived_end = &port->arrived;
    return events;
}

/* Deliver one message. In threaded mode only events of this rank are counted,
 * not deliveries to other ranks. */
static unsigned sim_progress(struct rcx_transport *t)
{
    struct port *port = (struct port *)t;
    int ranks[2];
    unsigned events;

    lock(port->sim);
    events = rcx_sim_deliver(port->sim, ranks);
    if (port->sim->threaded)
        events = take_arrived(port);
    unlock(port->sim);
    return events;
}

static void sim_cancel(struct rcx_transport *t, struct rcx_message *m)
{
    struct port *port = (struct port *)t;
    struct rcx_sim *sim = port->sim;
    struct side *side;

    lock(sim);
    side = sides_withdraw(&sim->sides, port->rank, m);
    if (side) {
        side->bytes = 0;
        side->status = RCX_ERR_CANCELED;
        finish(sim, side);
    }
    unlock(sim);
}

static bool sim_probe(struct rcx_transport *t, int peer, uint64_t tag,
                      uint64_t mask, struct rcx_arrival *found_p)
{
    struct port *port = (struct port *)t;
    struct rcx_sim *sim = port->sim;
    const struct side *side;

    (void)peer;
    lock(sim);
    side = sides_look_for(&sim->sides, port->rank, tag, mask);
    if (side)
        *found_p = (struct rcx_arrival){side->tag, side->bytes};
    unlock(sim);
    return side;
}

/* Sends that wait for a receive complete. */
static void sim_drop_unexpected(struct rcx_transport *t, uint64_t tag,
                                uint64_t mask)
{
    struct port *port = (struct port *)t;
    struct rcx_sim *sim = port->sim;
    struct side *side;

    lock(sim);
    while ((side = sides_take_send(&sim->sides, port->rank, tag, mask)))
        complete(sim, side, RCX_OK);
    unlock(sim);
}

static void sim_notify(struct rcx_transport *t, int peer, const void *note,
                       size_t bytes)
{
    struct rcx_sim *sim = ((struct port *)t)->sim;
    struct port *port = &sim->ports[peer];

    lock(sim);
    rcx_ctrl_queue_push(sim->threaded ? &port->ctrl_inbox : &port->base,
                        sim->heap, note, bytes);
    rcx_notifier_notify(&port->notifier);
    unlock(sim);
}

/* All threads share sim->heap. */
static void sim_free_ctrl(struct rcx_transport *t, struct rcx_ctrl_frame *frame)
{
    struct rcx_sim *sim = ((struct port *)t)->sim;

    lock(sim);
    rcx_ctrl_frame_free(frame);
    unlock(sim);
}

static void sim_version(char *text, size_t bytes)
{
    snprintf(text, bytes, "sim");
}

static rcx_status_t sim_address(struct rcx_transport *t, const void **address_p,
                                size_t *bytes_p)
{
    (void)t;
    *address_p = NULL;
    *bytes_p = 0;
    return RCX_OK;
}

static rcx_status_t sim_flush(struct rcx_transport *t)
{
    (void)t;
    return RCX_OK;
}

static int sim_event_fd(struct rcx_transport *t)
{
    return rcx_notifier_open(&((struct port *)t)->notifier);
}

static rcx_status_t sim_arm(struct rcx_transport *t)
{
    struct port *port = (struct port *)t;
    bool is_quiet;

    lock(port->sim);
    is_quiet = !port->arrived && !port->ctrl_inbox.ctrl &&
               port->sim->sides.pair_count == 0 &&
               rcx_notifier_arm(&port->notifier);
    unlock(port->sim);
    return is_quiet ? RCX_OK : RCX_IN_PROGRESS;
}

static void sim_wake(struct rcx_transport *t)
{
    rcx_notifier_wake(&((struct port *)t)->notifier);
}

static void give_up(struct rcx_sim *sim, struct side *side, int rank)
{
    if (side->from == rank)
        sides_recycle(&sim->sides, side);
    else
        complete(sim, side, RCX_ERR_TRANSPORT);
}

/* Close a rank: its memory becomes invalid, so its peers' messages with it
 * fail. */
static void sim_close(struct rcx_transport *t)
{
    struct port *port = (struct port *)t;
    struct rcx_sim *sim = port->sim;
    size_t kept = 0;

    lock(sim);
    sides_drop(&sim->sides, port->rank);
    for (size_t i = 0; i < sim->sides.pair_count; i++) {
        struct side *send = sim->sides.pairs[i].send,
                    *recv = sim->sides.pairs[i].recv;

        if (send->from != port->rank && recv->from != port->rank) {
            sim->sides.pairs[kept++] = sim->sides.pairs[i];
            continue;
        }
        give_up(sim, send, port->rank);
        give_up(sim, recv, port->rank);
    }
    sim->sides.pair_count = kept;
    unlock(sim);
}

/* clang-format off */
static const struct rcx_transport_ops sim_ops = {
    .name = "sim", .version = sim_version, .address = sim_address,
    .send = sim_send, .recv = sim_recv, .recv_masked = sim_recv_masked,
    .progress = sim_progress, .cancel = sim_cancel, .withdraw = sim_cancel, .probe = sim_probe, .drop_unexpected = sim_drop_unexpected, .send_ctrl = sim_notify, .release = sim_release,
    .free_ctrl = sim_free_ctrl, .event_fd = sim_event_fd, .arm = sim_arm,
    .wake = sim_wake, .flush = sim_flush, .close = sim_close,
};
/* clang-format on */

struct rcx_sim *rcx_sim_create(struct rcx_heap *heap, int size, uint64_t seed)
{
    struct rcx_sim *sim = rcx_heap_zalloc(heap, sizeof *sim);

    if (!sim)
        return NULL;
    sim->ports = rcx_heap_zalloc(heap, (size_t)size * sizeof *sim->ports);
    if (!sim->ports || !sides_open(&sim->sides, heap, size)) {
        rcx_heap_free(heap, sim->ports);
        rcx_heap_free(heap, sim);
        return NULL;
    }
    sim->heap = heap;
    sim->size = size;
    sim->random = seed;
    sim->fault.rank = -1;
    pthread_mutex_init(&sim->mutex, NULL);
    for (int i = 0; i < size; i++) {
        sim->ports[i] = (struct port){.base.ops = &sim_ops,
                                      .sim = sim,
                                      .base.ack_bytes = 256,
                                      .rank = i,
                                      .notifier.fd = -1};
        rcx_transport_init(&sim->ports[i].base);
        rcx_transport_init(&sim->ports[i].ctrl_inbox);
        sim->ports[i].arrived_end = &sim->ports[i].arrived;
    }
    return sim;
}

void rcx_sim_set_threaded(struct rcx_sim *sim)
{
    sim->threaded = true;
}

void rcx_sim_set_fault(struct rcx_sim *sim, const struct rcx_sim_fault *fault)
{
    sim->fault = *fault;
    sim->posted = 0;
}

static void free_ctrl_queue(struct rcx_transport *t)
{
    while (t->ctrl)
        rcx_ctrl_frame_free(rcx_ctrl_queue_pop(t));
}

void rcx_sim_destroy(struct rcx_sim *sim)
{
    if (!sim)
        return;
    for (int i = 0; i < sim->size; i++) {
        free_ctrl_queue(&sim->ports[i].base);
        free_ctrl_queue(&sim->ports[i].ctrl_inbox);
        rcx_notifier_close(&sim->ports[i].notifier);
    }
    pthread_mutex_destroy(&sim->mutex);
    while (sim->held)
        free_held(sim, &sim->held);
    sides_close(&sim->sides);
    rcx_heap_free(sim->heap, sim->ports);
    rcx_heap_free(sim->heap, sim);
}

struct rcx_transport *rcx_sim_port(struct rcx_sim *sim, int rank)
{
    return &sim->ports[rank].base;
}

size_t rcx_sim_unmatched(const struct rcx_sim *sim)
{
    return sim->sides.unmatched + sim->sides.pair_count;
}

uint64_t rcx_sim_delivered(const struct rcx_sim *sim)
{
    return sim->delivered;
}
