/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * abort_main HOW FOLDER
 *
 * One rank of a job that rank VICTIM ends by rcx_abort(); no rank ends by
 * itself. Each rank first writes its process id to FOLDER/RANK. The launcher
 * must report CODE and TEXT. HOW says where VICTIM calls rcx_abort():
 *
 *   call     while the other ranks are in an allreduce that VICTIM never enters
 *   failed   after the world has failed on all ranks, and no rank is inside RCX
 *   thread   from a second thread, while its main thread is in an allreduce too
 *   op       inside a user-defined op
 *   zero     as call, with code 0 and no text
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rcx/rcx.h"

enum { VICTIM = 2, CODE = 7, COUNT = 3000 };
#define TEXT "the matrix is singular"

static rcx_context_t *context;
static rcx_comm_t *world;

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rcx_comm_rank(world), what);
    _exit(0); /* no test accepts status 0 as an abort */
}

_Noreturn static void end_job(int code, const char *text)
{
    rcx_abort(context, code, text);
    fail("rcx_abort returned");
}

static rcx_status_t reduce(rcx_op_t op)
{
    static int64_t words[COUNT];

    return rcx_allreduce(RCX_IN_PLACE, words, COUNT, RCX_INT64, op, world);
}

_Noreturn static void stay(void)
{
    for (;;)
        pause();
}

_Noreturn static void reduce_for_ever(rcx_op_t op)
{
    while (reduce(op) == RCX_OK)
        ;
    stay(); /* only the launcher ends this process */
}

static void *end_from_thread(void *arg)
{
    (void)arg;
    usleep(100000);
    end_job(CODE, TEXT);
}

static int end_in_op(void *dst, const void *left, const void *right,
                     size_t count, rcx_datatype_t type, void *arg)
{
    (void)dst, (void)left, (void)right, (void)count, (void)type, (void)arg;
    if (rcx_comm_rank(world) == VICTIM)
        end_job(CODE, TEXT);
    return 0;
}

static void be_victim(const char *how)
{
    pthread_t thread;

    usleep(100000); /* by then the other ranks are in their call */
    if (strcmp(how, "thread") == 0 &&
        pthread_create(&thread, NULL, end_from_thread, NULL) == 0)
        reduce_for_ever(RCX_SUM);
    if (strcmp(how, "zero") == 0)
        end_job(0, NULL);
    end_job(CODE, TEXT);
}

static void write_pid(const char *folder)
{
    char name[512];
    FILE *file;

    snprintf(name, sizeof name, "%s/%d", folder, rcx_comm_rank(world));
    file = fopen(name, "w");
    if (!file || fprintf(file, "%ld\n", (long)getpid()) < 0 || fclose(file))
        fail("cannot write its process id");
}

int main(int argc, char **argv)
{
    rcx_op_t op = RCX_SUM;

    if (argc != 3 || rcx_init(NULL, &context) != RCX_OK)
        return 0;
    world = rcx_world(context);
    write_pid(argv[2]);
    if (reduce(RCX_SUM) != RCX_OK)
        fail("rcx_allreduce failed");
    if (strcmp(argv[1], "failed") == 0) {
        if (rcx_comm_rank(world) == VICTIM)
            rcx_comm_abort(world);
        while (reduce(RCX_SUM) == RCX_OK)
            ;
    }
    if (strcmp(argv[1], "op") == 0) {
        if (rcx_op_create(context, end_in_op, 0, NULL, &op) != RCX_OK)
            fail("rcx_op_create failed");
        reduce_for_ever(op);
    }
    if (rcx_comm_rank(world) == VICTIM)
        be_victim(argv[1]);
    reduce_for_ever(op);
}
