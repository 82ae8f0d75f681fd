/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX settings of RDMA that RCX changes unless the user has set them. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "transport/ucp/rdma.h"

#define DEVICES "/sys/class/infiniband"
enum { MELLANOX = 0x15b3 }; /* of PCI */

/* UCX's own: a message over rc is sent RC_TRIES times. */
enum { UD_SECONDS = 30, RC_SECONDS = 1, RC_TRIES = 8 };
/* As Open MPI and others have it; the device rounds up to 2^k * 4.096 us. */
#define RC_SECONDS_MOST 4.2

typedef const char *setting_fn(const char *name);

/* Scan one value of a file of a device in /sys. */
static bool scan(const char *device, const char *file, const char *format,
                 void *value)
{
    char path[sizeof DEVICES + 300];
    FILE *f;
    bool is_read;

    snprintf(path, sizeof path, DEVICES "/%.255s/%s", device, file);
    f = fopen(path, "re");
    if (!f)
        return false;
    is_read = fscanf(f, format, value) == 1;
    fclose(f);
    return is_read;
}

/* Whether UCX takes the device, or one of its ports: UCX warns of settings of
 * transports that it does not use. */
static bool is_used(const char *device, const char *net_devices)
{
    enum { ACTIVE = 4, PORTS_MOST = 8 };
    int state = 0;

    for (int port = 1; port <= PORTS_MOST && state != ACTIVE; port++) {
        char file[32];

        snprintf(file, sizeof file, "ports/%d/state", port);
        if (!scan(device, file, "%d", &state))
            return false;
    }
    return state == ACTIVE && (!net_devices || strstr(net_devices, device) ||
                               strcmp(net_devices, "all") == 0);
}

/* Call visit for each device, if it is not NULL. Returns their number. */
static int for_devices(void (*visit)(const char *device, void *arg), void *arg)
{
    DIR *devices = opendir(DEVICES);
    const struct dirent *entry;
    int count = 0;

    while (devices && (entry = readdir(devices))) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (visit)
            visit(entry->d_name, arg);
    }
    if (devices)
        closedir(devices);
    return count;
}

bool rcx_has_rdma(void)
{
    return for_devices(NULL, NULL) > 0;
}

struct devices {
    const char *chosen; /* UCX_NET_DEVICES */
    int used;
    int others; /* of these, of other vendors than Mellanox, or of none */
};

static void count_used(const char *device, void *arg)
{
    struct devices *d = arg;
    unsigned vendor = 0;

    if (!is_used(device, d->chosen))
        return;
    d->used++;
    d->others +=
        !scan(device, "device/vendor", "%x", &vendor) || vendor != MELLANOX;
}

/* Whether UCX may open the devices: a container may have them in /sys only. */
static bool may_open(void)
{
    return access("/dev/infiniband/uverbs0", R_OK | W_OK) == 0 ||
           access("/dev/infiniband/uverbs1", R_OK | W_OK) == 0;
}

/* Whether UCX_TLS allows one of the transports in names; NULL: not set. */
static bool may_use(const char *tls, const char *const names[])
{
    const bool excludes = tls && tls[0] == '^';

    for (size_t i = 0; tls && names[i]; i++)
        if (strstr(tls, names[i]))
            return !excludes;
    return !tls || excludes;
}

/* Names in UCX_TLS that lead to ud, by which rc and dc connect; and to rc. */
static const char *const with_ud[] = {"all", "ib", "rc", "ud", "dc", NULL};
static const char *const with_rc[] = {"all", "ib", "rc", NULL};

static void follow_deadline(struct ucp_config *config, setting_fn *user_setting,
                            double seconds)
{
    char text[32];
    double rc = seconds / RC_TRIES;

    if (seconds > UD_SECONDS && !user_setting("UD_TIMEOUT")) {
        snprintf(text, sizeof text, "%.3fs", seconds);
        ucp_config_modify(config, "UD_TIMEOUT", text);
    }
    if (rc > RC_SECONDS && may_use(user_setting("TLS"), with_rc) &&
        !user_setting("RC_TIMEOUT")) {
        rc = rc < RC_SECONDS_MOST ? rc : RC_SECONDS_MOST;
        snprintf(text, sizeof text, "%.3fs", rc);
        ucp_config_modify(config, "RC_TIMEOUT", text);
    }
}

/*
 * UCX reads from a field of a completion (sl) whether a datagram came by IPv4,
 * where only Mellanox's devices have that. Datagrams by IPv4 to other devices
 * fail its check of their destination, and are dropped without a word.
 */
void rcx_rdma_adjust(struct ucp_config *config,
                     const char *(*user_setting)(const char *name),
                     int64_t timeout_ns)
{
    struct devices d = {.chosen = user_setting("NET_DEVICES")};

    for_devices(count_used, &d);
    if (d.used == 0 || !may_open() || !may_use(user_setting("TLS"), with_ud))
        return;
    if (d.others > 0 && !user_setting("UD_ETH_DGID_CHECK"))
        ucp_config_modify(config, "UD_ETH_DGID_CHECK", "n");
    follow_deadline(config, user_setting, (double)timeout_ns / 1e9);
}
