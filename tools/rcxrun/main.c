/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcxrun starts the ranks of a job on this machine and serves PMIx to them, so
 * that a first run needs no other launcher. This file has the options and
 * main().
 */
#include "common/output.h"
#include "rcxrun/rcxrun.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: rcxrun [options] program [arguments]\n"
    "Run a program as the ranks of one job on this machine, over PMIx.\n"
    "\n"
    "  -n, -np, --np N       number of ranks (1)\n"
    "      --nodes K         pretend that there are K nodes; ranks in blocks (1)\n"
    "  -p, --prefix          write the rank, as in \"[3] \", before each line\n"
    "  -b, --bind            pin rank i to usable cpu i mod number of cpus\n"
    "  -k, --keep-going      when a rank fails, let the others run on\n"
    "  -t, --timeout SECONDS end the job after that time\n"
    "  -x NAME=VALUE         set a variable in the ranks' environment\n"
    "  -h, --help            print this and exit\n"
    "  -V, --version         print the version and exit\n"
    "\n"
    "Options end at the program's name. Rank 0 reads rcxrun's input, the others\n"
    "read none. UCX_HANDLE_ERRORS is set to none unless it is set already.\n"
    "Processes that outlive their rank are killed when the job ends. A rank that\n"
    "ends without rcx_init or rcx_finalize while others wait for it has failed.\n"
    "\n"
    "Exit status: that of the first rank to fail (128 plus the signal's number if\n"
    "it was killed, PMIx_Abort's argument if it called that, 1 if it ended too\n"
    "early); 0 if none did; 1 rcxrun failed; 2 wrong usage; 124 timeout; 126 the\n"
    "program cannot be run; 127 it was not found. If rcxrun gets a signal that ends\n"
    "it, it first ends the ranks, and then itself by that signal.\n";

static void bad_usage(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

static void bad_usage(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rcxrun_warn("%s (try rcxrun --help)", text);
    exit(RCXRUN_EXIT_USAGE);
}

/* Options by which other launchers are told of machines. */
static void only_here(const char *option) __attribute__((noreturn));

static void only_here(const char *option)
{
    rcxrun_warn("%s: rcxrun starts ranks on this machine only; for several "
                "machines use srun, mpirun or prterun, or start each rank with "
                "RCX_ROOT=HOST:PORT, RCX_RANK and RCX_SIZE",
                option);
    exit(RCXRUN_EXIT_USAGE);
}

static int parse_int(const char *option, const char *text, int max)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > max)
        bad_usage("%s %s: not a number from 1 to %d", option, text, max);
    return (int)value;
}

static double parse_seconds(const char *text)
{
    char *end;
    const double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value > 0 && value <= 1e9))
        bad_usage("--timeout %s: not a positive number of seconds", text);
    return value;
}

/* Runs before the environment is copied, so that every child gets the
 * variable. */
static void parse_variable(const char *text)
{
    const char *equals = strchr(text, '=');
    char *copy;

    if (!equals || equals == text)
        bad_usage("-x %s: not NAME=VALUE", text);
    copy = strdup(text); /* putenv keeps it */
    if (!copy || putenv(copy) != 0)
        rcxrun_die("out of memory");
}

/* The argument of -n, or of mpirun's -np, which getopt parses as -n with
 * "p". */
static const char *size_of(char **argv)
{
    if (strcmp(optarg, "p") != 0 || strcmp(argv[optind - 1], "-np") != 0)
        return optarg;
    if (!argv[optind])
        bad_usage("-np: needs a number");
    return argv[optind++];
}

static void parse(int argc, char **argv, struct rcxrun_options *options)
{
    enum { NODES = 256, HOSTS };
    static const struct option names[] = {
        {"np", required_argument, NULL, 'n'},
        {"nodes", required_argument, NULL, NODES},
        {"prefix", no_argument, NULL, 'p'},
        {"bind", no_argument, NULL, 'b'},
        {"pin", no_argument, NULL, 'b'},
        {"keep-going", no_argument, NULL, 'k'},
        {"timeout", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {"host", optional_argument, NULL, HOSTS},
        {"hosts", optional_argument, NULL, HOSTS},
        {"hostfile", optional_argument, NULL, HOSTS},
        {"machinefile", optional_argument, NULL, HOSTS},
        {NULL, 0, NULL, 0},
    };
    int c;

    /* "+": stop at the program, whose options are not rcxrun's. */
    while ((c = getopt_long(argc, argv, "+n:pbkt:x:hVH", names, NULL)) != -1) {
        switch (c) {
        case 'n':
            options->size = parse_int("-n", size_of(argv), RCXRUN_MAX_RANKS);
            break;
        case NODES:
            options->nodes = parse_int("--nodes", optarg, RCXRUN_MAX_RANKS);
            break;
        case 'p': options->prefix = true; break;
        case 'b': options->bind = true; break;
        case 'k': options->keep_going = true; break;
        case 't': options->timeout_s = parse_seconds(optarg); break;
        case 'x': parse_variable(optarg); break;
        case 'H': only_here("-H");
        case HOSTS: only_here(argv[optind - 1]);
        case 'h':
            if (argv[optind] && strncmp(argv[optind], "-host", 5) == 0)
                only_here(argv[optind]); /* mpirun's -host and -hostfile */
            fputs(usage, stdout);
            exit(0);
        case 'V': puts("rcxrun (RCX) " RCXRUN_VERSION); exit(0);
        default: fputs("Try rcxrun --help.\n", stderr); exit(RCXRUN_EXIT_USAGE);
        }
    }
    if (optind == argc)
        bad_usage("no program given");
    if (options->nodes > options->size)
        bad_usage("--nodes %d: more nodes than ranks (%d)", options->nodes,
                  options->size);
    options->argv = argv + optind;
}

/* Die of the signal that ended the job, as a shell loop expects. */
static void die_of(int signal_number)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, signal_number);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
    struct rcxrun_options options = {.size = 1, .nodes = 1};
    int signal_number = 0;
    char *path;
    int status;

    atexit(check_output);
    rcxrun_scrub_environment();
    parse(argc, argv, &options);
    setenv("UCX_HANDLE_ERRORS", "none", 0);
    status = rcxrun_find_program(options.argv[0], &path);
    if (status != 0)
        return status;
    status = rcxrun_job_run(&options, path, &signal_number);
    free(path);
    if (signal_number != 0)
        die_of(signal_number);
    _exit(status); /* PMIx's threads still run: skip destructors */
}
