#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that die, stop, come late, or abort, in every collective (need 15). The
# other ranks get an error in time that names the rank, and exit with 0. Usage:
# test_failure.sh RCXRUN FAIL_MAIN [full]

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN FAIL_MAIN [full]" "$@"
need=15

# Lines on stderr other than rcxrun's line about the victim.
unexpected() {
    grep -v '^rcxrun: rank 2 (pid [0-9]*) killed by signal 9' "$err"
}

# try HOW COLLECTIVE [OPTION...]; expect STATUS HOW COLLECTIVE [OPTION...]
try() {
    local mode=()

    [ "$1" != kill ] || mode=(-x RCX_ERR_MODE=none) # by the deadline alone
    begin "$*" "$rcxrun" -k -n 4 "${mode[@]}" "${@:3}" "$main" "$1" "$2"
}
expect() {
    end "${*:2}" "$1" && [ -z "$(unexpected)" ]
    ok $? "$2 in $3 ${*:4}"
}

mapfile -t collectives < <("$main" names)

# All failures in COLLECTIVE. Two jobs run at a time, as one of them mostly
# waits for its deadline.
every_way() {
    local pair how status other other_status
    for pair in "kill 137 late 0" "stop 137 abort 0"; do
        read -r how status other other_status <<<"$pair"
        try "$how" "$1"
        try "$other" "$1"
        expect "$status" "$how" "$1"
        expect "$other_status" "$other" "$1"
    done
    try thread "$1"
    expect 0 thread "$1"
}

# First, calls of all collectives are in flight at once. Then each collective of
# the tests' table is tested alone, in blocking calls.
every_way every
if [ "${3-}" = full ]; then
    for collective in "${collectives[@]}"; do
        every_way "$collective"
    done
else
    for ((i = 0; i < ${#collectives[@]}; i += 2)); do
        pair=("${collectives[@]:i:2}")
        try kill "${pair[0]}"
        try stop "${pair[-1]}"
        expect 137 kill "${pair[0]}"
        expect 137 stop "${pair[-1]}"
    done
fi
every_way dup
every_way idup
try kill allreduce_many # its vector is allocated by RCX
try abort allreduce_many
expect 137 kill allreduce_many
expect 0 abort allreduce_many
for pair in "kill 137" "stop 137" "late 0" "abort 0"; do # has two steps
    read -r how status <<<"$pair"
    try "$how" alltoallv -x RCX_ALLTOALLV=bruck
    expect "$status" "$how" alltoallv -x RCX_ALLTOALLV=bruck
done
for how in kill stop; do
    try $how allreduce -x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo
    expect 137 $how allreduce -x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo
done
# Every second collective sends memory that peers may read in place; here it is
# long enough that they do.
long=(-x FAIL_COUNT=36000)
try kill reduce "${long[@]}"
try stop reduce "${long[@]}"
expect 137 kill reduce "${long[@]}"
expect 137 stop reduce "${long[@]}"

# UCX prints messages of its own about a failed peer.
peer=(-x UCX_LOG_LEVEL=fatal)
try dead every "${peer[@]}"
expect 137 dead every "${peer[@]}"
try dead allreduce "${peer[@]}" -x RCX_WAIT=block
expect 137 dead allreduce "${peer[@]}" -x RCX_WAIT=block
try dead allreduce "${peer[@]}" -x RCX_LANES=ucp
expect 137 dead allreduce "${peer[@]}" -x RCX_LANES=ucp
peer+=(-x RCX_ERR_MODE=peer -x RCX_LANES=ucp -x UCX_KEEPALIVE_INTERVAL=1s)
try dead allreduce "${peer[@]}"
expect 137 dead allreduce "${peer[@]}"
peer+=(-x UCX_SYSV_ERROR_HANDLING=y -x UCX_POSIX_ERROR_HANDLING=y)
try dead reduce "${peer[@]}"
expect 137 dead reduce "${peer[@]}"

end_tests
