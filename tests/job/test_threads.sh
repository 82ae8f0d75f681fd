#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks with several threads each, over UCX (need 21). Usage: test_threads.sh
# RCXRUN THREADS_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN THREADS_MAIN" "$@"
need=21

# try SENTENCE N [OPTION...] WHAT
try() {
    local -r sentence=$1 n=$2
    shift 2
    run 0 "$rcxrun" -n "$n" "${@:1:$#-1}" "$main" "${!#}" && is_silent
    ok $? "$sentence"
}

for n in 2 3 4; do
    try "$n ranks: threads use communicators of their own, and one starts \
what another waits for" "$n" multiple
done
try "the same beside the progress thread" 3 -x RCX_PROGRESS=thread multiple
try "the same where those that wait sleep" 2 -x RCX_WAIT=block multiple
for n in 2 3; do
    try "$n ranks: threads take turns on one communicator" "$n" serialized
done
try "the same beside the progress thread" 2 -x RCX_PROGRESS=thread serialized

end_tests
