/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain PMIx client without RCX, for the tests of rcxrun. Modes:
 *
 *   fence           put, fence with data, get and verify every rank's value
 *   info            print the values of the job's keys, one line per rank
 *   exit CODE RANK  RANK exits with CODE, the others wait to be killed
 *   leave           exit with 0 without PMIx_Finalize
 *   die SIGNAL RANK RANK kills itself, the others wait to be killed
 *   abort CODE RANK RANK calls PMIx_Abort, the others wait in a fence
 *   sleep SECONDS   print "ready PID", then sleep
 *   env NAME        rank 0 prints the variable or "unset"
 *
 * With RCXRUN_CLIENT_CLAIMS it tells the server to be root, as any user may.
 */
#include <pmix.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pmix_proc_t self;
static int size;

/* libpmix asks these for what it tells the server. */
uid_t geteuid(void)
{
    return getenv("RCXRUN_CLIENT_CLAIMS") ? 0 : (uid_t)syscall(SYS_geteuid);
}

gid_t getegid(void)
{
    return getenv("RCXRUN_CLIENT_CLAIMS") ? 0 : (gid_t)syscall(SYS_getegid);
}

static void fail(const char *what, pmix_status_t status)
{
    fprintf(stderr, "rcxrun_client: rank %d: %s: %s\n", (int)self.rank, what,
            PMIx_Error_string(status));
    exit(90);
}

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS)
        fail(what, status);
}

/* The caller frees the value. */
static pmix_value_t *get(int rank, const char *key)
{
    pmix_value_t *value;
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, self.nspace, (pmix_rank_t)rank);
    check(key, PMIx_Get(&proc, key, NULL, 0, &value));
    return value;
}

static unsigned get_number(int rank, const char *key)
{
    pmix_value_t *value = get(rank, key);
    unsigned number;

    switch (value->type) {
    case PMIX_UINT16: number = value->data.uint16; break;
    case PMIX_UINT32: number = value->data.uint32; break;
    case PMIX_PROC_RANK: number = value->data.rank; break;
    default: fail(key, PMIX_ERR_TYPE_MISMATCH); return 0;
    }
    PMIX_VALUE_RELEASE(value);
    return number;
}

static char *get_string(int rank, const char *key)
{
    pmix_value_t *value = get(rank, key);
    char *text;

    if (value->type != PMIX_STRING)
        fail(key, PMIX_ERR_TYPE_MISMATCH);
    text = strdup(value->data.string);
    PMIX_VALUE_RELEASE(value);
    return text;
}

/* Store a value whose length and bytes differ between ranks. */
static size_t make_blob(int rank, char *bytes)
{
    const size_t length = 100 + 37 * (size_t)(rank % 50);

    for (size_t i = 0; i < length; ++i)
        bytes[i] = (char)(rank + 3 * (int)i);
    return length;
}

static void fence_with_data(void)
{
    bool yes = true;
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    check("PMIx_Fence", PMIx_Fence(NULL, 0, &info, 1));
    PMIX_INFO_DESTRUCT(&info);
}

static void fence(void)
{
    char bytes[4096];
    pmix_value_t put = {.type = PMIX_BYTE_OBJECT};

    put.data.bo.bytes = bytes;
    put.data.bo.size = make_blob((int)self.rank, bytes);
    check("PMIx_Put", PMIx_Put(PMIX_GLOBAL, "rcx.test", &put));
    check("PMIx_Commit", PMIx_Commit());
    fence_with_data();
    for (int i = 0; i < size; ++i) {
        const int rank = ((int)self.rank + i) % size;
        pmix_value_t *value = get(rank, "rcx.test");
        const size_t length = make_blob(rank, bytes);

        if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != length ||
            memcmp(value->data.bo.bytes, bytes, length) != 0)
            fail("a peer's value is wrong", PMIX_ERROR);
        PMIX_VALUE_RELEASE(value);
    }
    fence_with_data();
}

static void info(void)
{
    const int wildcard = (int)PMIX_RANK_WILDCARD;
    const unsigned nodes = get_number(wildcard, PMIX_NUM_NODES);
    const unsigned universe = get_number(wildcard, PMIX_UNIV_SIZE);
    const unsigned local_size = get_number(wildcard, PMIX_LOCAL_SIZE);
    char *peers = get_string(wildcard, PMIX_LOCAL_PEERS);
    char line[16384];
    int used = 0;

    for (int rank = 0; rank < size; ++rank) {
        char *host = get_string(rank, PMIX_HOSTNAME);

        used +=
            snprintf(line + used, sizeof(line) - (size_t)used, " %d:%s:%u:%u",
                     rank, host, get_number(rank, PMIX_LOCAL_RANK),
                     get_number(rank, PMIX_NODE_RANK));
        free(host);
    }
    printf(
        "rank %d size %d universe %u nodes %u node %u app %u local_size %u peers %s map%s\n",
        (int)self.rank, size, universe, nodes,
        get_number((int)self.rank, PMIX_NODEID),
        get_number((int)self.rank, PMIX_APPNUM), local_size, peers, line);
    free(peers);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const int number = argc > 2 ? atoi(argv[2]) : 0;
    bool chosen;

    check("PMIx_Init", PMIx_Init(&self, NULL, 0));
    size = (int)get_number((int)PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    chosen = argc > 3 && (int)self.rank == atoi(argv[3]);

    if (strcmp(mode, "fence") == 0) {
        fence();
    } else if (strcmp(mode, "info") == 0) {
        info();
    } else if (strcmp(mode, "exit") == 0) {
        if (chosen)
            exit(number);
        sleep(600);
    } else if (strcmp(mode, "leave") == 0) {
        fence_with_data();
        _exit(0);
    } else if (strcmp(mode, "die") == 0) {
        if (chosen)
            raise(number);
        sleep(600);
    } else if (strcmp(mode, "abort") == 0) {
        if (chosen)
            PMIx_Abort(number, "no more flux", NULL, 0);
        fence_with_data();
    } else if (strcmp(mode, "sleep") == 0) {
        printf("ready %ld\n", (long)getpid());
        fflush(stdout);
        sleep((unsigned)number);
    } else if (strcmp(mode, "env") == 0) {
        const char *value = argc > 2 ? getenv(argv[2]) : NULL;

        if (self.rank == 0)
            printf("%s\n", value != NULL ? value : "unset");
    } else {
        fprintf(stderr, "rcxrun_client: mode \"%s\"?\n", mode);
        return 91;
    }
    check("PMIx_Finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
