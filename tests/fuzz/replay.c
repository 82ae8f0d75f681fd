/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replay FOLDER MUTATIONS
 *
 * Fuzzing without libFuzzer: runs fuzz_input() on all seeds of FOLDER, then on
 * MUTATIONS inputs made from them, which are the same in every run. A child
 * runs them, so that the parent can print the input at which it died.
 */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_BYTES = 4096 };

struct input {
    size_t bytes;
    uint8_t data[MOST_BYTES];
};

struct seed {
    char *name;
    struct input input;
};

static struct seed *seeds;
static size_t seed_count;

_Noreturn static void die(const char *what)
{
    perror(what);
    exit(2);
}

/* ---- Seeds --------------------------------------------------------------- */

static int is_seed(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void read_seed(const char *folder, struct seed *seed)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, seed->name);
    file = fopen(path, "re");
    if (!file)
        die(path);
    seed->input.bytes = fread(seed->input.data, 1, MOST_BYTES, file);
    fclose(file);
}

static void read_seeds(const char *folder)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, is_seed, alphasort);

    if (count <= 0)
        die(folder);
    seed_count = (size_t)count;
    seeds = calloc(seed_count, sizeof *seeds);
    if (!seeds)
        die("calloc");
    for (size_t i = 0; i < seed_count; i++) {
        seeds[i].name = entries[i]->d_name;
        read_seed(folder, &seeds[i]);
    }
    free(entries);
}

/* ---- Mutations ----------------------------------------------------------- */

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*state >> 33) % below;
}

/* Replace bytes [at, at + old) by count bytes of from. */
static void splice(struct input *in, size_t at, size_t old, const uint8_t *from,
                   size_t count)
{
    if (in->bytes - old + count > MOST_BYTES)
        return;
    memmove(in->data + at + count, in->data + at + old, in->bytes - at - old);
    memcpy(in->data + at, from, count);
    in->bytes += count - old;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void change(struct input *in, uint64_t *state)
{
    static const uint8_t likely[] = {0,   1,   2,   0x7f, 0x80, 0xff, '\n',
                                     '=', ':', ',', '0',  '9',  'K',  ' '};
    const struct input *other = &seeds[draw(state, seed_count)].input;
    const size_t at = draw(state, in->bytes + 1);
    const size_t left = in->bytes - at;
    const size_t from = draw(state, other->bytes + 1);
    uint8_t byte = likely[draw(state, sizeof likely)];

    switch (draw(state, 5)) {
    case 0: /* flip a bit */
        if (left > 0)
            in->data[at] ^= (uint8_t)(1u << draw(state, 8));
        break;
    case 1: /* set a byte */ splice(in, at, least(left, 1), &byte, 1); break;
    case 2: /* insert a byte */ splice(in, at, 0, &byte, 1); break;
    case 3: /* remove 1 to 8 bytes */
        splice(in, at, least(left, 1 + draw(state, 8)), &byte, 0);
        break;
    default: /* replace bytes by a part of another seed */
        splice(in, at, least(left, draw(state, 16)), other->data + from,
               least(other->bytes - from, draw(state, 64)));
    }
}

/* Make input number: a seed, or a mutation of one. */
static void make(size_t number, struct input *in)
{
    uint64_t state = number;

    *in = seeds[number % seed_count].input;
    if (number < seed_count)
        return;
    for (uint64_t n = 1 + draw(&state, 8); n > 0; n--)
        change(in, &state);
}

/* ---- Runs ---------------------------------------------------------------- */

static void run(const struct input *in)
{
    /* exactly as long, so that a sanitizer detects reads beyond the end */
    uint8_t *data = malloc(in->bytes ? in->bytes : 1);

    if (!data)
        die("malloc");
    memcpy(data, in->data, in->bytes);
    fuzz_input(data, in->bytes);
    free(data);
}

static void print_input(const struct input *in)
{
    printf("# %zu bytes:", in->bytes);
    for (size_t i = 0; i < in->bytes; i++)
        printf("%s%02x", i % 32 ? " " : "\n# ", in->data[i]);
    printf("\n");
}

/* Run inputs [first, end) in a child. Return its wait status; 0: all passed. */
static int run_range(size_t first, size_t end, const char *what)
{
    size_t *now = mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct input in;
    int status;

    if (now == MAP_FAILED)
        die("mmap");
    fflush(stdout);
    const pid_t child = fork();

    if (child == 0) {
        for (*now = first; *now < end; ++*now) {
            make(*now, &in);
            run(&in);
        }
        exit(0); /* a sanitizer reports leaks here */
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        die("fork");
    printf("%sok - %zu %s\n", status == 0 ? "" : "not ", end - first, what);
    if (status != 0 && *now < end) {
        printf("# wait status %#x at input %zu, of seed %s\n", status, *now,
               seeds[*now % seed_count].name);
        make(*now, &in);
        print_input(&in);
    }
    munmap(now, sizeof *now);
    return status;
}

int main(int argc, char **argv)
{
    const size_t mutations = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    int failed;

    if (argc != 3) {
        fprintf(stderr, "usage: %s FOLDER MUTATIONS\n", argv[0]);
        return 2;
    }
    read_seeds(argv[1]);
    printf("1..2\n");
    failed = run_range(0, seed_count, "seeds");
    failed |= run_range(seed_count, seed_count + mutations, "mutations");
    return failed != 0;
}
