/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/phase/posted.h"

#include <limits.h>

static const int64_t proved[] = {0, 1, 3, RCX_PARAM_END};

const struct rcx_param rcx_posted_params[] = {
    {.name = "posted",
     .doc = "messages under way at once, each way; 0: all",
     .most = INT_MAX,
     .usual = 32,
     .proved = proved},
    {.name = NULL}};
