/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network between nodes: rank 0 and the first rank of another node exchange
 * messages, and all ranks agree on what rank 0 has measured. The result is
 * rounded to powers of the square root of 2, so that most runs have the same.
 */
#include "core/api/network.h"

#include <math.h>

#include "core/base/clock.h"

/*
 * A short message: the quickest of SHORT_TRIPS counts. One that waits for no
 * other: half of what a second one adds to the quickest round trip. A byte: of
 * two long messages one after the other, the second one's time counts, as a
 * shaper lets the first bytes after a pause pass at a higher rate. They get
 * longer until one takes long_seconds, or is LONGEST. Then the quickest of
 * LONG_TRIPS counts, unless one takes most_seconds.
 */
enum { SHORT = 8, SHORT_TRIPS = 16, LONG_TRIPS = 3 };
enum { LONG = 96 << 10, LONGEST = 8 * LONG };
static const double long_seconds = 0.3e-3, most_seconds = 1.5e-3;
enum { TAG = 0 };

/* ---- What ranks agree on ------------------------------------------------- */

/* The word of an agreement is the AND of all words. Each price is one byte of
 * it, a power of sqrt(2) of its unit; all bits set: not known. */
enum { BITS = 8, UNKNOWN = (1 << BITS) - 1, PRICES = 3 };
static const double units[PRICES] = {1e-9, 1e-15, 1e-9};

static const double root = 1.41421356237309505; /* of 2 */

static double seconds_of(uint64_t power, double unit)
{
    while (power-- > 0)
        unit *= root;
    return unit;
}

/* The nearest power. */
static uint64_t power_of(double seconds, double unit)
{
    uint64_t power = 0;

    while (power < UNKNOWN - 1 &&
           seconds_of(2 * power + 1, unit) < seconds * seconds / unit)
        power++;
    return power;
}

static uint64_t price_of(uint64_t word, int i)
{
    return word >> i * BITS & UNKNOWN;
}

static bool is_known(uint64_t word)
{
    for (int i = 0; i < PRICES; i++)
        if (price_of(word, i) == UNKNOWN)
            return false;
    return true;
}

/* ---- Messages ------------------------------------------------------------ */

/* Between rank 0 and peer. */
struct pair {
    rcx_comm_t *comm;
    int peer;
    char reply[SHORT];
    char buffer[LONGEST];
};

static double seconds_since(uint64_t start_ns)
{
    return 1e-9 * (double)(rcx_now_ns() - start_ns);
}

/* Reply to all messages of rank 0, until an empty one comes. */
static rcx_status_t echo(struct pair *p)
{
    rcx_recv_info_t got;
    rcx_status_t status;

    do {
        status =
            rcx_recv(p->buffer, LONGEST, RCX_BYTE, p->peer, TAG, p->comm, &got);
        if (status == RCX_OK && got.count > 0)
            status = rcx_send(p->reply, SHORT, RCX_BYTE, p->peer, TAG, p->comm);
    } while (status == RCX_OK && got.count > 0);
    return status;
}

/* Send two messages of so many bytes. Stores the times of both replies. */
static rcx_status_t time_two(struct pair *p, size_t bytes, double seconds[2])
{
    const uint64_t start = rcx_now_ns();
    rcx_request_t *sends[2] = {NULL, NULL};
    rcx_status_t status = RCX_OK, sent;

    for (int i = 0; i < 2 && status == RCX_OK; i++)
        status = rcx_isend(p->buffer, bytes, RCX_BYTE, p->peer, TAG, p->comm,
                           &sends[i]);
    for (int i = 0; i < 2 && status == RCX_OK; i++) {
        status =
            rcx_recv(p->reply, SHORT, RCX_BYTE, p->peer, TAG, p->comm, NULL);
        seconds[i] = seconds_since(start);
    }
    sent = rcx_wait_all(2, sends);
    for (int i = 0; i < 2; i++)
        if (sends[i])
            rcx_request_free(&sends[i]);
    return status == RCX_OK ? sent : status;
}

static rcx_status_t time_short(struct pair *p, double *alpha_p)
{
    rcx_status_t status = RCX_OK;

    *alpha_p = INFINITY;
    for (int i = 0; i < SHORT_TRIPS && status == RCX_OK; i++) {
        const uint64_t start = rcx_now_ns();
        double seconds;

        status = rcx_send(p->buffer, SHORT, RCX_BYTE, p->peer, TAG, p->comm);
        if (status == RCX_OK)
            status = rcx_recv(p->reply, SHORT, RCX_BYTE, p->peer, TAG, p->comm,
                              NULL);
        seconds = 0.5 * seconds_since(start);
        *alpha_p = seconds < *alpha_p ? seconds : *alpha_p;
    }
    return status;
}

/* The first reply may be late, so half of both is the least of the second. */
static rcx_status_t time_second(struct pair *p, size_t bytes, double *seconds_p)
{
    double seconds[2] = {0, 0}, second;
    const rcx_status_t status = time_two(p, bytes, seconds);

    second = seconds[1] - seconds[0];
    *seconds_p = second > 0.5 * seconds[1] ? second : 0.5 * seconds[1];
    return status;
}

static rcx_status_t time_long(struct pair *p, double *beta_p)
{
    size_t bytes = LONG;
    double second = 0, again;
    rcx_status_t status = time_second(p, bytes, &second);

    while (status == RCX_OK && second < long_seconds && bytes < LONGEST) {
        bytes *= 2;
        status = time_second(p, bytes, &second);
    }
    for (int i = 1; i < LONG_TRIPS && status == RCX_OK && second < most_seconds;
         i++) {
        status = time_second(p, bytes, &again);
        second = again < second ? again : second;
    }
    *beta_p = second / (double)bytes;
    return status;
}

