/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings_main WHAT
 *
 * A rank of a job whose program gives settings to RCX. Prints what rank 0
 * finds, and the error of each rank; exits with 0 if rcx_init() returned
 * RCX_OK, else with 1.
 *
 *   given    settings that are equal on all ranks
 *   differ   rank 1 has another method
 *   unknown  rank 1 has a setting that RCX does not know
 *   change   rcx_comm_set() of the world and of parts of it, and of one rank
 *            another value
 *   die      rank 1 dies before rcx_comm_set()
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank.h"

enum { COUNT = 1000 };

static const char *method_of(rcx_comm_t *comm)
{
    static int64_t in[COUNT], out[COUNT];
    static char text[128];
    const int64_t size = rcx_comm_size(comm), rank = rcx_comm_rank(comm);
    rcx_request_t *request;

    for (int i = 0; i < COUNT; i++)
        in[i] = rank * i;
    rank_require(
        rcx_iallreduce(in, out, COUNT, RCX_INT64, RCX_SUM, comm, &request),
        "rcx_iallreduce");
    snprintf(text, sizeof text, "%s", rcx_request_method(request));
    text[strcspn(text, ":")] = '\0';
    rank_require(rcx_wait(request), "rcx_wait");
    rank_require(rcx_request_free(&request), "rcx_request_free");
    for (int i = 0; i < COUNT; i++)
        if (out[i] != size * (size - 1) / 2 * i)
            rank_fail("sum %d is %lld", i, (long long)out[i]);
    return text;
}

static void print_method(void)
{
    const char *method = method_of(me.world);

    if (me.rank == 0)
        puts(method);
}

/* What rcx_info --config cannot see. */
static void print_settings(const char *text)
{
    const char *found = strstr(text, " is set by ");

    if (found)
        puts(text);
}

static rcx_status_t open_with(const char *what)
{
    const char *rank = getenv("PMIX_RANK");
    const int is_odd =
        rank && strcmp(rank, "1") == 0 &&
        (strcmp(what, "differ") == 0 || strcmp(what, "unknown") == 0);
    const rcx_setting_t settings[] = {
        {is_odd && what[0] == 'u' ? "RCX_ALREDUCE" : "RCX_ALLREDUCE",
         is_odd && what[0] == 'd' ? "recursive_doubling" : "ring", 0},
        {"RCX_LOG", "info", 0},
        {"RCX_TIMEOUT", "20s", RCX_SETTING_FINAL}};
    const rcx_params_t params = {.field_mask = RCX_PARAM_SETTINGS,
                                 .settings = settings,
                                 .setting_count = 3};
    const bool prints = strcmp(what, "given") == 0;

    me.on_line = prints ? print_settings : NULL;
    return rank_open(&params);
}

static void print_refusal(const char *text)
{
    if (strstr(text, "rcx_comm_set"))
        puts(text);
}

static void change(void)
{
    const int half = me.rank % 2;
    rcx_comm_t *part;

    rank_require(rcx_comm_split(me.world, half, 0, &part), "rcx_comm_split");
    rank_require(rcx_comm_set_name(part, half ? "odd" : "even"),
                 "rcx_comm_set_name");
    rank_require(rcx_comm_set(part, "RCX_ALLREDUCE",
                              half ? "ring" : "recursive_doubling"),
                 "rcx_comm_set");
    if (strcmp(method_of(part), half ? "ring" : "recursive_doubling") != 0)
        rank_fail("the part has method %s", method_of(part));
    if (strcmp(method_of(me.world), "ring") != 0)
        rank_fail("the world has method %s", method_of(me.world));
    me.on_line = me.rank == 0 ? print_refusal : NULL;
    rank_expect(rcx_comm_set(me.world, "RCX_CHECK", half ? "off" : "full"),
                RCX_ERR_CONFIG, "rcx_comm_set");
    rank_require(rcx_comm_abort(part), "rcx_comm_abort");
    rank_expect(rcx_barrier(part), RCX_ERR_COMM_FAILED, "rcx_barrier");
    print_method();
    rank_require(rcx_comm_free(&part), "rcx_comm_free");
}

static void die(void)
{
    rcx_error_info_t info;

    rank_barrier_left_last(me.world, 1);
    if (me.rank == 1)
        raise(SIGKILL);
    rank_expect(rcx_comm_set(me.world, "RCX_CHECK", "full"),
                RCX_ERR_PEER_FAILED, "rcx_comm_set");
    rank_require(rcx_comm_error(me.world, &info), "rcx_comm_error");
    if (info.rank_count != 1 || info.ranks[0] != 1)
        rank_fail("%d ranks are named", info.rank_count);
}

int main(int argc, char **argv)
{
    rcx_status_t status;

    if (argc != 2)
        return 2;
    status = open_with(argv[1]);
    if (status != RCX_OK) {
        printf("%s\n", rcx_status_string(status));
        if (me.errors > 0)
            printf("%s\n", me.error);
        return 1;
    }
    if (strcmp(argv[1], "change") == 0)
        change();
    else if (strcmp(argv[1], "die") == 0)
        die();
    else
        print_method();
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
