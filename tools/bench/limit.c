/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lower bound of what a library can reach on this machine: limit -n 2
 *
 * The timing loop without a library. Two processes share the memory of the
 * loop's buffers, and only load and store. There are no tags, no messages, and
 * no other calls to distinguish. The difference between a library's time and
 * this one is the library's overhead.
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
 * A vector of up to SHORT bytes travels in a cache line together with the
 * call's number. Longer vectors are read in place. Below HALVES bytes, each
 * rank sums all elements; from there on, each sums one half and copies the
 * other half of the result.
 */
enum { LINE = 64, SHORT = 56, HALVES = 256 << 10 };
static const size_t arena_bytes = (size_t)1 << 30; /* of each rank */

struct line {
    _Alignas(LINE) _Atomic uint64_t number;
    float data[SHORT / sizeof(float)];
};

/* Memory that one rank writes. It has two lines, as the other rank may be one
 * call behind. */
struct side {
    struct line lines[2];
    _Alignas(LINE) _Atomic uint64_t step;
    char *arena;
    size_t used;
};

static struct side *sides; /* of both ranks, in shared memory */
static struct side *mine, *theirs;
static const struct ranks *my_ranks;
static uint64_t calls, steps;

static inline void wait_for(_Atomic uint64_t *number, uint64_t value)
{
    while (atomic_load_explicit(number, memory_order_acquire) < value)
        ;
}

/* Wait until both ranks have called it. */
static void meet(void)
{
    atomic_store_explicit(&mine->step, ++steps, memory_order_release);
    wait_for(&theirs->step, steps);
}

/* The same offset in the other rank's arena. */
static const float *other(const float *here)
{
    return (const float *)(const void *)(theirs->arena +
                                         ((const char *)here - mine->arena));
}

/* Uses the widest vectors of the machine, as RCX's kernels do. */
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
