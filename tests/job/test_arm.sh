#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# An event loop that sleeps on the descriptor of rcx_get_fd(), beside a thread that takes its events.
# Usage: test_arm.sh RCXRUN ARM_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN ARM_MAIN" "$@"

for options in "" RCX_WAIT=block RCX_PROGRESS=thread RCX_LANES=ucp "UCX_TLS=tcp,self UCX_NET_DEVICES=lo"; do
    # Without periodic events that would wake a rank that sleeps.
    # shellcheck disable=SC2086 # words
    run 0 "$rcxrun" -n 3 -x RCX_CHECK=off ${options:+-x ${options/ / -x }} "$main" && is_silent
    ok $? "a loop misses nothing that another thread completes${options:+, $options}"
done
end_tests
