/* SPDX-License-Identifier: BSD-3-Clause */
/* How RCX sets UCX up where the user did not. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "core/iface/peer.h"
#include "transport/node/caps.h"
#include "transport/node/cma.h"
#include "transport/ucp/adjust.h"

/*
 * What UCX 1.13 takes of shared memory files for a worker: 64 elements of its
 * FIFO, and buffers to receive into, 65 of which it needs at once. It writes to
 * all of them at once, so that too little is an error and not a SIGBUS: 512
 * would be 4 MB and half of the time of ucp_worker_create(), for each kind of
 * shared memory. When messages come unexpected it takes as many more, and drops
 * messages where it does not get them: leave room for 512.
 */
#define RX_BUFFERS "96"
enum { FIRST_BYTES = 819200, MORE_BYTES = 512 * 8392 };
enum { POSIX_BYTES_PER_RANK = FIRST_BYTES + MORE_BYTES };

enum { MOST_UNCREDITED = 16384, LEAST_AUTO = 1024 };

/*
 * UCX goes over from eager messages to rendezvous at 8 KB through shared
 * memory. Both ranks must run for a rendezvous, which is slow where they share
 * cores; and its copy may be slow (cma.h). Then a whole segment goes eagerly;
 * elsewhere up to 16 KB, where both cost the same (docs/performance.md).
 */
static const char *rendezvous_threshold(const struct rcx_node *node, int ranks)
{
    const bool is_crowded = ranks > sysconf(_SC_NPROCESSORS_ONLN);

    return node->cma_pays && !is_crowded ? "16K" : "512K";
}

/* For RCX or for all of UCX; NULL: nothing. */
static const char *user_setting(const char *name)
{
    static const char prefix[] = "RCX_";
    char variable[64];
    const char *value;

    snprintf(variable, sizeof variable, "%sUCX_%s", prefix, name);
    value = getenv(variable);
    return value ? value : getenv(variable + strlen(prefix));
}

/*
 * From so many bytes on a message may need an answer that leaves after it is
 * complete (rendezvous), or may be too long for a socket whose peer does not
 * read. Where UCX decides, that is not below 1 KB.
 */
static size_t ack_bytes(const char *threshold)
{
    static const char units[] = "BKMGT"; /* UCX's; what is below 0 is inf */
    char *end;
    double bytes = strtod(threshold, &end); /* inf, too */
    const char *unit;

    if (end == threshold)
        return LEAST_AUTO;
    unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit)
        bytes *= (double)(UINT64_C(1) << 10 * (unit - units));
    return bytes >= 0 && bytes < MOST_UNCREDITED ? (size_t)bytes
                                                 : MOST_UNCREDITED;
}

static bool has_rdma(void)
{
    DIR *devices = opendir("/sys/class/infiniband");
    const struct dirent *entry = NULL;

    while (devices && (entry = readdir(devices)) && entry->d_name[0] == '.')
        continue;
    if (devices)
        closedir(devices);
    return entry != NULL;
}

/*
 * What holds for shared memory does not for RDMA, of which UCX knows more: that is
 * left to UCX, also where it does not take the two apart (1.13). A socket copies
 * each message, so that a rendezvous would save no copy there.
 */
static const char *set_rendezvous(const struct rcx_transport_args *args,
                                  ucp_config_t *config,
                                  const struct rcx_node *node, int ranks)
{
    static const char network[] = "auto";
    const char *memory = rendezvous_threshold(node, ranks);
    char both[64];

    if (rcx_boot_is_one_node(args->boot) || !has_rdma()) {
        ucp_config_modify(config, "RNDV_THRESH", memory);
        return memory;
    }
    snprintf(both, sizeof both, "intra:%s,inter:%s", memory, network);
    if (args->lanes == RCX_LANES_UCP)
        ucp_config_modify(config, "RNDV_THRESH", both);
    return network;
}

