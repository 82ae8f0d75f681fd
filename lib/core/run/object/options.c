/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of environment variables that RCX reads, and their parsers.
 * config.c reads them.
 */
#include "core/run/object/config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/base/suggest.h"

/* auto has the value of loose, which cannot be set */
static bool parse_order(const char *text, struct rcx_config *config)
{
    const char *names[RCX_ORDER_CANONICAL + 2] = {"auto"};
    int i;

    for (i = RCX_ORDER_SAME; i <= RCX_ORDER_CANONICAL; i++)
        names[i] = rcx_order_name((rcx_order_t)i);
    i = rcx_suggest_find(text, names, &config->refusal);
    config->order_is_set = i > 0;
    config->order = i > 0 ? (rcx_order_t)i : RCX_ORDER_SAME;
    return i >= 0;
}

static bool parse_wait(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"auto", "poll", "yield", "block", NULL};
    const int i = rcx_suggest_find(text, names, &config->refusal);

    config->wait = (enum rcx_wait)i;
    return i >= 0;
}

static bool parse_timeout(const char *text, struct rcx_config *config)
{
    config->timeout_is_set = strcmp(text, "none") != 0;
    config->timeout_ns = 0;
    return !config->timeout_is_set || rcx_parse_time(text, &config->timeout_ns);
}

static bool parse_progress(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"call", "thread", NULL};
    const int i = rcx_suggest_find(text, names, &config->refusal);

    config->progress_thread = i == 1;
    return i >= 0;
}

static bool parse_err_mode(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"auto", "none", "peer", NULL};
    const int i = rcx_suggest_find(text, names, &config->refusal);

    config->watches_peers = i != 1;
    config->ucx_watches_node = i == 2;
    return i >= 0;
}

static bool parse_quorum(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"majority", "any", NULL};
    const int i = rcx_suggest_find(text, names, &config->refusal);

    config->accepts_minority = i == 1;
    return i >= 0;
}

static bool parse_lanes(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"auto", "ucp", "node", NULL};
    const int i = rcx_suggest_find(text, names, &config->refusal);

    config->lanes = (enum rcx_lanes)i;
    return i >= 0;
}

/* For libraries on top of RCX, which read it: here it is only checked. */
static bool parse_sum(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"plain", "exact", NULL};

    return rcx_suggest_find(text, names, &config->refusal) >= 0;
}

/* Parse "LEVEL=RANKS" of RCX_LEVELS. */
static bool parse_level(char *text, struct rcx_config *config, unsigned *seen)
{
    static const char *const names[] = {"socket", "numa", "cache", NULL};
    char *value = strchr(text, '=');
    size_t ranks;
    int i;

    if (!value)
        return false;
    *value++ = '\0';
    i = rcx_suggest_find_once(text, names, seen, &config->refusal);
    if (i < 0 || !rcx_parse_bytes(value, &ranks) || ranks == 0 ||
        ranks > INT32_MAX)
        return false;
    config->per_group[RCX_LEVEL_SOCKET + i] = (int)ranks;
    return true;
}

static bool parse_levels(const char *text, struct rcx_config *config)
{
    char copy[128], *rest = copy, *level;
    unsigned seen = 0;

    config->finds_levels = strcmp(text, "auto") == 0;
    memset(config->per_group, 0, sizeof config->per_group);
    if (config->finds_levels || strcmp(text, "none") == 0)
        return true;
    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(copy, text);
    while ((level = strsep(&rest, ",")))
        if (!parse_level(level, config, &seen))
            return false;
    return true;
}

static bool parse_shm(const char *text, struct rcx_config *config)
{
    return rcx_shm_settings_parse(text, &config->shm, &config->refusal);
}

/* A path, or "none". */
static bool parse_path(const char *text, char path[RCX_CONFIG_PATH])
{
    const bool wanted = strcmp(text, "none") != 0;

    if (strlen(text) >= RCX_CONFIG_PATH || !*text)
        return false;
    strcpy(path, wanted ? text : "");
    return true;
}

static bool parse_dump(const char *text, struct rcx_config *config)
{
    return parse_path(text, config->dump);
}

static bool parse_profile(const char *text, struct rcx_config *config)
{
    if (strcmp(text, "0") == 0)
        text = "none";
    return parse_path(text, config->profile);
}

static bool parse_trace(const char *text, struct rcx_config *config)
{
    return parse_path(text, config->trace);
}

static bool parse_trace_events(const char *text, struct rcx_config *config)
{
    return rcx_parse_bytes(text, &config->trace_events) &&
           config->trace_events >= 64 &&
           config->trace_events <= (size_t)1 << 30;
}