/* A second message adds to a round trip what one rank takes to receive it and
 * to send the reply. */
static rcx_status_t time_tell(struct pair *p, double alpha, double *tell_p)
{
    double both = INFINITY;
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < SHORT_TRIPS && status == RCX_OK; i++) {
        double seconds[2] = {0, 0};

        status = time_two(p, SHORT, seconds);
        both = seconds[1] < both ? seconds[1] : both;
    }
    *tell_p = both > 2 * alpha ? 0.5 * (both - 2 * alpha) : 0;
    return status;
}

static rcx_status_t time_network(struct pair *p, struct rcx_link *link)
{
    rcx_status_t status = time_short(p, &link->alpha);

    if (status == RCX_OK)
        status = time_tell(p, link->alpha, &link->tell);
    if (status == RCX_OK)
        status = time_long(p, &link->beta);
    return status == RCX_OK
               ? rcx_send(p->buffer, 0, RCX_BYTE, p->peer, TAG, p->comm)
               : status;
}

/* ---- The context --------------------------------------------------------- */

static int first_elsewhere(const struct rcx_nodes *nodes)
{
    int rank = 1;

    while (nodes->node[rank] == nodes->node[0])
        rank++;
    return rank;
}

static double beyond(double near, double all)
{
    return all > near ? all - near : 0;
}

rcx_status_t rcx_network_time(struct rcx_context *context, struct rcx_link *far)
{
    const int rank = context->boot->rank;
    const int other = first_elsewhere(rcx_nodes_linked(context->nodes));
    const struct rcx_machine *near = &context->machine;
    struct rcx_link all = {0, 0, 0};
    rcx_status_t status;
    struct pair *p;

    if (rank != 0 && rank != other)
        return RCX_OK;
    p = context->pair ?: rcx_heap_zalloc(&context->heap, sizeof *p);
    if (!p)
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory to measure the network");
    context->pair = p;
    p->comm = context->internal;
    p->peer = rank ? 0 : other;
    status = rank ? echo(p) : time_network(p, &all);
    if (status == RCX_OK) {
        rcx_heap_free(&context->heap, p);
        context->pair = NULL;
    }
    *far = (struct rcx_link){.alpha = beyond(near->alpha, all.alpha),
                             .beta = beyond(near->beta, all.beta),
                             .tell = beyond(near->tell, all.tell)};
    return status;
}

static uint64_t word_of(const struct rcx_link *far)
{
    const double prices[PRICES] = {far->alpha, far->beta, far->tell};
    uint64_t word = UINT64_MAX << PRICES * BITS;

    for (int i = 0; i < PRICES; i++)
        word |= power_of(prices[i], units[i]) << i * BITS;
    return word;
}

static bool is_near(double a, double b)
{
    return a < 4 * b && b < 4 * a;
}

static void tell(struct rcx_context *context, double ms)
{
    const struct rcx_link *is = &context->machine.link[RCX_LEVEL_NODE];
    const struct rcx_link *usual =
        &context->config.tuning.machine.link[RCX_LEVEL_NODE];

    if (context->boot->rank != 0)
        return;
    rcx_info(&context->log,
             "the network between ranks 0 and %d: "
             "far-alpha=%.3gus,far-beta=%.3gns,far-tell=%.3gus, measured in "
             "%.1f ms",
             first_elsewhere(rcx_nodes_linked(context->nodes)), 1e6 * is->alpha,
             1e9 * is->beta, 1e6 * is->tell, ms);
    if (!is_near(is->alpha, usual->alpha) || !is_near(is->beta, usual->beta))
        rcx_info(
            &context->log,
            "reductions whose bits depend on the algorithm are chosen for "
            "far-alpha=%.3gus,far-beta=%.3gns,far-tell=%.3gus, so that all "
            "runs have the same: RCX_MACHINE, or a file of rcx_tune, tells "
            "them this network",
            1e6 * usual->alpha, 1e9 * usual->beta, 1e6 * usual->tell);
}

rcx_status_t rcx_network_measure(struct rcx_context *context)
{
    const struct rcx_nodes *nodes = rcx_nodes_linked(context->nodes);
    const uint64_t begin_ns = rcx_now_ns();
    struct rcx_link *far = &context->machine.link[RCX_LEVEL_NODE];
    struct rcx_link here;
    rcx_status_t status;
    uint64_t word = UINT64_MAX; /* but for rank 0, or if a message failed */

    if (!nodes || !context->config.measures_network)
        return RCX_OK;
    status = rcx_network_time(context, &here);
    if (status == RCX_ERR_NOMEM)
        return status;
    if (status == RCX_OK && context->boot->rank == 0)
        word = word_of(&here);
    status =
        rcx_comm_agree(context->internal, &word, context->config.timeout_ns);
    context->is_told = false; /* the user has seen no error */
    if (status != RCX_OK || !is_known(word))
        return status;
    far->alpha = seconds_of(price_of(word, 0), units[0]);
    far->beta = seconds_of(price_of(word, 1), units[1]);
    far->tell = seconds_of(price_of(word, 2), units[2]);
    tell(context, 1e-6 * (double)(rcx_now_ns() - begin_ns));
    return RCX_OK;
}
