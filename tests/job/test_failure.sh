#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that die, stop, come late, or abort, in every collective (need 15): the
# others have an error in time, know whom to blame, and exit with 0.
# Usage: test_failure.sh RCXRUN FAIL_MAIN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN FAIL_MAIN" "$@"
rcxrun=$(realpath "$1")
main=$(realpath "$2")
need=15
bound=(timeout -k 5 60)

# What is on stderr but rcxrun's word on the victim.
unexpected() {
    grep -v '^rcxrun: rank 2 (pid [0-9]*) killed by signal 9' "$err"
}

# try HOW COLLECTIVE [OPTION...]; expect STATUS HOW COLLECTIVE [OPTION...]
try() {
    begin "$*" "$rcxrun" -k -n 4 "${@:3}" "$main" "$1" "$2"
}
expect() {
    end "${*:2}" "$1" && [ -z "$(unexpected)" ]
    ok $? "$2 in $3 ${*:4}"
}

# One of the two mostly waits for its deadline.
for collective in allreduce reduce reduce_scatter_block dup; do
    for pair in "kill 137 late 0" "stop 137 abort 0"; do
        read -r how status other other_status <<<"$pair"
        try "$how" $collective
        try "$other" $collective
        expect "$status" "$how" $collective
        expect "$other_status" "$other" $collective
    done
    try thread $collective
    expect 0 thread $collective
done
try kill allreduce_many # whose vector is RCX's own
try abort allreduce_many
expect 137 kill allreduce_many
expect 0 abort allreduce_many
for pair in "kill 137" "stop 137" "late 0" "abort 0"; do # in two steps
    read -r how status <<<"$pair"
    try "$how" alltoallv -x RCX_ALLTOALLV=bruck
    expect "$status" "$how" alltoallv -x RCX_ALLTOALLV=bruck
done
for how in kill stop; do
    try $how allreduce -x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo
    expect 137 $how allreduce -x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo
done

# UCX has its own words to say about a peer that is gone.
peer=(-x RCX_ERR_MODE=peer -x UCX_KEEPALIVE_INTERVAL=1s -x UCX_LOG_LEVEL=fatal)
try dead allreduce "${peer[@]}"
expect 137 dead allreduce "${peer[@]}"
peer+=(-x UCX_SYSV_ERROR_HANDLING=y -x UCX_POSIX_ERROR_HANDLING=y)
try dead reduce "${peer[@]}"
expect 137 dead reduce "${peer[@]}"

end_tests
