/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX settings that RCX changes unless the user has set them. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "core/base/descriptors.h"
#include "core/iface/peer.h"
#include "transport/node/caps.h"
#include "transport/node/network.h"
#include "transport/ucp/adjust.h"
#include "transport/ucp/choice.h"
#include "transport/ucp/rdma.h"

/*
 * What UCX takes of shared memory files for a worker: the elements of its FIFO,
 * and receive buffers, of which it needs one more at once: 65, or 257 from UCX
 * 1.16 on unless the FIFO is as short as before. It writes to all of them at
 * once, so too little memory is an error and not a SIGBUS. 512 would take 4 MB
 * and half of the time of ucp_worker_create(), for each kind of shared memory.
 * Unexpected messages take more buffers, and messages are dropped if there are
 * none: leave room for 512.
 */
#define FIFO_ELEMENTS "64"
#define RX_BUFFERS "96"
enum { FIRST_BYTES = 819200, MORE_BYTES = 512 * 8392 };
enum { POSIX_BYTES_PER_RANK = FIRST_BYTES + MORE_BYTES };

enum { MOST_UNACKED = 16384, LEAST_AUTO = 1024 };

/*
 * UCX changes from eager messages to rendezvous at 8 KB in shared memory. In a
 * rendezvous both ranks must run, which is slow if ranks share cores; and its
 * copy may be slow (node/figures.h). Then a whole segment is sent eagerly; else
 * up to 16 KB, where both cost the same.
 */
static const char *rendezvous_threshold(const struct rcx_node *node, int ranks)
{
    const bool is_crowded = ranks > sysconf(_SC_NPROCESSORS_ONLN);

    return node->cma_pays && !is_crowded ? "16K" : "512K";
}

/*
 * From this size on a message may need an answer that is sent after it
 * completes (rendezvous), or may be too long for a socket whose peer does not
 * read. Where UCX decides, that is at least 1 KB.
 */
static size_t ack_bytes(const char *threshold)
{
    static const char units[] = "BKMGT"; /* as UCX has them; negative is inf */
    char *end;
    double bytes = strtod(threshold, &end); /* also inf */
    const char *unit;

    if (end == threshold)
        return LEAST_AUTO;
    unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit)
        bytes *= (double)(UINT64_C(1) << 10 * (unit - units));
    return bytes >= 0 && bytes < MOST_UNACKED ? (size_t)bytes : MOST_UNACKED;
}

/*
 * Thresholds for shared memory do not apply to RDMA, of which UCX knows more:
 * these are left to UCX, also if it has one threshold for both (1.13). A socket
 * copies each message, so a rendezvous would save no copy there.
 */
static const char *set_rendezvous(const struct rcx_transport_args *args,
                                  ucp_config_t *config,
                                  const struct rcx_node *node, int ranks)
{
    static const char network[] = "auto";
    const char *memory = rendezvous_threshold(node, ranks);
    char both[64];

    if (node->has_all || !rcx_has_rdma()) {
        ucp_config_modify(config, "RNDV_THRESH", memory);
        return memory;
    }
    snprintf(both, sizeof both, "intra:%s,inter:%s", memory, network);
    if (args->lanes == RCX_LANES_UCP)
        ucp_config_modify(config, "RNDV_THRESH", both);
    return network;
}

/* Transports that must not be used, as a value of UCX_TLS; NULL: none. */
static const char *excluded(const struct rcx_log *log,
                            const struct rcx_node *node, int ranks,
                            const char *shm)
{
    static const char *const lists[2][2] = {{NULL, "^posix"},
                                            {"^cma", "^cma,posix"}};
    const uint64_t needed = (uint64_t)ranks * POSIX_BYTES_PER_RANK;
    const bool no_cma = rcx_node_refuses_cma(node);
    const int missing = access(shm, F_OK) == 0 ? 0 : errno;
    const bool no_posix = node->shm_bytes < needed;

    if (no_cma && node->rank == node->lowest)
        rcx_warn(log,
                 "cross-memory attach (CMA) is not used on this node: %s; "
                 "large messages are copied through shared memory",
                 node->refusal);
    if (missing && node->rank == node->lowest)
        rcx_warn(log,
                 "%s: %s; UCX uses System V shared memory instead, and logs "
                 "errors of its own",
                 shm, strerror(missing));
    else if (no_posix && node->rank == node->lowest)
        rcx_warn(log,
                 "%s is too small for %d ranks: %llu bytes needed, "
                 "%llu available; UCX uses System V shared memory instead",
                 shm, ranks, (unsigned long long)needed,
                 (unsigned long long)node->shm_bytes);
    /* UCX warns of a transport in the list that does not exist */
    return lists[no_cma][no_posix && !missing];
}

