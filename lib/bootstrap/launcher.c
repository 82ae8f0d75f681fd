/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recognises launchers by the environment variables that they set. It starts no
 * connection to a launcher.
 */
#include "bootstrap/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables that a PMIx server sets for its clients, even for a single one.
 * The name of the URI variable ends with a version: PMIX_SERVER_URI2,
 * _URI41, ... */
static const char *const pmix_variables[] = {"PMIX_NAMESPACE", "PMIX_RANK"};
static const char uri_prefix[] = "PMIX_SERVER_URI";

/* Variables that contain a number of processes, or a rank: from which value on
 * there are several. Within a Slurm allocation, a
 * program started without srun has SLURM_NTASKS, too. Usually srun was
 * forgotten; for other cases there is RCX_ALLOW_SINGLETON. */
static const struct {
    const char *name;
    long several;
} size_variables[] = {{"RCX_SIZE", 2},
                      {"RCX_RANK", 1},
                      {"PMI_SIZE", 2},
                      {"SLURM_NTASKS", 2},
                      {"OMPI_COMM_WORLD_SIZE", 2}};

enum { NAME_BYTES = 16 }; /* of a process */

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char *value_of(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* Return the first "PMIX_SERVER_URI...=..." of the environment. */
static const char *uri_assignment(void)
{
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, uri_prefix, sizeof uri_prefix - 1) == 0 &&
            strchr(*entry, '='))
            return *entry;
    }
    return NULL;
}

/* Store "NAME=value" of a variable that names a PMIx server. False: none. */
static bool find_pmix(char text[RCX_LAUNCHER_TEXT])
{
    const char *uri = uri_assignment();

    for (size_t i = 0; i < LENGTH(pmix_variables); i++) {
        const char *value = value_of(pmix_variables[i]);

        if (value) {
            snprintf(text, RCX_LAUNCHER_TEXT, "%s=%s", pmix_variables[i],
                     value);
            return true;
        }
    }
    if (uri)
        snprintf(text, RCX_LAUNCHER_TEXT, "%s", uri);
    return uri != NULL;
}

/* Store "NAME=value" of a variable that tells of several processes. False:
 * none. */
static bool find_size(char text[RCX_LAUNCHER_TEXT])
{
    for (size_t i = 0; i < LENGTH(size_variables); i++) {
        const char *value = value_of(size_variables[i].name);

        if (!value || strtol(value, NULL, 10) < size_variables[i].several)
            continue;
        snprintf(text, RCX_LAUNCHER_TEXT, "%s=%s", size_variables[i].name,
                 value);
        return true;
    }
    return false;
}

bool rcx_launcher_names_pmix(void)
{
    char text[RCX_LAUNCHER_TEXT];

    return find_pmix(text);
}

bool rcx_launcher_find(char text[RCX_LAUNCHER_TEXT])
{
    return find_pmix(text) || find_size(text);
}

rcx_status_t rcx_launcher_check_alone(const struct rcx_boot_args *args,
                                      const char *reason)
{
    char text[RCX_LAUNCHER_TEXT];

    if (args->allow_singleton || !rcx_launcher_find(text))
        return RCX_OK;
    return rcx_fail(args->log, RCX_ERR_LAUNCH,
                    "%s indicates that a launcher started this process, but "
                    "%s; start the program with srun --mpi=pmix, prterun or "
                    "rcxrun, or set RCX_ROOT=HOST:PORT to start without "
                    "PMIx, or RCX_ALLOW_SINGLETON=1 to let each process run "
                    "alone",
                    text, reason);
}

/* Read name and parent of a process. False: it is not known. */
static bool read_process(pid_t pid, char name[NAME_BYTES], pid_t *parent_p)
{
    char path[32], line[128] = "";
    const char *end;
    FILE *file;
    int parent;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    if (!end || sscanf(line, "%*d (%15[^)])", name) != 1 ||
        sscanf(end, ") %*c %d", &parent) != 1)
        return false;
    *parent_p = (pid_t)parent;
    return true;
}

/* The process rcxrun that has started this one, or a process above it; 0: none
 * is known. */
static pid_t find_rcxrun(void)
{
    pid_t pid = getppid(), parent;
    char name[NAME_BYTES];

    while (pid > 1 && read_process(pid, name, &parent)) {
        if (strcmp(name, "rcxrun") == 0)
            return pid;
        pid = parent;
    }
    return 0;
}

void rcx_launcher_warn_alone(const struct rcx_boot_args *args)
{
    const pid_t rcxrun = args->allow_singleton ? 0 : find_rcxrun();

    if (rcxrun)
        rcx_warn(args->log,
                 "rcxrun (process %d) has started this process, which runs "
                 "alone: it has no PMIX_NAMESPACE, as env -i and sudo remove "
                 "it; RCX_ALLOW_SINGLETON=1 if that is meant",
                 (int)rcxrun);
}

static void describe_variable(const char *name,
                              void (*line)(const char *name, const char *value,
                                           void *arg),
                              void *arg)
{
    const char *value = getenv(name);

    if (value)
        line(name, value, arg);
}

void rcx_launcher_describe(void (*line)(const char *name, const char *value,
                                        void *arg),
                           void *arg)
{
    const char *uri = uri_assignment();

    for (size_t i = 0; i < LENGTH(pmix_variables); i++)
        describe_variable(pmix_variables[i], line, arg);
    if (uri) {
        char name[RCX_LAUNCHER_TEXT];

        snprintf(name, sizeof name, "%.*s", (int)strcspn(uri, "="), uri);
        line(name, strchr(uri, '=') + 1, arg);
    }
    for (size_t i = 0; i < LENGTH(size_variables); i++)
        describe_variable(size_variables[i].name, line, arg);
}
