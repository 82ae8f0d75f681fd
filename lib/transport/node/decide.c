/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides how messages travel through shared memory. Each size is where two
 * ways cost the same by the figures of the node.
 */
#include "transport/node/decide.h"

#include <math.h>

/*
 * CONTROL_NS: an answer without data, in the programs of both ranks. POLL_NS:
 * an empty poll of a rank with some peers. HAND_OVERS: passing a chunk on takes
 * at most 1/32 of the time to copy it: one line to pass it, one to return its
 * room. RING_MOST: also the longest range of RCX_SHM. LEAST: below this, sizes
 * make no difference that can be seen.
 */
enum {
    CONTROL_NS = 150,
    POLL_NS = 50,
    HAND_OVERS = 2 * 32,
    OWN_CHUNKS = 8,
    RING_MOST = 4 << 20,
    RING_SHARED_CORES = 512 << 10,
    RING_LEAST = 8 << 10,
    FIFO = 4352,          /* bytes beside the ring: see struct rcx_shm_fifo */
    RANK_MOST = 16 << 20, /* bytes of the rings to one rank */
    NODE_MOST = 1 << 30,  /* bytes of all memory that ranks of a node share */
    CICO_MOST = 1 << 20,  /* of one rank; all have an eighth of NODE_MOST */
    CHUNK_LEAST = 4 << 10,
    LEAST = 1 << 10,
    READ_MOST = 16 << 20, /* a way that does not pay below never does */
    POLLS_LEAST = 8,
    POLLS_MOST = 4096
};

static const double about = 1.5;

/* The nearest power of two between limits. */
static size_t power_near(double bytes, size_t least, size_t most)
{
    size_t power = least;

    while (power < most && bytes > (double)power * M_SQRT2)
        power *= 2;
    return power;
}

static const struct rcx_pair_figures *pair_of(const struct rcx_decide_facts *f)
{
    return f->is_near ? &f->figures.near : &f->figures.far;
}

static bool shares_cores(const struct rcx_decide_facts *f)
{
    return f->tasks > f->cores;
}

/* ---- The ring ------------------------------------------------------------ */

/* A line that a core writes again may still be in the reader's own cache, or
 * only in the cache that both share. Which costs less is measured. It is the
 * shared one unless that is clearly slower: messages of a few KB gain more by
 * it than blocks of 64 KB show. */
static bool goes_beyond(const struct rcx_decide_facts *f)
{
    const struct rcx_pair_figures *p = pair_of(f);

    return p->write_out + p->read_out <= (p->write + p->read) * about;
}

/* The buffer for copies that several peers read. */
static size_t cico_bytes(const struct rcx_decide_facts *f)
{
    size_t bytes = CICO_MOST;

    while (bytes > RING_LEAST && bytes * f->ranks > NODE_MOST / 8)
        bytes /= 2;
    return bytes;
}

/* Whether ranks with rings of this length would share too much memory. */
static bool is_too_much(const struct rcx_decide_facts *f, size_t ring)
{
    const size_t to_one = (ring + FIFO) * f->ranks;

    return ring * f->ranks > RANK_MOST ||
           (to_one + cico_bytes(f)) * f->ranks > NODE_MOST;
}

/*
 * Twice the size of a core's own cache, so that lines have left it when they
 * are written again; or half of it, so that they are still there. Less if the
 * shared cache cannot hold all rings, or if ranks share a core and so its
 * cache.
 */
static size_t ring_bytes(const struct rcx_decide_facts *f)
{
    const double own = (double)f->figures.own;
    const size_t ranks = f->ranks;
    size_t ring = power_near(goes_beyond(f) ? 2 * own : own / 2,
                             RING_SHARED_CORES, RING_MOST);

    if (shares_cores(f))
        ring = RING_SHARED_CORES;
    while (ring > RING_SHARED_CORES && ring * ranks * ranks > f->figures.shared)
        ring /= 2;
    while (ring > RING_LEAST && is_too_much(f, ring))
        ring /= 2;
    return ring;
}

/* ---- Long messages ------------------------------------------------------- */

/* A byte that goes through a ring: into it, and out of it. */
static double write_of(const struct rcx_decide_facts *f)
{
    const struct rcx_pair_figures *p = pair_of(f);

    return goes_beyond(f) ? p->write_out : p->write;
}

static double read_of(const struct rcx_decide_facts *f)
{
    const struct rcx_pair_figures *p = pair_of(f);

    return goes_beyond(f) ? p->read_out : p->read;
}

/* One rank waits for another one of its core: each other rank of the core runs
 * before. 0: each rank has a core. */