/* What must not be used here, as UCX_TLS takes it; NULL: nothing. */
static const char *excluded(const struct rcx_log *log,
                            const struct rcx_node *node, int ranks,
                            const char *shm)
{
    static const char *const lists[2][2] = {{NULL, "^posix"},
                                            {"^cma", "^cma,posix"}};
    const uint64_t needed = (uint64_t)ranks * POSIX_BYTES_PER_RANK;
    const bool no_cma = rcx_node_refuses_cma(node);
    const bool no_posix = node->shm_bytes < needed;

    if (no_cma && node->rank == node->lowest)
        rcx_warn(log,
                 "ranks of this node do without cross-memory attach: "
                 "%s; they copy large messages through shared memory",
                 node->refusal);
    if (no_posix && node->rank == node->lowest)
        rcx_warn(log,
                 "%s is too small for %d ranks: %llu bytes needed, "
                 "%llu available; UCX uses System V shared memory instead",
                 shm, ranks, (unsigned long long)needed,
                 (unsigned long long)node->shm_bytes);
    return lists[no_cma][no_posix];
}

/*
 * UCX 1.13 leaves shared memory out where it shall find dead peers, unless its
 * environment says otherwise (ucp_config_modify() knows no such option); it
 * never uses CMA then.
 */
static void tell_price(const struct rcx_log *log)
{
    if (getenv("UCX_SYSV_ERROR_HANDLING") || getenv("UCX_POSIX_ERROR_HANDLING"))
        rcx_info(log, "RCX_ERR_MODE=peer: UCX's messages have no CMA inside "
                      "a node, since it finds no dead peers");
    else
        rcx_info(
            log,
            "RCX_ERR_MODE=peer: UCX's messages have no shared "
            "memory and no CMA inside a node; UCX_SYSV_ERROR_HANDLING=y and "
            "UCX_POSIX_ERROR_HANDLING=y bring shared memory back");
}

static void tell_choice(const struct rcx_transport_args *args, const char *tls,
                        const char *threshold)
{
    const char *user_tls = user_setting("TLS");

    rcx_log_line(args->log,
                 args->boot->rank == 0 ? RCX_LOG_INFO : RCX_LOG_DEBUG,
                 "UCX may use %s%s; rendezvous from %s on%s",
                 user_tls ? user_tls
                 : tls    ? tls
                          : "all transports",
                 user_tls ? " (set by the user)" : "", threshold,
                 user_setting("RNDV_THRESH") ? " (set by the user)" : "");
}

/* UCX warns of what it is told of transports that it does not use. */
static bool uses_tcp(const struct rcx_boot *boot)
{
    const char *tls = user_setting("TLS");

    if (rcx_boot_is_one_node(boot))
        return false;
    if (!tls)
        return true;
    return tls[0] == '^' ? !strstr(tls, "tcp")
                         : strstr(tls, "tcp") || strstr(tls, "all");
}

/*
 * UCX waits inside of connect(). From a node that is gone no answer comes,
 * for two minutes or more, and no deadline would hold meanwhile.
 */
static void connect_without_waiting(const struct rcx_boot *boot,
                                    ucp_config_t *config)
{
    const char *value = user_setting("TCP_CONN_NB");
    unsigned major, minor, release;

    if (!uses_tcp(boot))
        return;
    ucp_get_version(&major, &minor, &release);
    /* An option of a transport has its prefix from UCX 1.17 on. */
    ucp_config_modify(config,
                      major > 1 || minor >= 17 ? "TCP_CONN_NB" : "CONN_NB",
                      value ? value : "y");
}

/* UCX warns of this, too, where it uses no shared memory: for its own list of
 * transports only, which always has some. */
static void begin_with_few_buffers(ucp_config_t *config)
{
    if (!user_setting("MM_RX_BUFS_GROW") &&
        !user_setting("POSIX_RX_BUFS_GROW") &&
        !user_setting("SYSV_RX_BUFS_GROW"))
        ucp_config_modify(config, "MM_RX_BUFS_GROW", RX_BUFFERS);
}

