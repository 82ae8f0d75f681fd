/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment: one table of variables, read once at the start of a
 * context. UCX's own configuration is UCX's: RCX_UCX_TLS and the like reach
 * UCX for RCX alone, UCX_TLS for every user of UCX in the process.
 */
#ifndef RCX_CORE_RUN_OBJECT_CONFIG_H
#define RCX_CORE_RUN_OBJECT_CONFIG_H

#include "core/iface/transport.h"
#include "core/op/kernels.h"
#include "core/sched/tuning.h"

/* Of calls that ranks make together. */
enum rcx_check { RCX_CHECK_OFF, RCX_CHECK_CHEAP, RCX_CHECK_FULL };

enum { RCX_CONFIG_PATH = 256, RCX_CONFIG_LINES = 1024 };

/* What is said of the environment. */
enum rcx_config_kind {
    RCX_CONFIG_ERRORS, /* one line at most; some value is not valid */
    RCX_CONFIG_WARNINGS,
    RCX_CONFIG_KINDS
};

enum rcx_wait { RCX_WAIT_AUTO, RCX_WAIT_POLL, RCX_WAIT_YIELD, RCX_WAIT_BLOCK };

struct rcx_config {
    struct rcx_method_spec spec[RCX_COLL_COUNT];
    char tuning_path[RCX_CONFIG_PATH]; /* empty: RCX's own rules alone */
    struct rcx_tuning tuning;          /* what is there, after loading */
    rcx_order_t order;
    bool order_is_set;
    enum rcx_wait wait;
    bool progress_thread;
    bool watches_peers;
    enum rcx_lanes lanes;
    char dump[RCX_CONFIG_PATH]; /* before ".RANK.json"; empty: no dumps */
    enum rcx_check check;
    int64_t timeout_ns;
    bool timeout_is_set;
    size_t plan_cache_bytes;
    rcx_log_level_t log_level;
    enum rcx_isa isa;
    bool allow_singleton;
    struct rcx_refusal refusal; /* of the value that was parsed last */
    /* Lines that are to be said once per job, each ended by a newline. */
    char lines[RCX_CONFIG_KINDS][RCX_CONFIG_LINES];
    bool are_told[RCX_CONFIG_KINDS]; /* or left to another rank */
};

struct rcx_option {
    const char *name;     /* of the environment variable */
    const char *fallback; /* its value where it is not set */
    const char *values;   /* what is valid, for people */
    const char *doc;
    bool (*parse)(const char *text, struct rcx_config *config); /* NULL: as a
                             method of the collective whose variable it is */
};

/* Variable number i that RCX reads: the collectives', in the order of their
 * rows, then all others. false: there are fewer. */
bool rcx_option_at(int i, struct rcx_option *option_p);

/* The collective whose method it takes; RCX_COLL_COUNT: none's. */
enum rcx_coll rcx_option_coll(const struct rcx_option *option);

/* false: text is not valid, and config may say more of it. */
bool rcx_option_parse(const struct rcx_option *option, const char *text,
                      struct rcx_config *config);

/*
 * Read the environment. RCX_ERR_CONFIG names the variable, its value and what
 * is valid, and config is as without the variable; an RCX_ variable that nobody
 * reads is worth a warning. Sets the level of log. Says nothing yet: most often
 * all ranks have the same to say.
 */
rcx_status_t rcx_config_read(struct rcx_config *config, struct rcx_log *log);

/*
 * Read the rules that the environment names, through heap. RCX_ERR_CONFIG: the
 * file is not valid, which is one more thing to say, and RCX's own rules are
 * there. RCX_ERR_NOMEM is logged.
 */
rcx_status_t rcx_config_load(struct rcx_config *config, struct rcx_heap *heap,
                             const struct rcx_log *log);
void rcx_config_unload(struct rcx_config *config, struct rcx_heap *heap);

/* Say what there is to say, unless that was done. */
void rcx_config_tell(struct rcx_config *config, enum rcx_config_kind kind,
                     const struct rcx_log *log);
void rcx_config_tell_all(struct rcx_config *config, const struct rcx_log *log);

/* The same where it would be the same text; 0: there is nothing to say. */
uint64_t rcx_config_lines_hash(const struct rcx_config *config,
                               enum rcx_config_kind kind);

/*
 * What decides which messages are sent, and so has to be equal on all ranks: a
 * hash of each such setting, and the variable it comes from; NULL: none, it
 * is equal everywhere. The methods by enum rcx_coll, the order, the check,
 * the rules.
 */
enum { RCX_SHARED_SETTINGS = RCX_COLL_COUNT + 3 };
void rcx_config_hash(const struct rcx_config *config,
                     uint64_t hashes[RCX_SHARED_SETTINGS]);
const char *rcx_config_shared_name(int setting);

#endif
