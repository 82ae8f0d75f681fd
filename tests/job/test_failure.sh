#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that die, stop, come late, or abort, in every collective (need 15): the
# others have an error in time, know whom to blame, and exit with 0.
# Usage: test_failure.sh RCXRUN FAIL_MAIN

set -u

if [ $# -ne 2 ]; then
    echo "usage: $0 RCXRUN FAIL_MAIN" >&2
    exit 2
fi
rcxrun=$(realpath "$1")
main=$(realpath "$2")
# shellcheck source=tests/job/tap.sh
source "$(dirname "$0")/tap.sh"
need=15
unset "${!RCX_@}"
bound=(timeout -k 5 60)

# What is on stderr but rcxrun's word on the victim.
unexpected() {
    grep -v '^rcxrun: rank 2 (pid [0-9]*) killed by signal 9' "$err"
}

# try STATUS HOW COLLECTIVE [OPTION...]
try() {
    local -r status=$1 how=$2 collective=$3
    shift 3
    run "$status" "$rcxrun" -k -n 4 "$@" "$main" "$how" "$collective" &&
        [ -z "$(unexpected)" ]
    ok $? "$how in $collective $*"
}

for collective in allreduce reduce reduce_scatter_block dup; do
    try 137 kill $collective
    try 137 stop $collective
    try 0 late $collective
    try 0 abort $collective
    try 0 thread $collective
done
try 137 kill allreduce -x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo
try 137 stop allreduce -x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo

# UCX has its own words to say about a peer that is gone.
peer=(-x RCX_ERR_MODE=peer -x UCX_KEEPALIVE_INTERVAL=1s -x UCX_LOG_LEVEL=fatal)
try 137 dead allreduce "${peer[@]}"
try 137 dead reduce "${peer[@]}" -x UCX_SYSV_ERROR_HANDLING=y \
    -x UCX_POSIX_ERROR_HANDLING=y

echo "1..$number"
exit $((failed > 0))