static bool parse_machine(const char *text, struct rcx_config *config)
{
    struct rcx_machine machine;
    char copy[RCX_CONFIG_PATH];

    config->measures_network = strcmp(text, "auto") == 0;
    config->machine[0] = '\0';
    if (config->measures_network || strcmp(text, "usual") == 0)
        return true;
    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(config->machine, text);
    return rcx_machine_parse(strcpy(copy, text), &machine, &config->refusal);
}

static bool parse_tuning(const char *text, struct rcx_config *config)
{
    return parse_path(text, config->tuning_path);
}

static bool parse_check(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"off", "cheap", "full", NULL};
    const int i = rcx_suggest_find(text, names, &config->refusal);

    config->check = (enum rcx_check)i;
    return i >= 0;
}

static bool parse_log(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"error", "warn", "info", "debug", NULL};
    const int i = rcx_suggest_find(text, names, &config->refusal);

    config->log_level = (rcx_log_level_t)i;
    return i >= 0;
}

static bool parse_isa(const char *text, struct rcx_config *config)
{
    const char *names[RCX_ISA_COUNT + 2] = {"auto"};
    int i;

    for (i = 0; i < RCX_ISA_COUNT; i++)
        names[i + 1] = rcx_isa_name((enum rcx_isa)i);
    i = rcx_suggest_find(text, names, &config->refusal);
    if (i <= 0) { /* reading cpuid of a virtual processor takes 10 us: read it
                once */
        config->isa = rcx_isa_best();
        return i == 0;
    }
    config->isa = (enum rcx_isa)(i - 1);
    return rcx_isa_available(config->isa);
}

static bool parse_plan_cache(const char *text, struct rcx_config *config)
{
    return rcx_parse_bytes(text, &config->plan_cache_bytes);
}

static bool parse_allow_singleton(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"0", "1", NULL};
    const int i = rcx_suggest_find(text, names, &config->refusal);

    config->allow_singleton = i == 1;
    return i >= 0;
}

static bool parse_top(const char *text, struct rcx_config *config)
{
    static const char *const names[] = {"0", "1", NULL};
    const int i = rcx_suggest_find(text, names, &config->refusal);

    config->has_status_page = i == 1;
    return i >= 0;
}

/* ---- Start without a launcher -------------------------------------------- */

/* The bootstrap reads these variables: what is valid depends on others. Here
 * they are checked as far as a value is wrong by itself, also if the process
 * starts in another way. */
static bool parse_start(const char *text, struct rcx_config *config)
{
    (void)text;
    (void)config;
    return true;
}

/* "none", or a number from least on. */
static bool is_count(const char *text, int64_t least)
{
    const size_t digits = strspn(text, "0123456789");
    const int64_t number = strtoll(text, NULL, 10);

    return strcmp(text, "none") == 0 ||
           (digits > 0 && !text[digits] && number >= least &&
            number <= INT32_MAX);
}

static bool parse_rank(const char *text, struct rcx_config *config)
{
    const char *size_text = getenv("RCX_SIZE");
    const int64_t size = size_text ? strtoll(size_text, NULL, 10) : 0;

    (void)config;
    return is_count(text, 0) && (size <= 0 || strtoll(text, NULL, 10) < size);
}

static bool parse_size(const char *text, struct rcx_config *config)
{
    (void)config;
    return is_count(text, 1);
}

/* Whether the list, which begins with a name of so many letters, has it
 * again. */
static bool has_again(const char *list, size_t length)
{
    for (const char *at = list + length; *at == ',';) {
        at++;
        if (strcspn(at, ",") == length && strncmp(at, list, length) == 0)
            return true;
        at += strcspn(at, ",");
    }
    return false;
}

static bool parse_interfaces(const char *text, struct rcx_config *config)
{
    for (;; text++) {
        const size_t length = strcspn(text, ", \t\r\n");

        if (length == 0 || (text[length] && text[length] != ','))
            return false;
        if (has_again(text, length)) {
            snprintf(config->refusal.valid, sizeof config->refusal.valid,
                     "\"%.*s\" is given twice; valid is once",
                     length < 32 ? (int)length : 32, text);
            return false;
        }
        text += length;
        if (!*text)
            return true;
    }
}

