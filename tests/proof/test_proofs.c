/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves every algorithm of the registry on the grid of cases (grid.h); one
 * test for each.
 *
 * test_proofs [--full] [PART OF | NAME]: the algorithms of part PART of OF, so
 * that parts can run concurrently; or only those called NAME.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"

static enum proof_extent extent = TIMES(PROOF_QUICK, PROOF_SMALL);

static void proof(void **state)
{
    const struct rcx_algo *algo = *state;
    struct proof_summary summary;

    if (!proof_grid_run(algo, extent, &summary))
        fail_msg("%s", summary.text);
    print_message("# %s %s: %llu cases, %llu messages, %llu too large\n",
                  rcx_coll_name(algo->coll), algo->name,
                  (unsigned long long)summary.cases,
                  (unsigned long long)summary.messages,
                  (unsigned long long)summary.skipped);
}

static struct CMUnitTest test_of(const struct rcx_algo *algo)
{
    char name[128];

    snprintf(name, sizeof name, "%s %s is proved", rcx_coll_name(algo->coll),
             algo->name);
    return (struct CMUnitTest){.name = strdup(name),
                               .test_func = proof,
                               .initial_state = (void *)algo};
}

int main(int argc, char **argv)
{
    int part = 0, parts = 1, known = 0, n = 0, at = 1;
    const char *only = NULL;
    struct CMUnitTest *tests;
    int failures;

    if (at < argc && strcmp(argv[at], "--full") == 0) {
        extent = TIMES(PROOF_FULL, PROOF_QUICK);
        at++;
    }
    if (at + 1 < argc) {
        part = atoi(argv[at]);
        parts = atoi(argv[at + 1]);
    } else if (at < argc) {
        only = argv[at];
    }
    while (rcx_algo_table[known])
        known++;
    tests = calloc((size_t)known, sizeof *tests);
    for (int i = part; i < known; i += parts)
        if (!only || strcmp(only, rcx_algo_table[i]->name) == 0)
            tests[n++] = test_of(rcx_algo_table[i]);
    /* cmocka's macro for this call accepts arrays only */
    failures = _cmocka_run_group_tests("proofs", tests, (size_t)n, NULL, NULL);
    for (int i = 0; i < n; i++)
        free((char *)tests[i].name);
    free(tests);
    return failures;
}