static double turn_of(const struct rcx_decide_facts *f)
{
    const size_t others = (f->tasks + f->cores - 1) / f->cores - 1;

    return shares_cores(f) ? f->figures.turn * (double)others : 0;
}

/* A sender whose message is read where it is waits for an answer: a line, a
 * control message, and where cores are shared a turn of each side. */
static double answer_of(const struct rcx_decide_facts *f)
{
    return pair_of(f)->line + CONTROL_NS + 2 * turn_of(f);
}

/* So long that handing it over is a small part of copying it. The reader copies
 * one chunk while the writer writes the next one, so it is not longer; nor than
 * an eighth of the own cache, where it is combined with as much into as
 * much. */
static size_t chunk_bytes(const struct rcx_decide_facts *f)
{
    const double byte = rcx_larger(write_of(f), read_of(f));
    const double most = (double)f->figures.own / OWN_CHUNKS;
    const double bytes = HAND_OVERS * pair_of(f)->line / byte;

    return power_near(bytes < most ? bytes : most, CHUNK_LEAST,
                      RING_MOST / RCX_SHM_CHUNKS);
}

/* Reading a message where it is saves the copy into the ring, and costs an
 * answer. What it costs the next writer of that memory, whose lines the reader
 * has then, depends on the program: much if it writes at once, nothing if it
 * never does. */
static size_t direct_bytes(const struct rcx_decide_facts *f)
{
    return power_near(answer_of(f) / write_of(f), LEAST, READ_MOST);
}

/* What the kernel saves for each byte, if anything: both copies, and the turns
 * in which a ring is filled and emptied. It reads memory of far cores as slowly
 * as a copy does. */
static double saved_by_cma(const struct rcx_decide_facts *f, size_t ring)
{
    const double farther = pair_of(f)->read - f->figures.near.read;

    return write_of(f) + read_of(f) + 2 * turn_of(f) / (double)ring -
           f->figures.cma_byte - farther;
}

/* A call and an answer cost as much as what its bytes save. */
static double cma_bytes(const struct rcx_decide_facts *f, size_t ring)
{
    const double saved = saved_by_cma(f, ring);

    return saved > 0 ? (f->figures.cma_call + answer_of(f)) / saved : INFINITY;
}

static size_t cma_from(const struct rcx_decide_facts *f, size_t ring)
{
    const double bytes = f->has_cma ? cma_bytes(f, ring) : INFINITY;

    return bytes > READ_MOST ? SIZE_MAX : power_near(bytes, LEAST, READ_MOST);
}

bool rcx_decide_cma_pays(const struct rcx_decide_facts *f)
{
    enum { SEGMENT = 64 << 10 };

    return f->has_cma && cma_bytes(f, ring_bytes(f)) <= SEGMENT;
}

bool rcx_decide_may_search(const struct rcx_decide_facts *f,
                           const struct rcx_shm_settings *set)
{
    return f->has_cma && !set->cma && !shares_cores(f);
}

/* ---- All ----------------------------------------------------------------- */

/* Spinning for as long as a turn takes loses at most as much again. */
static size_t polls_of(const struct rcx_decide_facts *f)
{
    const double polls = f->figures.turn / POLL_NS;

    return polls < POLLS_LEAST  ? POLLS_LEAST
           : polls > POLLS_MOST ? POLLS_MOST
                                : (size_t)polls;
}

/* Operands and results of a call, as they fill a rank's part of the last cache:
 * what is written then, evicts what was. */
static size_t stream_from(const struct rcx_decide_facts *f)
{
    const size_t ranks = (f->tasks * f->near_cores + f->cores - 1) / f->cores;

    return power_near((double)f->figures.shared / (double)(ranks ? ranks : 1),
                      (size_t)f->figures.own, (size_t)1 << 40);
}

static size_t either(size_t set, size_t decided)
{
    return set ? set : decided;
}

void rcx_decide(const struct rcx_decide_facts *f,
                const struct rcx_shm_settings *set,
                struct rcx_shm_settings *settings_p)
{
    struct rcx_shm_settings s;

    s.ring = either(set->ring, ring_bytes(f));
    s.chunk = either(set->chunk, chunk_bytes(f));
    s.direct = either(set->direct, direct_bytes(f));
    s.cma = either(set->cma, cma_from(f, s.ring));
    s.cico = either(set->cico, cico_bytes(f));
    s.eager = either(set->eager, s.chunk);
    s.stream = either(set->stream, stream_from(f));
    s.polls = either(set->polls, polls_of(f));
    if (!f->has_cma)
        s.cma = SIZE_MAX;
    rcx_shm_settings_limit(&s);
    *settings_p = s;
}