/* Variables that belong to no collective. */
static const struct rcx_option others[] = {
    {.name = "RCX_ORDER",
     .fallback = "auto",
     .values = "auto, same, rank, uniform or canonical",
     .doc =
         "lowest order level of reductions; auto: what rcx_init() was given, or "
         "same",
     .scope = RCX_FOR_COMM,
     .parse = parse_order},
    {.name = "RCX_SUM",
     .fallback = "plain",
     .values = "plain or exact",
     .doc =
         "sums of vectors of SUNDIALS, over all elements of all ranks: exact: "
         "the same bits for any number of ranks and any division among them",
     .scope = RCX_FOR_PROCESS,
     .parse = parse_sum},
    {.name = "RCX_TUNING",
     .fallback = "none",
     .values = "none, or a path of up to 255 bytes",
     .doc =
         "file of rules by which methods are chosen, as rcx_tune writes them, "
         "before RCX's own rules",
     .parse = parse_tuning},
    {.name = "RCX_MACHINE",
     .fallback = "auto",
     .values = "auto, usual, or prices: far-alpha=20us,far-beta=8ns",
     .doc = "prices by which methods are chosen; auto: those between nodes are "
            "measured at start, for calls whose results do not depend on them",
     .parse = parse_machine},
    {.name = "RCX_WAIT",
     .fallback = "auto",
     .values = "auto, poll, yield or block",
     .doc =
         "how a rank waits: poll: never releases its core; yield: yields it "
         "after every empty poll; block: sleeps after some; auto: yields soon if "
         "ranks outnumber cores, and sleeps after 5 ms or if other tasks keep "
         "the core; else polls for about 0.1 ms first",
     .parse = parse_wait},
    {.name = "RCX_PROGRESS",
     .fallback = "call",
     .values = "call or thread",
     .doc =
         "call: progress is made in calls of RCX; thread: by a thread as well, "
         "which sleeps while there is nothing to do",
     .parse = parse_progress},
    {.name = "RCX_TIMEOUT",
     .fallback = "none",
     .values = "none, 0, or a time with its unit: 500ms, 30s, 10m, 1h",
     .doc =
         "deadline of every operation; 0: no deadline; none: what rcx_init() "
         "was given",
     .scope = RCX_FOR_COMM,
     .parse = parse_timeout},
    {.name = "RCX_ERR_MODE",
     .fallback = "auto",
     .values = "auto, none or peer",
     .doc =
         "detection of dead peers: auto: by their processes on this node, by "
         "UCX elsewhere; peer: also by UCX on this node, where they have no "
         "mapped memory; none: only by a deadline",
     .parse = parse_err_mode},
    {.name = "RCX_QUORUM",
     .fallback = "majority",
     .values = "majority or any",
     .doc =
         "ranks that go on after a failure: majority: all not known to be dead, "
         "or more than half of all, or half with rank 0; any: any part",
     .scope = RCX_FOR_COMM,
     .parse = parse_quorum},
    {.name = "RCX_LANES",
     .fallback = "auto",
     .values = "auto, ucp or node",
     .doc =
         "messages within a node: auto: through mapped memory if possible; ucp: "
         "by UCX's messages only; node: through mapped memory, or it is an error",
     .parse = parse_lanes},
    {.name = "RCX_LEVELS",
     .fallback = "auto",
     .values = "auto, none, or some of socket=RANKS,numa=RANKS,cache=RANKS",
     .doc =
         "levels within a node that hierarchical algorithms know: auto: those "
         "that divide the ranks, if each is bound; else so many ranks of a node "
         "in a row share a socket, a NUMA domain, a cache",
     .parse = parse_levels},
    {.name = "RCX_SHM",
     .fallback = "auto",
     .values =
         "auto, or a list of ring=SIZE, chunk=SIZE, eager=SIZE, direct=SIZE, cma=SIZE, cico=SIZE, stream=SIZE, polls=NUMBER",
     .doc =
         "sizes at which messages through mapped memory take another way; auto: "
         "by figures that are measured at start, see rcx_info --machine",
     .parse = parse_shm},
    {.name = "RCX_CHECK",
     .fallback = "cheap",
     .values = "off, cheap or full",
     .doc =
         "find calls of ranks that do not match: full compares them before data "
         "moves, cheap finds most of those that would hang",
     .scope = RCX_FOR_COMM,
     .parse = parse_check},
    {.name = "RCX_DUMP",
     .fallback = "none",
     .values = "none, or a path of up to 255 bytes",
     .doc =
         "when a communicator fails, write its last operations to PATH.RANK.json, "
         "for rcx_trace",
     .parse = parse_dump},
    {.name = "RCX_TOP",
     .fallback = "1",
     .values = "0 or 1",
     .doc =
         "show in a page of /dev/shm, which only the user may read, what this "
         "process is in, for rcx_top",
     .parse = parse_top},
    {.name = "RCX_PROFILE",
     .fallback = "none",
     .values = "none, 0, 1, or a path of up to 255 bytes",
     .doc =
         "at the end, rank 0 writes how long all ranks were in which calls: 1: "
         "to the log; else to the file, as JSON if its name ends in .json",
     .parse = parse_profile},
    {.name = "RCX_TRACE",
     .fallback = "none",
     .values = "none, or a path of up to 255 bytes",
     .doc =
         "record calls and messages, and write them to PATH.RANK.json at the "
         "end, for rcx_trace --perfetto",
     .parse = parse_trace},
    {.name = "RCX_TRACE_EVENTS",
     .fallback = "64K",
     .values = "a number from 64 to 1G: 64K, 1M",
     .doc =
         "events that RCX_TRACE keeps on a rank, the last ones; 40 bytes each",
     .parse = parse_trace_events},
    {.name = "RCX_PLAN_CACHE",
     .fallback = "16M",
     .values = "a size: 0, 64K, 16M, 1G",
     .doc = "bytes of plans that a communicator keeps",
     .scope = RCX_FOR_COMM,
     .parse = parse_plan_cache},
    {.name = "RCX_ISA",
     .fallback = "auto",
     .values = "auto, or a level of this CPU: baseline, avx2, avx512",
     .doc = "instruction set of the reduction kernels",
     .parse = parse_isa},
    {.name = "RCX_LOG",
     .fallback = "warn",
     .values = "error, warn, info or debug",
     .doc = "least severe messages that are printed",
     .parse = parse_log},
    {.name = "RCX_ALLOW_SINGLETON",
     .fallback = "0",
     .values = "0 or 1",
     .doc =
         "run as a single process though a launcher seems to have started several",
     .parse = parse_allow_singleton},
    {.name = "RCX_ROOT",
     .fallback = "none",
     .values = "none, HOST:PORT, [IPV6]:PORT, file:/PATH, or the text of an id",
     .doc =
         "start without a launcher: where rank 0 listens, or the file by which "
         "the ranks meet",
     .is_secret = true, /* that of an id */
     .scope = RCX_FOR_PROCESS,
     .parse = parse_start},
    {.name = "RCX_RANK",
     .fallback = "none",
     .values = "none, or 0 to RCX_SIZE - 1",
     .doc =
         "rank of this process, with RCX_ROOT; none: what a launcher has set",
     .scope = RCX_FOR_PROCESS,
     .parse = parse_rank},
    {.name = "RCX_SIZE",
     .fallback = "none",
     .values = "none, or a number of 1 or more",
     .doc = "number of ranks, with RCX_ROOT; none: what a launcher has set",
     .scope = RCX_FOR_PROCESS,
     .parse = parse_size},
    {.name = "RCX_SECRET",
     .fallback = "none",
     .values = "none, or a text",
     .doc = "secret of the job, with RCX_ROOT=HOST:PORT: processes that do not "
            "have it do not get in",
     .is_secret = true,
     .scope = RCX_FOR_PROCESS,
     .parse = parse_start},
    {.name = "RCX_SOCKET_IFNAME",
     .fallback = "none",
     .values = "none, or names of network interfaces, separated by commas",
     .doc = "network interfaces at which ranks listen that start without a "
            "launcher; none: the one that reaches rank 0",
     .scope = RCX_FOR_PROCESS,
     .parse = parse_interfaces},
};
enum { OTHERS = sizeof others / sizeof *others };

