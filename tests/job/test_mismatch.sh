#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Calls of different ranks that do not match, as detected without RCX_CHECK=full
# (need 4). Usage: test_mismatch.sh RCXRUN MISMATCH_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN MISMATCH_MAIN" "$@"
need=4

# try SENTENCE N [OPTION...] WHAT
try() {
    local -r sentence=$1 n=$2
    shift 2
    run 0 "$rcxrun" -k -n "$n" "${@:1:$#-1}" "$main" "${!#}" && is_silent
    ok $? "$sentence"
}

begin every "$rcxrun" -k -n 3 -x RCX_WAIT=block "$main" every
begin agree "$rcxrun" -n 4 -x RCX_WAIT=block "$main" agree
for n in 3 4; do
    try "calls that do not match are found without a deadline, $n ranks" $n \
        differ
done
try "rendezvous or not, calls that do not match are found" 3 \
    -x RCX_UCX_RNDV_THRESH=0 differ
try "calls that do not match are found by the deadline with RCX_CHECK=off" 3 \
    -x RCX_CHECK=off leave
try "a communicator is not taken for one that had its number before" 3 reuse
end every 0 && is_silent
ok $? "a difference in any argument of any collective is found"
end agree 0 && is_silent
ok $? "1000 calls that match are never taken for others, however late"

end_tests