/*
 * UCX 1.13 does not use shared memory where it reports dead peers, unless its
 * environment says so (ucp_config_modify() has no such option); then it never
 * uses CMA.
 */
static void tell_price(const struct rcx_log *log)
{
    if (getenv("UCX_SYSV_ERROR_HANDLING") || getenv("UCX_POSIX_ERROR_HANDLING"))
        rcx_info(log, "RCX_ERR_MODE=peer: UCX does not use CMA within a node, "
                      "as it cannot detect dead peers over CMA");
    else
        rcx_info(
            log,
            "RCX_ERR_MODE=peer: UCX uses neither shared memory nor CMA within "
            "a node; UCX_SYSV_ERROR_HANDLING=y and UCX_POSIX_ERROR_HANDLING=y "
            "enable shared memory");
}

static void tell_choice(const struct rcx_transport_args *args, const char *tls,
                        const char *threshold)
{
    const char *user_tls = rcx_ucp_setting("TLS");

    rcx_log_line(args->log,
                 args->boot->rank == 0 ? RCX_LOG_INFO : RCX_LOG_DEBUG,
                 "UCX may use %s%s; rendezvous from %s on%s",
                 user_tls ? user_tls
                 : tls    ? tls
                          : "all transports",
                 user_tls ? " (set by the user)" : "", threshold,
                 rcx_ucp_setting("RNDV_THRESH") ? " (set by the user)" : "");
}

static void find_left(const char *device, void *arg)
{
    bool *is_left_p = arg;

    *is_left_p |= rcx_ucp_device_is_left(device);
}

/* UCX warns of settings of transports that it does not use. */
static bool uses_tcp(const struct rcx_node *node)
{
    static const char *const tcp[] = {"tcp", NULL}, *const all[] = {"all",
                                                                    NULL};
    bool has_device = false;

    if (node->has_all || !rcx_ucp_transport_is_left(tcp, all))
        return false;
    rcx_ucp_for_devices("/sys/class/net", find_left, &has_device);
    return has_device;
}

/*
 * UCX blocks in connect(). A node that is gone does not answer for two minutes
 * or more, and no deadline would hold meanwhile.
 */
static void connect_without_waiting(const struct rcx_node *node,
                                    ucp_config_t *config)
{
    const char *value = rcx_ucp_setting("TCP_CONN_NB");
    unsigned major, minor, release;

    if (!uses_tcp(node))
        return;
    ucp_get_version(&major, &minor, &release);
    /* From UCX 1.17 on, options of a transport have its prefix. */
    ucp_config_modify(config,
                      major > 1 || minor >= 17 ? "TCP_CONN_NB" : "CONN_NB",
                      value ? value : "y");
}

/* Set an option of both kinds of shared memory, unless the user has set it for
 * one of them. UCX also warns of it if it uses no shared memory, but only with
 * its own list of transports, which always has some. */
static void set_of_memory(ucp_config_t *config, const char *option,
                          const char *value)
{
    static const char *const kinds[] = {"POSIX", "SYSV", "MM"};
    char name[32];

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(name, sizeof name, "%s_%s", kinds[i], option);
        if (rcx_ucp_setting(name))
            return;
    }
    ucp_config_modify(config, name, value);
}

/*
 * UCX 1.13 completes a zero-copy message over TCP twice if the peer dies, and
 * aborts this process. TCP copies each message anyway, so a copy into UCX's
 * buffers costs little.
 */
static void copy_over_tcp(const struct rcx_transport_args *args,
                          const struct rcx_node *node, ucp_config_t *config)
{
    if ((args->ucx_watches_node || !node->has_all) &&
        !rcx_ucp_setting("ZCOPY_THRESH") && !rcx_has_rdma())
        ucp_config_modify(config, "ZCOPY_THRESH", "inf");
}

/*
 * UCX takes the fastest device that is up, and does not find out whether it
 * reaches a peer. RDMA devices have no part in this: where there are any, UCX
 * chooses. The exchange is collective, so it does not depend on settings.
 */
