/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * twice_main WHAT
 *
 * A rank that consists of several processes. Exits with 0, and prints nothing,
 * if all statuses and results are as expected.
 *
 *   sum      one process: a sum over all ranks
 *   before   a child makes a sum before this process does
 *   beside   a child calls rcx_init() while this process has a context
 *   after    a child calls it after this process has finalized, but not ended
 *   refused  such a child: rcx_init() fails at once
 *   gone     rank 1 ends before its first call; the error on rank 0 says so
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank.h"

static const char *self;

static void add_up(void)
{
    int64_t x = me.rank + 1;

    rank_require(
        rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_INT64, RCX_SUM, me.world),
        "a sum");
    if (x != (int64_t)me.size * (me.size + 1) / 2)
        rank_fail("a wrong sum: %ld", (long)x);
}

static void sum(void)
{
    rank_require(rank_open(NULL), "rcx_init");
    add_up();
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
}

static void have_child(const char *what)
{
    char command[4096];

    snprintf(command, sizeof command, "%s %s", self, what);
    if (system(command) != 0)
        rank_fail("%s", command);
}

static void refused(void)
{
    rank_expect(rank_open(NULL), RCX_ERR_LAUNCH, "rcx_init of a child");
    if (!strstr(me.error, "of this job already"))
        rank_fail("it says \"%s\"", me.error);
}

static void beside(void)
{
    rank_require(rank_open(NULL), "rcx_init");
    have_child("refused");
    add_up();
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
}

static void gone(void)
{
    rcx_error_info_t info;
    int x = 0;

    rank_require(rank_open(NULL), "rcx_init");
    if (me.rank == 1)
        _exit(0);
    rank_sleep_ms(300);
    if (rcx_send(&x, 1, RCX_INT, 1, 0, me.world) == RCX_OK)
        rank_fail("a message to a rank that has ended");
    rank_require(rcx_comm_error(me.world, &info), "rcx_comm_error");
    if (!strstr(info.text, "rank 1") || !strstr(info.text, "has ended"))
        rank_fail("it says \"%s\"", info.text);
    rcx_finalize(&me.context);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    self = argv[0];
    if (strcmp(what, "before") == 0)
        have_child("sum");
    if (strcmp(what, "refused") == 0)
        refused();
    else if (strcmp(what, "beside") == 0)
        beside();
    else if (strcmp(what, "gone") == 0)
        gone();
    else
        sum();
    if (strcmp(what, "after") == 0)
        have_child("refused");
    return 0;
}
