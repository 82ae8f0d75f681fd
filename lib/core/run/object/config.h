/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment: one table of variables, read once when a context starts. UCX
 * reads its own variables: RCX_UCX_TLS and the like set UCX for RCX only,
 * UCX_TLS for every user of UCX in the process.
 */
#ifndef RCX_CORE_RUN_OBJECT_CONFIG_H
#define RCX_CORE_RUN_OBJECT_CONFIG_H

#include "core/iface/transport.h"
#include "core/op/kernels.h"
#include "core/sched/tuning.h"

/* Checks of collective calls. */
enum rcx_check { RCX_CHECK_OFF, RCX_CHECK_CHEAP, RCX_CHECK_FULL };

enum { RCX_CONFIG_PATH = 256, RCX_CONFIG_LINES = 1024 };

/* Lines about the environment. */
enum rcx_config_kind {
    RCX_CONFIG_ERRORS, /* at most one line; a value is invalid */
    RCX_CONFIG_WARNINGS,
    RCX_CONFIG_KINDS
};

enum rcx_wait { RCX_WAIT_AUTO, RCX_WAIT_POLL, RCX_WAIT_YIELD, RCX_WAIT_BLOCK };

struct rcx_config {
    struct rcx_method_spec spec[RCX_COLL_COUNT];
    char tuning_path[RCX_CONFIG_PATH]; /* empty: built-in rules only */
    struct rcx_tuning tuning;          /* its content, once loaded */
    char machine[RCX_CONFIG_PATH];     /* prices that are set; empty: none */
    bool measures_network;             /* no prices are set */
    rcx_order_t order;
    bool order_is_set;
    enum rcx_wait wait;
    bool progress_thread;
    bool watches_peers;
    bool ucx_watches_node;
    bool accepts_minority; /* members that are cut off go on by themselves */
    enum rcx_lanes lanes;
    struct rcx_shm_settings shm; /* that are set */
    bool finds_levels;           /* within nodes, by what ranks are bound to */
    int per_group[RCX_LEVELS];   /* else: ranks of a group; 0: no such level */
    char dump[RCX_CONFIG_PATH];  /* without ".RANK.json"; empty: no dumps */
    char profile[RCX_CONFIG_PATH]; /* "1": to the log; empty: no profile */
    char trace[RCX_CONFIG_PATH]; /* without ".RANK.json"; empty: no recording */
    size_t trace_events;
    enum rcx_check check;
    int64_t timeout_ns;
    bool timeout_is_set;
    size_t plan_cache_bytes;
    rcx_log_level_t log_level;
    enum rcx_isa isa;
    bool allow_singleton;
    bool has_status_page;       /* for rcx_top */
    struct rcx_refusal refusal; /* of the last value parsed */
    /* Lines to be logged once per job, each ended by a newline. */
    char lines[RCX_CONFIG_KINDS][RCX_CONFIG_LINES];
    bool are_told[RCX_CONFIG_KINDS]; /* logged, or left to another rank */
};

/* What a variable may be set for. PROCESS: by the environment alone. CONTEXT:
 * by the settings of rcx_init() as well. COMM: by rcx_comm_set() as well. */
enum rcx_option_scope { RCX_FOR_CONTEXT, RCX_FOR_COMM, RCX_FOR_PROCESS };

struct rcx_option {
    const char *name;     /* of the environment variable */
    const char *fallback; /* its default */
    const char *values;   /* valid values, for messages */
    const char *doc;
    bool is_secret; /* its value may have a secret and is not shown */
    enum rcx_option_scope scope;
    bool (*parse)(const char *text,
                  struct rcx_config *
                      config); /* NULL: a method of the variable's collective */
};

/* Variable number i that RCX reads: those of collectives in table order, then
 * all others. False: there are fewer. */
bool rcx_option_at(int i, struct rcx_option *option_p);

/* The collective whose method the variable sets; RCX_COLL_COUNT: none. */
enum rcx_coll rcx_option_coll(const struct rcx_option *option);

/* False: text is not valid; config may have a reason. */
bool rcx_option_parse(const struct rcx_option *option, const char *text,
                      struct rcx_config *config);

/* What the environment sets an option to; NULL: nothing, or to an empty
 * value. */
const char *rcx_option_set(const struct rcx_option *option);

/* Settings that the program gives. */
struct rcx_settings {
    const rcx_setting_t *list;
    size_t count;
};

/*
 * Read the program's settings and the environment, by their precedence. For
 * RCX_ERR_CONFIG the lines name the variable or setting, its value and the
 * valid values, and config has its default. An RCX_ variable that RCX does not
 * know gives a warning, a setting an error. Sets the level of log. Logs nothing
 * yet, as most often all ranks have the same lines.
 */
rcx_status_t rcx_config_read(struct rcx_config *config,
                             const struct rcx_settings *given,
                             struct rcx_log *log);

/* Log what is set, and whether the environment or the program did it. */
void rcx_config_tell_sources(const struct rcx_settings *given,
                             const struct rcx_log *log, rcx_log_level_t level);

/* Set one option of a communicator in config. RCX_ERR_CONFIG: text has the
 * reason. */
enum { RCX_CONFIG_TEXT = 900 };
rcx_status_t rcx_config_set(struct rcx_config *config, const char *name,
                            const char *value, char text[RCX_CONFIG_TEXT]);

/*
 * Read the tuning rules that the environment names, with memory from heap.
 * RCX_ERR_CONFIG: the file is invalid, which adds a line, and the built-in
 * rules are used. RCX_ERR_NOMEM is logged.
 */
rcx_status_t rcx_config_load(struct rcx_config *config, struct rcx_heap *heap,
                             const struct rcx_log *log);
void rcx_config_unload(struct rcx_config *config, struct rcx_heap *heap);

/* Log the lines, unless that is done. */
void rcx_config_tell(struct rcx_config *config, enum rcx_config_kind kind,
                     const struct rcx_log *log);
void rcx_config_tell_all(struct rcx_config *config, const struct rcx_log *log);

/* Equal if the lines are equal; 0: there are none. */
uint64_t rcx_config_lines_hash(const struct rcx_config *config,
                               enum rcx_config_kind kind);

/*
 * Settings that decide which messages are sent, and so must be equal on all
 * ranks: a hash of each, and the name of its variable; NULL: none, it is equal
 * everywhere. First the methods by enum rcx_coll, then order, check, rules,
 * shared memory, prices, and what observes calls.
 */
enum { RCX_SHARED_SETTINGS = RCX_COLL_COUNT + 6 };
void rcx_config_hash(const struct rcx_config *config,
                     uint64_t hashes[RCX_SHARED_SETTINGS]);
const char *rcx_config_shared_name(int setting);

#endif
