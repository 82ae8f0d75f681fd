/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop that RCX and its peers share.
 *
 * One program per library gives a struct loop_peer to loop_main() and nothing
 * else, so that every library is timed by the same code over the same data.
 */
#ifndef RCX_BENCH_LOOP_H
#define RCX_BENCH_LOOP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A library under test. Functions that return int return 0 for success. */
struct loop_peer {
    int (*init)(int *argc, char ***argv);
    /* out[i] = the sum of in[i] over all ranks; in and out do not overlap */
    int (*allreduce)(const float *in, float *out, size_t count);
    int (*barrier)(void);
    int (*rank)(void);
    int (*size)(void);
    /* the library's name and version; printed up to its first line's end */
    const char *(*version)(void);
    int (*finalize)(void);
};

/*
 * Time the library's allreduce. Options, after which the program's own may
 * follow in argv as far as peer->init() takes them out:
 *
 *   --sizes LIST     bytes per vector, "8,64,512"
 *   --time SECONDS   how long to measure each size
 *   --limit SECONDS  when to give up altogether: SIGALRM ends the process
 *   --no-pin         leave each rank where the launcher put it
 *
 * Rank 0 prints "# version" and "# ranks" lines, and one line per size:
 *
 *   bytes count iterations seconds_per_op
 *
 * Returns what main() returns: 0; 1 if the library failed or a result was
 * wrong; 2 for wrong arguments.
 */
int loop_main(int argc, char **argv, const struct loop_peer *peer);

#ifdef __cplusplus
}
#endif

#endif
