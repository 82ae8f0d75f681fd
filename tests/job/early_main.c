/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * early_main WHAT
 *
 * One rank of a job of rcxrun, in which rank EARLY exits with 0 while other
 * ranks still wait for it. test_early.sh checks what rcxrun reports.
 *
 *   none         no rank calls RCX
 *   init         EARLY does not call rcx_init
 *   late         as init, and the other ranks call it LONG_MS later
 *   call         EARLY returns from main() while the others are in a call
 *   _exit        as call, by _exit()
 *   finalize     EARLY returns from main() while the others are in rcx_finalize
 *   all          no rank calls rcx_finalize
 *   run_on       all call rcx_finalize, and EARLY exits LONG_MS later
 *   leave_first  all call rcx_finalize, and the others exit LONG_MS later
 *   cycles       as finalize, after CYCLES contexts that were finalized
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank.h"

enum { EARLY = 1, LONG_MS = 4000, CYCLES = 3 };

static bool is_early(void)
{
    return atoi(getenv("PMIX_RANK")) == EARLY;
}

static void leave(void)
{
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
}

static void call(void)
{
    double x = 1;

    rank_require(
        rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_FLOAT64, RCX_SUM, me.world),
        "rcx_allreduce");
}

static int end_before_init(const char *what)
{
    if (strcmp(what, "none") == 0 || is_early())
        return 0;
    if (strcmp(what, "late") == 0)
        rank_sleep_ms(LONG_MS);
    rank_require(rank_open(NULL), "rcx_init");
    leave();
    return 0;
}

static int end_after_init(const char *what)
{
    const bool all = strcmp(what, "all") == 0;
    const bool in_call = strcmp(what, "call") == 0 || what[0] == '_';

    rank_require(rank_open(NULL), "rcx_init");
    call();
    if (is_early() && what[0] == '_')
        _exit(0);
    if (is_early() || all)
        return 0;
    if (in_call)
        call();
    leave();
    return 0;
}

static int end_after_finalize(const char *what)
{
    rank_require(rank_open(NULL), "rcx_init");
    call();
    leave();
    if (is_early() == (strcmp(what, "run_on") == 0))
        rank_sleep_ms(LONG_MS);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    if (strcmp(what, "none") == 0 || strcmp(what, "init") == 0 ||
        strcmp(what, "late") == 0)
        return end_before_init(what);
    if (strcmp(what, "run_on") == 0 || strcmp(what, "leave_first") == 0)
        return end_after_finalize(what);
    for (int i = 0; strcmp(what, "cycles") == 0 && i < CYCLES; i++) {
        rank_require(rank_open(NULL), "rcx_init");
        call();
        leave();
    }
    return end_after_init(what);
}
