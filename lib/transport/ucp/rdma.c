/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX settings of RDMA that RCX changes unless the user has set them. */
#include <stdio.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "transport/ucp/choice.h"
#include "transport/ucp/rdma.h"

#define DEVICES "/sys/class/infiniband"
enum { MELLANOX = 0x15b3 }; /* of PCI */

/* UCX's own: a message over rc is sent RC_TRIES times. */
enum { UD_SECONDS = 30, RC_SECONDS = 1, RC_TRIES = 8 };
/* As Open MPI and others have it; the device rounds up to 2^k * 4.096 us. */
#define RC_SECONDS_MOST 4.2

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
static bool is_used(const char *device)
{
    enum { ACTIVE = 4, PORTS_MOST = 8 };
    int state = 0;

    for (int port = 1; port <= PORTS_MOST && state != ACTIVE; port++) {
        char file[32];

        snprintf(file, sizeof file, "ports/%d/state", port);
        if (!scan(device, file, "%d", &state))
            return false;
    }
    return state == ACTIVE && rcx_ucp_device_is_left(device);
}

static void pass(const char *device, void *arg)
{
    (void)device, (void)arg;
}

bool rcx_has_rdma(void)
{
    return rcx_ucp_for_devices(DEVICES, pass, NULL);
}

struct devices {
    int used;
    int others; /* of these, of other vendors than Mellanox, or of none */
};

static void count_used(const char *device, void *arg)
{
    struct devices *d = arg;
    unsigned vendor = 0;

    if (!is_used(device))
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

/* rc and dc connect by ud, which UCX excludes with rc. */
static bool may_use_ud(void)
{
    static const char *const own[] = {"ud", "rc", "ib", NULL};
    static const char *const more[] = {"all", "dc", NULL};

    return rcx_ucp_transport_is_left(own, more);
}

static bool may_use_rc(void)
{
    static const char *const own[] = {"rc", "ib", NULL}, *const more[] = {"all",
                                                                          NULL};

    return rcx_ucp_transport_is_left(own, more);
}

static void follow_deadline(struct ucp_config *config, double seconds)
{
    char text[32];
    double rc = seconds / RC_TRIES;

    if (seconds > UD_SECONDS && !rcx_ucp_setting("UD_TIMEOUT")) {
        snprintf(text, sizeof text, "%.3fs", seconds);
        ucp_config_modify(config, "UD_TIMEOUT", text);
    }
    if (rc > RC_SECONDS && may_use_rc() && !rcx_ucp_setting("RC_TIMEOUT")) {
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
void rcx_rdma_adjust(struct ucp_config *config, int64_t timeout_ns)
{
    struct devices d = {0, 0};

    rcx_ucp_for_devices(DEVICES, count_used, &d);
    if (d.used == 0 || !may_open() || !may_use_ud())
        return;
    if (d.others > 0 && !rcx_ucp_setting("UD_ETH_DGID_CHECK"))
        ucp_config_modify(config, "UD_ETH_DGID_CHECK", "n");
    follow_deadline(config, (double)timeout_ns / 1e9);
}
