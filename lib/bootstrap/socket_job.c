/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what launchers set: rank and size by one of several pairs of variables,
 * and where rank 0 is. docs/reference/environment.md has the same table.
 */
#include "bootstrap/socket_job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/launcher.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The pairs, in the order of trial. An inner launcher precedes an outer one:
 * srun or mpirun may start torchrun on each node, and its processes inherit the
 * variables of both. The variables of job differ between jobs of a launcher; a
 * worker of an earlier start of torchrun has another number of restarts. */
static const struct pair {
    const char *rank;
    const char *size;
    const char *only_with; /* a variable that has to be set; NULL: none */
    bool is_torch;
    const char *job[2];
} pairs[] = {
    {"RCX_RANK", "RCX_SIZE", NULL, false, {NULL}},
    {"RANK",
     "WORLD_SIZE",
     "TORCHELASTIC_RUN_ID",
     true,
     {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
    {"PMI_RANK", "PMI_SIZE", NULL, false, {NULL}},
    {"OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     NULL,
     false,
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"SLURM_PROCID",
     "SLURM_NTASKS",
     NULL,
     false,
     {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    {"RANK", "WORLD_SIZE", NULL, true, {NULL}},
    {"JOB_COMPLETION_INDEX", "RCX_SIZE", NULL, false, {NULL}},
};

/* NULL: the variable has no value, or is RCX's and has "none". */
static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    const bool none =
        value && strncmp(name, "RCX_", 4) == 0 && strcmp(value, "none") == 0;

    return value && *value && !none ? value : NULL;
}

static const struct pair *find_pair(void)
{
    for (size_t i = 0; i < LENGTH(pairs); i++)
        if (value_of(pairs[i].rank) && value_of(pairs[i].size) &&
            (!pairs[i].only_with || value_of(pairs[i].only_with)))
            return &pairs[i];
    return NULL;
}

static bool parse_int(const char *text, int *number_p)
{
    char *end;
    const long number = strtol(text, &end, 10);

    *number_p = (int)number;
    return *end == '\0' && end != text && number >= 0 && number <= INT_MAX;
}

/* How many letters of a root may be printed: none of its secret. */
static int shown(const char *root)
{
    enum { SHOWN = 200, SHOWN_OF_ID = 5 }; /* "rcx1:"; a secret follows */
    const size_t letters = strcspn(root, "?");

    return strncmp(root, "rcx1:", SHOWN_OF_ID) == 0 ? SHOWN_OF_ID
           : letters < SHOWN                        ? (int)letters
                                                    : SHOWN;
}

/* ---- Rank and size ------------------------------------------------------- */

static rcx_status_t no_pair(const struct rcx_log *log, const char *cause)
{
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        const char *rank = value_of(pairs[i].rank);
        const char *size = value_of(pairs[i].size);

        if (!rank != !size)
            return rcx_fail(log, RCX_ERR_CONFIG, "%s=%s, and %s is not set",
                            rank ? pairs[i].rank : pairs[i].size,
                            rank ? rank : size,
                            rank ? pairs[i].size : pairs[i].rank);
    }
    return rcx_fail(log, RCX_ERR_CONFIG,
                    "%s=%.*s needs RCX_RANK and RCX_SIZE, as no launcher has "
                    "set a rank",
                    cause, shown(value_of(cause)), value_of(cause));
}

static rcx_status_t read_pair(const struct rcx_log *log, const char *cause,
                              const struct pair *pair,
                              struct rcx_socket_job *job)
{
    if (!pair || (value_of("RCX_RANK") && pair != pairs))
        return no_pair(log, cause);
    if (!parse_int(value_of(pair->size), &job->size) || job->size < 1)
        return rcx_fail(log, RCX_ERR_CONFIG,
                        "%s=%s: valid is a number of 1 or more", pair->size,
                        value_of(pair->size));
    if (!parse_int(value_of(pair->rank), &job->rank) || job->rank >= job->size)
        return rcx_fail(log, RCX_ERR_CONFIG, "%s=%s: valid is 0 to %d, by %s",
                        pair->rank, value_of(pair->rank), job->size - 1,
                        pair->size);
    return RCX_OK;
}

/* ---- Secrets ------------------------------------------------------------- */

static struct rcx_socket_key mix(const struct rcx_socket_key *key,
                                 const char *text)
{
    return rcx_socket_mac(key, text, strlen(text));
}

/* Jobs at one address have different keys as far as their launchers name them,
 * so a process of another job does not get in. */
static void make_key(const struct pair *pair, struct rcx_socket_job *job)
{
    const struct rcx_socket_key none = {{0}};
    const char *secret = value_of("RCX_SECRET");

    job->key = mix(&none, secret ? secret : "");
    for (size_t i = 0; pair && i < LENGTH(pair->job); i++)
        if (pair->job[i] && value_of(pair->job[i]))
            job->key = mix(&job->key, value_of(pair->job[i]));
}

const struct rcx_socket_key *
rcx_socket_job_secret(const struct rcx_socket_job *job)
{
    return job->root.by == RCX_SOCKET_BY_HOST ? &job->key : &job->root.key;
}

struct rcx_socket_key rcx_socket_job_key(const struct rcx_socket_job *job,
                                         const struct rcx_socket_key *secret)
{
    return rcx_socket_mac(secret, &job->name_key, sizeof job->name_key);
}

/* ---- Where rank 0 is ----------------------------------------------------- */

/* The ports after MASTER_PORT, where PyTorch's store listens. */
static bool find_master(struct rcx_socket_root *root)
{
    const char *host = value_of("MASTER_ADDR");
    const char *port = value_of("MASTER_PORT");
    int number;

    if (!host || !port || strlen(host) >= sizeof root->host ||
        !parse_int(port, &number) || number < 1 || number > UINT16_MAX)
        return false;
    *root = (struct rcx_socket_root){
        .by = RCX_SOCKET_BY_HOST, .fd = -1, .n_ports = RCX_SOCKET_PORTS};
    strcpy(root->host, host);
    for (int i = 0; i < RCX_SOCKET_PORTS; i++) {
        const int next = number + 1 + i;

        root->ports[i] = (uint16_t)(next <= UINT16_MAX ? next : number - 1 - i);
    }
    return true;
}

static void describe_root(struct rcx_socket_job *job)
{
    const struct rcx_socket_root *root = &job->root;
    char text[RCX_SOCKET_ADDR_TEXT];

    if (root->by == RCX_SOCKET_BY_ID) {
        rcx_socket_addr_print(&root->addrs.at[0], text, sizeof text);
        snprintf(job->where, sizeof job->where, "%s%s", text,
                 root->addrs.n > 1 ? " and its other addresses" : "");
    } else if (root->by == RCX_SOCKET_BY_FILE) {
        snprintf(job->where, sizeof job->where, "file:%.200s", root->path);
    } else {
        snprintf(job->where, sizeof job->where,
                 strchr(root->host, ':') ? "[%.200s]:%u" : "%.200s:%u",
                 root->host, (unsigned)root->ports[0]);
    }
}

static rcx_status_t check_root(const struct rcx_log *log, const char *name,
                               const char *text, struct rcx_socket_job *job)
{
    const struct rcx_socket_root *root = &job->root;

    if (!rcx_socket_root_parse(text, &job->root) ||
        (root->by == RCX_SOCKET_BY_HOST && (!*root->host || !root->ports[0])))
        return rcx_fail(
            log, strcmp(name, "RCX_ROOT") == 0 ? RCX_ERR_CONFIG : RCX_ERR_ARG,
            "%s=%.*s: valid is HOST:PORT, [IPV6]:PORT, "
            "file:/PATH, or the text of an id",
            name, shown(text), text);
    return RCX_OK;
}

/* ---- All of it ----------------------------------------------------------- */

static rcx_status_t find_id(const struct rcx_boot_args *args,
                            struct rcx_socket_job *job)
{
    const rcx_params_t *params = args->params;
    char text[sizeof params->id->text + 1];

    memcpy(text, params->id->text, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    job->rank = params->rank;
    job->size = params->size;
    make_key(NULL, job);
    return check_root(args->log, "params.id", text, job);
}

static rcx_status_t find_root(const struct rcx_boot_args *args,
                              struct rcx_socket_job *job)
{
    const char *root = value_of("RCX_ROOT");
    const struct pair *pair = find_pair();
    rcx_status_t status = RCX_OK;

    if (root)
        status = check_root(args->log, "RCX_ROOT", root, job);
    else if (!pair || !pair->is_torch || args->allow_singleton ||
             rcx_launcher_names_pmix() || !find_master(&job->root))
        return RCX_ERR_UNSUPPORTED;
    if (status == RCX_OK)
        status =
            read_pair(args->log, root ? "RCX_ROOT" : "MASTER_ADDR", pair, job);
    make_key(pair, job);
    return status;
}

rcx_status_t rcx_socket_job_find(const struct rcx_boot_args *args,
                                 struct rcx_socket_job *job)
{
    const rcx_params_t *params = args->params;
    const struct rcx_socket_key none = {{0}};
    const bool named =
        params && (params->field_mask & RCX_PARAM_NAME) && params->name;
    rcx_status_t status;

    memset(job, 0, sizeof *job);
    job->name_key = mix(&none, named ? params->name : "");
    status = params && (params->field_mask & RCX_PARAM_ID)
                 ? find_id(args, job)
                 : find_root(args, job);
    if (status == RCX_OK)
        describe_root(job);
    return status;
}

void rcx_socket_job_describe(void (*line)(const char *name, const char *value,
                                          void *arg),
                             void *arg)
{
    static const char *const names[] = {"RCX_ROOT", "MASTER_ADDR",
                                        "MASTER_PORT", "RCX_SOCKET_IFNAME"};
    const struct pair *pair = find_pair();
    struct rcx_socket_root root;

    line("used",
         "where rcx_params_t.id is given, or RCX_ROOT is set, or "
         "torchrun's MASTER_ADDR is and no PMIx server",
         arg);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (value_of(names[i]))
            line(names[i],
                 rcx_socket_root_parse(value_of(names[i]), &root) &&
                         root.has_key
                     ? "an id"
                     : value_of(names[i]),
                 arg);
    if (value_of("RCX_SECRET"))
        line("RCX_SECRET", "set", arg);
    if (pair) {
        line(pair->rank, value_of(pair->rank), arg);
        line(pair->size, value_of(pair->size), arg);
    }
}