static rcx_status_t choose_devices(const struct rcx_transport_args *args,
                                   ucp_config_t *config,
                                   const struct rcx_node *node)
{
    struct rcx_network net;
    char list[RCX_NETWORK_DEVICES * IF_NAMESIZE], rest[sizeof list * 2];
    const rcx_status_t status = rcx_network_exchange(&net, args->boot, node);

    if (status != RCX_OK)
        return status;
    if (rcx_ucp_setting("NET_DEVICES") || rcx_has_rdma() || !uses_tcp(node) ||
        !rcx_network_choose(&net, list, sizeof list, rest, sizeof rest))
        return RCX_OK;
    ucp_config_modify(config, "NET_DEVICES", list);
    rcx_log_line(args->log,
                 args->boot->rank == 0 ? RCX_LOG_INFO : RCX_LOG_DEBUG,
                 "UCX may use the network devices %s, but not %s: they do not "
                 "reach the other nodes",
                 list, rest);
    return RCX_OK;
}

/* Settings of the user are kept. */
rcx_status_t rcx_ucp_adjust(const struct rcx_transport_args *args,
                            ucp_config_t *config, struct rcx_node *node,
                            size_t *ack_bytes_p)
{
    const char *folder = rcx_ucp_setting("POSIX_DIR");
    const char *shm = folder ? folder : "/dev/shm", *tls = NULL;
    const char *threshold;
    rcx_status_t status =
        rcx_node_exchange_caps(node, args->boot, shm, args->machine);
    const int unknown = args->boot->local_size > node->seen
                            ? args->boot->local_size - node->seen
                            : 0;

    if (status == RCX_OK)
        status = choose_devices(args, config, node);
    if (status != RCX_OK)
        return status;
    if (args->ucx_watches_node)
        tell_price(args->log);
    if (!rcx_ucp_setting("TLS")) {
        tls = excluded(args->log, node, node->ranks + unknown, shm);
        set_of_memory(config, "FIFO_SIZE", FIFO_ELEMENTS);
        set_of_memory(config, "RX_BUFS_GROW", RX_BUFFERS);
    }
    if (tls)
        ucp_config_modify(config, "TLS", tls);
    threshold = rcx_ucp_setting("RNDV_THRESH");
    if (!threshold)
        threshold = set_rendezvous(args, config, node, node->tasks + unknown);
    connect_without_waiting(node, config);
    copy_over_tcp(args, node, config);
    rcx_rdma_adjust(config, args->timeout_ns);
    tell_choice(args, tls, threshold);
    *ack_bytes_p = ack_bytes(threshold);
    return RCX_OK;
}

/* "posix/memory, cma/memory", from what UCX prints of an endpoint, one line a
 * lane: "lane[0]: 2:posix/memory.0 md[2] ..." */
void rcx_ucp_log_lanes(const struct rcx_log *log, rcx_log_level_t level,
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
    const char *tls = rcx_ucp_setting("TLS");
    char here[64] = "", there[64];

    gethostname(here, sizeof here - 1);
    rcx_peer_host(boot, log, peer, there, sizeof there);
    snprintf(text, bytes,
             "%s%s connects %s to rank %d on %s: %s; or that rank has ended",
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

/* ---- Errors -------------------------------------------------------------- */

rcx_status_t rcx_ucp_check_descriptors(const struct rcx_log *log)
{
    enum { LEAST = 16 }; /* those that a worker opens */

    return rcx_has_descriptors(LEAST)
               ? RCX_OK
               : rcx_fail(log, RCX_ERR_LIMIT,
                          "this process may open fewer than %d further "
                          "descriptors (ulimit -n), which UCX may need",
                          LEAST);
}

/* Store the settings by which the user has chosen transports and devices, such
 * as "RCX_UCX_TLS=tcp". False: none. */
static bool print_choice(char *text, size_t bytes)
{
    static const char *const names[] = {"TLS", "NET_DEVICES", "SHM_DEVICES"};
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names && used < bytes; i++) {
        char variable[64];
        const char *value = rcx_ucp_find_setting(names[i], variable);

        if (value)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s=%.64s",
                                     used ? ", " : "", variable, value);
    }
    return used > 0;
}

rcx_status_t rcx_ucp_fail_to_open(const struct rcx_log *log, const char *call,
                                  int status)
{
    char choice[256], hint[sizeof choice + 16];

    if (print_choice(choice, sizeof choice))
        snprintf(hint, sizeof hint, "with %s", choice);
    else
        snprintf(hint, sizeof hint,
                 "if a network or shared memory cannot be opened, set "
                 "RCX_UCX_TLS=tcp,self");
    return rcx_fail(
        log, status == UCS_ERR_NO_MEMORY ? RCX_ERR_NOMEM : RCX_ERR_TRANSPORT,
        "%s (%s): %s", call, hint, ucs_status_string((ucs_status_t)status));
}
