/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lower bound of what a library can reach on this machine: limit -n 2
 *
 * The timing loop without a library. The ranks share the memory of the loop's
 * buffers, and only load and store. There are no tags, no messages, no trees
 * and no other calls to distinguish. The difference between a library's time
 * and this one is the library's overhead; with many ranks a tree may be faster.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "loop.h"
#include "ranks.h"

/*
 * Up to SHORT bytes travel in a cache line together with the call's number.
 * More are read in place. If all operands together have at least SLICES bytes,
 * each rank sums one slice of the elements.
 */
enum {
    LINE = 64,
    SHORT = 56,
    SLICES = 256 << 10,
    MAX_RANKS = 64,
    MOST_SPINS = 20000
};
static const size_t arena_bytes = (size_t)1 << 30; /* of each rank */

struct line {
    _Alignas(LINE) _Atomic uint64_t number;
    float data[SHORT / sizeof(float)];
};

/* Memory that one rank writes. It has two lines, as other ranks may be one call
 * behind. */
struct side {
    struct line lines[2];
    _Alignas(LINE) _Atomic uint64_t step;
    _Alignas(LINE) _Atomic uint64_t taken; /* calls whose lines it has read */
    char *arena;
    size_t used;
};

static struct side *sides; /* of all ranks, in shared memory */
static struct side *mine;
static const struct ranks *my_ranks;
static uint64_t calls, steps;

/* Where ranks share cores, others have to run. */
static inline void wait_for(_Atomic uint64_t *number, uint64_t value)
{
    for (int spins = 0;
         atomic_load_explicit(number, memory_order_acquire) < value; spins++)
        if (spins > MOST_SPINS)
            sched_yield();
}

/* Wait until all ranks have called it. */
static void meet(void)
{
    atomic_store_explicit(&mine->step, ++steps, memory_order_release);
    for (int i = 0; i < my_ranks->size; i++)
        wait_for(&sides[i].step, steps);
}

/* The same offset in another rank's arena. */
static float *at(int rank, const float *here)
{
    return (float *)(void *)(sides[rank].arena +
                             ((const char *)here - mine->arena));
}

/* The rank that is n ranks after this one. Ranks begin with different ones. */
static int after(int n)
{
    return (my_ranks->rank + n) % my_ranks->size;
}

/* The first element of a rank's slice. */
static size_t slice(const struct loop_call *c, int rank)
{
    return c->count * (size_t)rank / (size_t)my_ranks->size;
}

/* Use the widest vectors of the machine, as RCX's kernels do. */
#if defined(__x86_64__) && defined(__linux__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

WIDE static void add(float *restrict out, const float *restrict a,
                     const float *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}

WIDE static void add_to(float *restrict out, const float *restrict a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] += a[i];
}

/* out = the sum of n elements of all ranks' operands, from element first on */
static void sum_all(const struct loop_call *c, float *out, size_t first,
                    size_t n)
{
    if (n == 0)
        return;
    if (my_ranks->size == 1)
        memcpy(out, c->in + first, n * sizeof(float));
    else
        add(out, c->in + first, at(after(1), c->in) + first, n);
    for (int i = 2; i < my_ranks->size; i++)
        add_to(out, at(after(i), c->in) + first, n);
}

/* ---- Short operands, in a cache line ------------------------------------- */

/* Start a call of short operands, and return the line to write in. What it had
 * two calls ago has been read: where all ranks read each other's lines, they do
 * so in each call before they write in the next one. */
static struct line *next_line(void)
{
    return &mine->lines[++calls % 2];
}

/* The same where ranks from to to - 1 only read: wait until they have. */
static struct line *next_line_for(int from, int to)
{
    struct line *line = next_line();

    for (int i = from; calls > 2 && i < to; i++)
        if (i != my_ranks->rank)
            wait_for(&sides[i].taken, calls - 2);
    return line;
}

static void write_line(struct line *line, const float *data, size_t count)
{
    memcpy(line->data, data, count * sizeof(float));
    atomic_store_explicit(&line->number, calls, memory_order_release);
}

static const float *read_line(int rank)
{
    struct line *line = &sides[rank].lines[calls % 2];

    wait_for(&line->number, calls);
    return line->data;
}

static void take_lines(void)
{
    atomic_store_explicit(&mine->taken, calls, memory_order_release);
}

static int is_short(size_t count)
{
    return count * sizeof(float) <= SHORT;
}

/* Write the operand, and sum all ranks' operands. */
static void short_sum(const struct loop_call *c)
{
    write_line(next_line(), c->in, c->count);
    memcpy(c->out, c->in, c->count * sizeof(float));
    for (int i = 1; i < my_ranks->size; i++)
        add_to(c->out, read_line(after(i)), c->count);
    take_lines();
}

