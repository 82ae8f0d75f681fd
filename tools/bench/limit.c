/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the machine allows: limit -n 2
 *
 * The timing loop over no library. Two processes that share all memory of the
 * loop's buffers load and store, and nothing else: no tags, no messages, no
 * other rank that may call something else. What a library takes longer than
 * this is the price of being one.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "loop.h"
#include "ranks.h"

/*
 * Short vectors travel in a line with their number. What is read where it lies
 * is read in full by both up to HALVES; from there on each sums one half, and
 * reads the result of the other.
 */
enum { LINE = 64, SHORT = 56, HALVES = 256 << 10 };
static const size_t arena_bytes = (size_t)1 << 30; /* of a rank */

struct line {
    _Alignas(LINE) _Atomic uint64_t number;
    float data[SHORT / sizeof(float)];
};

/* A rank's to write. Two lines, as the other one may be one call behind. */
struct side {
    struct line lines[2];
    _Alignas(LINE) _Atomic uint64_t step;
    char *arena;
    size_t used;
};

static struct side *sides; /* of both, shared */
static struct side *mine, *theirs;
static const struct ranks *my_ranks;
static uint64_t calls, steps;

static inline void wait_for(_Atomic uint64_t *number, uint64_t value)
{
    while (atomic_load_explicit(number, memory_order_acquire) < value)
        ;
}

/* Both have come here. */
static void meet(void)
{
    atomic_store_explicit(&mine->step, ++steps, memory_order_release);
    wait_for(&theirs->step, steps);
}

/* What the other rank has at the same place of its arena. */
static const float *other(const float *here)
{
    return (const float *)(const void *)(theirs->arena +
                                         ((const char *)here - mine->arena));
}

/* As wide as the machine has it, as RCX's kernels are. */
#if defined(__x86_64__) && defined(__linux__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void
add(float *restrict out, const float *restrict a, const float *restrict b,
    size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}

static void short_sum(const struct loop_call *c)
{
    struct line *to = &mine->lines[calls % 2],
                *from = &theirs->lines[calls % 2];

    calls++;
    memcpy(to->data, c->in, c->count * sizeof(float));
    atomic_store_explicit(&to->number, calls, memory_order_release);
    wait_for(&from->number, calls);
    add(c->out, c->in, from->data, c->count);
}

static void sum_halves(const struct loop_call *c)
{
    const size_t half = c->count / 2, rest = c->count - half;
    const size_t at = my_ranks->rank == 0 ? 0 : half;
    const size_t there = half - at, n = at ? rest : half;

    add(c->out + at, c->in + at, other(c->in) + at, n);
    meet();
    memcpy(c->out + there, other(c->out) + there,
           (c->count - n) * sizeof(float));
}

static int allreduce(const struct loop_call *c)
{
    const size_t bytes = c->count * sizeof(float);

    if (bytes <= SHORT) {
        short_sum(c);
        return 0;
    }
    meet();
    if (bytes < HALVES)
        add(c->out, c->in, other(c->in), c->count);
    else
        sum_halves(c);
    meet();
    return 0;
}

static int barrier(const struct loop_call *c)
{
    (void)c;
    meet();
    return 0;
}

static int init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return my_ranks->size != 2;
}

static void *memory(size_t bytes)
{
    void *at = mine->arena + mine->used;

    mine->used += (bytes + 4095) & ~(size_t)4095;
    return mine->used <= arena_bytes ? at : NULL;
}

static int rank(void)
{
    return my_ranks->rank;
}

static int size(void)
{
    return my_ranks->size;
}

static const char *version(void)
{
    return "limit";
}

static int finalize(void)
{
    return 0;
}

static int run(int argc, char **argv, const struct ranks *ranks)
{
    const struct loop_peer peer = {
        .init = init,
        .colls = {[LOOP_ALLREDUCE] = allreduce, [LOOP_BARRIER] = barrier},
        .memory = memory,
        .rank = rank,
        .size = size,
        .version = version,
        .finalize = finalize};

    my_ranks = ranks;
    mine = &sides[ranks->rank];
    theirs = &sides[1 - ranks->rank];
    return ranks->size == 2 ? loop_main(argc, argv, &peer) : LOOP_LACKS;
}

static void *share(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at != MAP_FAILED)
        return at;
    perror("bench: limit");
    exit(1);
}

int main(int argc, char **argv)
{
    sides = share(2 * sizeof *sides);
    sides[0].arena = share(arena_bytes);
    sides[1].arena = share(arena_bytes);
    return ranks_fork(argc, argv, run);
}