/*
 * UCX 1.13 completes a zero-copy message over TCP twice where its peer dies, and
 * aborts this process. TCP copies each message anyway, so a copy into UCX's
 * buffers costs little.
 */
static void copy_over_tcp(const struct rcx_transport_args *args,
                          ucp_config_t *config)
{
    if ((args->watches_peers || !rcx_boot_is_one_node(args->boot)) &&
        !user_setting("ZCOPY_THRESH") && !has_rdma())
        ucp_config_modify(config, "ZCOPY_THRESH", "inf");
}

/* The user's settings win. */
rcx_status_t rcx_ucp_adjust(const struct rcx_transport_args *args,
                            ucp_config_t *config, struct rcx_node *node,
                            size_t *credit_bytes_p)
{
    const char *folder = user_setting("POSIX_DIR");
    const char *shm = folder ? folder : "/dev/shm", *tls = NULL;
    const char *threshold;
    const rcx_status_t status = rcx_node_exchange_caps(node, args->boot, shm);
    const int ranks = node->ranks > args->boot->local_size
                          ? node->ranks
                          : args->boot->local_size;

    if (status != RCX_OK)
        return status;
    node->cma_pays = !rcx_node_refuses_cma(node) && rcx_cma_pays(args->heap);
    if (args->watches_peers)
        tell_price(args->log);
    if (!user_setting("TLS")) {
        tls = excluded(args->log, node, ranks, shm);
        begin_with_few_buffers(config);
    }
    if (tls)
        ucp_config_modify(config, "TLS", tls);
    threshold = user_setting("RNDV_THRESH");
    if (!threshold)
        threshold = set_rendezvous(args, config, node, ranks);
    connect_without_waiting(args->boot, config);
    copy_over_tcp(args, config);
    tell_choice(args, tls, threshold);
    *credit_bytes_p = ack_bytes(threshold);
    return RCX_OK;
}

/* "posix/memory, cma/memory": what UCX prints of an endpoint, a lane a line:
 * "lane[0]:  2:posix/memory.0 md[2] ..." */
void rcx_ucp_tell_lanes(const struct rcx_log *log, rcx_log_level_t level,
                        int peer, struct ucp_ep *endpoint)
{
    char printed[4096] = "", lanes[256] = "";
    size_t used = 0;
    FILE *file;

    if (level > log->level)
        return;
    file = fmemopen(printed, sizeof printed, "w");
    if (!file)
        return;
    ucp_ep_print_info(endpoint, file);
    fclose(file);
    for (const char *at = printed; (at = strstr(at, "lane[")); at++) {
        const char *colon = strchr(at, ':');
        const char *name = colon ? strchr(colon + 1, ':') : NULL;

        if (name && used < sizeof lanes)
            used += (size_t)snprintf(lanes + used, sizeof lanes - used,
                                     "%s%.*s", used ? ", " : "",
                                     (int)strcspn(name + 1, ". \n"), name + 1);
    }
    rcx_log_line(log, level, "lanes to rank %d: %s", peer,
                 used ? lanes : "not known");
}

void rcx_ucp_print_lost(struct rcx_boot *boot, const struct rcx_log *log,
                        int peer, const char *why, char *text, size_t bytes)
{
    const char *tls = user_setting("TLS");
    char here[64] = "", there[64];

    gethostname(here, sizeof here - 1);
    rcx_peer_host(boot, log, peer, there, sizeof there);
    snprintf(text, bytes,
             "%s%s leads from %s to rank %d on %s: %s; or it has ended",
             tls ? "no transport of UCX_TLS=" : "no transport", tls ? tls : "",
             here, peer, there, why);
}

void rcx_ucp_print_ended(struct rcx_boot *boot, const struct rcx_log *log,
                         int peer, pid_t pid, char *text, size_t bytes)
{
    char host[64];

    rcx_peer_host(boot, log, peer, host, sizeof host);
    snprintf(text, bytes, "process %ld on %s, which was rank %d, has ended",
             (long)pid, host, peer);
}