/* Write the operand, and copy count elements of each rank's, from element first
 * on. */
static void short_copies(const struct loop_call *c, size_t first)
{
    write_line(next_line(), c->in, c->in_count);
    for (int i = 0; i < my_ranks->size; i++)
        memcpy(c->out + (size_t)i * c->count, read_line(i) + first,
               c->count * sizeof(float));
    take_lines();
}

/* ---- Collectives --------------------------------------------------------- */

static int allreduce(const struct loop_call *c)
{
    const size_t bytes = c->count * sizeof(float);

    if (is_short(c->count)) {
        short_sum(c);
        return 0;
    }
    meet();
    if (bytes * (size_t)(my_ranks->size - 1) < SLICES) {
        sum_all(c, c->out, 0, c->count);
    } else {
        const size_t first = slice(c, my_ranks->rank);

        sum_all(c, c->out + first, first, slice(c, my_ranks->rank + 1) - first);
        meet();
        for (int i = 1; i < my_ranks->size; i++) {
            const size_t to = slice(c, after(i));

            memcpy(c->out + to, at(after(i), c->out) + to,
                   (slice(c, after(i) + 1) - to) * sizeof(float));
        }
    }
    meet();
    return 0;
}

static void short_reduce(const struct loop_call *c)
{
    if (my_ranks->rank == 0) {
        short_sum(c);
        return;
    }
    write_line(next_line_for(0, 1), c->in, c->count);
    take_lines();
}

static int reduce(const struct loop_call *c)
{
    const size_t bytes = c->count * sizeof(float);

    if (is_short(c->count)) {
        short_reduce(c);
        return 0;
    }
    meet();
    if (bytes * (size_t)(my_ranks->size - 1) >= SLICES) {
        const size_t first = slice(c, my_ranks->rank);

        sum_all(c, at(0, c->out) + first, first,
                slice(c, my_ranks->rank + 1) - first);
    } else if (my_ranks->rank == 0) {
        sum_all(c, c->out, 0, c->count);
    }
    meet();
    return 0;
}

static int bcast(const struct loop_call *c)
{
    const int is_root = my_ranks->rank == 0;

    if (is_short(c->count)) {
        struct line *line = next_line_for(0, is_root ? my_ranks->size : 0);

        if (is_root)
            write_line(line, c->in, c->count);
        else
            memcpy(c->out, read_line(0), c->count * sizeof(float));
        take_lines();
        return 0;
    }
    meet();
    if (!is_root)
        memcpy(c->out, at(0, c->in), c->count * sizeof(float));
    meet();
    return 0;
}

/* Copy a block of each rank, which begins at element first of its operand. */
static void copy_blocks(const struct loop_call *c, size_t first)
{
    if (is_short(c->in_count)) {
        short_copies(c, first);
        return;
    }
    meet();
    for (int i = 0; i < my_ranks->size; i++)
        memcpy(c->out + (size_t)after(i) * c->count,
               at(after(i), c->in) + first, c->count * sizeof(float));
    meet();
}

static int allgather(const struct loop_call *c)
{
    copy_blocks(c, 0);
    return 0;
}

static int alltoall(const struct loop_call *c)
{
    copy_blocks(c, (size_t)my_ranks->rank * c->count);
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
    return 0;
}

static void *memory(size_t bytes)
{
    void *memory = mine->arena + mine->used;

    mine->used += (bytes + 4095) & ~(size_t)4095;
    return mine->used <= arena_bytes ? memory : NULL;
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
    const struct loop_peer peer = {.init = init,
                                   .colls = {[LOOP_ALLREDUCE] = allreduce,
                                             [LOOP_REDUCE] = reduce,
                                             [LOOP_BARRIER] = barrier,
                                             [LOOP_BCAST] = bcast,
                                             [LOOP_ALLGATHER] = allgather,
                                             [LOOP_ALLTOALL] = alltoall},
                                   .memory = memory,
                                   .rank = rank,
                                   .size = size,
                                   .version = version,
                                   .finalize = finalize};

    if (ranks->size > MAX_RANKS)
        return LOOP_LACKS;
    my_ranks = ranks;
    mine = &sides[ranks->rank];
    return loop_main(argc, argv, &peer);
}

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory != MAP_FAILED)
        return memory;
    perror("bench: limit");
    exit(1);
}

int main(int argc, char **argv)
{
    char *arenas = share(MAX_RANKS * arena_bytes);

    sides = share(MAX_RANKS * sizeof *sides);
    for (int i = 0; i < MAX_RANKS; i++)
        sides[i].arena = arenas + (size_t)i * arena_bytes;
    return ranks_fork(argc, argv, run);
}
