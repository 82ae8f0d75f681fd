/* SPDX-License-Identifier: BSD-3-Clause */
/* What the user has set of UCX, and what UCX_TLS and UCX_NET_DEVICES leave. */
#include "transport/ucp/choice.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rcx_ucp_find_setting(const char *name, char variable[64])
{
    static const char prefix[] = "RCX_";
    const char *value;

    snprintf(variable, 64, "%sUCX_%s", prefix, name);
    value = getenv(variable);
    if (!value) {
        snprintf(variable, 64, "UCX_%s", name);
        value = getenv(variable);
    }
    return value;
}

const char *rcx_ucp_setting(const char *name)
{
    char variable[64];

    return rcx_ucp_find_setting(name, variable);
}

/* Whether an item of list begins with name, and ends there or at a port if
 * is_whole. */
static bool has_item(const char *list, const char *name, bool is_whole)
{
    const size_t length = strlen(name);

    list += *list == '^';
    for (const char *item = list; item; item = strchr(item, ',')) {
        item += *item == ',';
        if (strncmp(item, name, length) == 0 &&
            (!is_whole || strchr(",:", item[length]))) /* or the end */
            return true;
    }
    return false;
}

static bool has_one(const char *list, const char *const names[])
{
    for (size_t i = 0; names[i]; i++)
        if (has_item(list, names[i], false))
            return true;
    return false;
}

bool rcx_ucp_transport_is_left(const char *const own[],
                               const char *const more[])
{
    const char *list = rcx_ucp_setting("TLS");

    if (!list)
        return true;
    return list[0] == '^' ? !has_one(list, own)
                          : has_one(list, own) || has_one(list, more);
}

bool rcx_ucp_device_is_left(const char *device)
{
    const char *list = rcx_ucp_setting("NET_DEVICES");

    if (!list || has_item(list, "all", true))
        return true;
    return has_item(list, device, true) != (list[0] == '^');
}

bool rcx_ucp_for_devices(const char *folder,
                         void (*visit)(const char *device, void *arg),
                         void *arg)
{
    DIR *devices = opendir(folder);
    const struct dirent *entry;
    bool has_any = false;

    while (devices && (entry = readdir(devices))) {
        if (entry->d_name[0] == '.')
            continue;
        has_any = true;
        visit(entry->d_name, arg);
    }
    if (devices)
        closedir(devices);
    return has_any;
}
