/* SPDX-License-Identifier: BSD-3-Clause */
/* What the user has set of UCX, for RCX (RCX_UCX_NAME) or for all of UCX
 * (UCX_NAME), and which transports and devices that leaves. */
#ifndef RCX_TRANSPORT_UCP_CHOICE_H
#define RCX_TRANSPORT_UCP_CHOICE_H

#include <stdbool.h>

/* The value of a setting; NULL: not set. The first stores its variable. */
const char *rcx_ucp_find_setting(const char *name, char variable[64]);
const char *rcx_ucp_setting(const char *name);

/*
 * Whether UCX_TLS leaves a transport. Lists end with NULL. own: the beginnings
 * of its names, of which one that is excluded excludes it; more: of names that
 * it comes along with, if they are in the list.
 */
bool rcx_ucp_transport_is_left(const char *const own[],
                               const char *const more[]);

/* Whether UCX_NET_DEVICES leaves the device. */
bool rcx_ucp_device_is_left(const char *device);

/* Call visit for each entry of a folder in /sys. False if there is none. */
bool rcx_ucp_for_devices(const char *folder,
                         void (*visit)(const char *device, void *arg),
                         void *arg);

#endif