static struct rcx_option method_option(enum rcx_coll coll)
{
    return (struct rcx_option){.name = rcx_colls[coll].variable,
                               .fallback = RCX_METHOD_AUTO,
                               .values = RCX_METHOD_VALUES,
                               .doc = rcx_colls[coll].chooses,
                               .scope = RCX_FOR_COMM};
}

enum rcx_coll rcx_option_coll(const struct rcx_option *option)
{
    int coll = 0;

    while (coll < RCX_COLL_COUNT && option->name != rcx_colls[coll].variable)
        coll++;
    return (enum rcx_coll)coll;
}

bool rcx_option_at(int i, struct rcx_option *option_p)
{
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++) {
        if (rcx_colls[coll].variable && i-- == 0) {
            *option_p = method_option((enum rcx_coll)coll);
            return true;
        }
    }
    if (i < OTHERS)
        *option_p = others[i];
    return i < OTHERS;
}

bool rcx_option_parse(const struct rcx_option *option, const char *text,
                      struct rcx_config *config)
{
    const enum rcx_coll coll = rcx_option_coll(option);

    return option->parse ? option->parse(text, config)
                         : rcx_method_parse(text, coll, &config->spec[coll],
                                            &config->refusal);
}

const char *rcx_option_set(const struct rcx_option *o)
{
    const char *value = getenv(o->name);

    return value && *value ? value : NULL;
}
