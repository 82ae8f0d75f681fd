#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Start without a PMIx server on 3 emulated nodes, of 2 ranks each: by a host and
# a port, by a file, and where every node has a second interface with the same
# address, as docker0 has it, and a third one that is down. Usage:
# test_id_cluster.sh WITH_CLUSTER ID_MAIN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "WITH_CLUSTER ID_MAIN" "$@"
main=$2

# The head of the cluster runs this script again.
if [ "$1" != inside ]; then
    "$1" 3 200mbit "$0" inside "$(realpath "$2")" 2>"$err"
    status=$?
    if [ $status -eq 77 ]; then
        echo "1..0 # SKIP $(sed -n 's/.*skipped: //p' "$err")"
        exit 0
    fi
    cat "$err" >&2
    exit $status
fi

readonly ERR_TIMEOUT=7 # the negated rcx_status_t
bound=(timeout -k 5 60)
export RCX_TIMEOUT=30s UCX_NET_DEVICES=eth0
all=(srun -Q -N3 --ntasks-per-node=2 --mpi=none)

# sums ROOT: two contexts one after the other have a sum, and print nothing else
sums() {
    run 0 "${all[@]}" env RCX_ROOT="$1" "$main" sum 2 \
        && [ "$(<"$out")" = "6 ranks" ] && [ ! -s "$err" ]
}
nodes_know() {
    run 0 "${all[@]}" env RCX_LOG=info RCX_ROOT="$1" "$main" sum && grep -q '6 ranks, 2 on this node; bootstrap socket' "$err"
}

sums 10.77.1.1:5000
ok $? "three nodes meet at an address and a port"
sums "file:$scratch/root" && [ ! -e "$scratch/root" ]
ok $? "three nodes meet by a file"
nodes_know 10.77.1.1:5000
ok $? "ranks know what others share their node"

# shellcheck disable=SC2016
run 0 srun -Q -N3 -n3 --mpi=none sh -c '
    ip link add docker0 type veth peer name docker1 && ip address add 172.17.0.1/16 dev docker0 &&
    ip link set docker0 up && ip link set docker1 up &&
    ip link add down0 type veth peer name down1 && ip address add 10.99.0.1/16 dev down0'
ok $? "each node has a second interface with the same address, and one that is down"
sums 10.77.1.1:5000 && sums "file:$scratch/root"
ok $? "which do not disturb"
export RCX_SOCKET_IFNAME=eth0
sums "file:$scratch/root"
ok $? "an interface is chosen by its name"
export RCX_SOCKET_IFNAME=docker0 RCX_TIMEOUT=2s
run $ERR_TIMEOUT "${all[@]}" env RCX_ROOT="file:$scratch/root" "$main" sum \
    && grep -q 'rcx error: \[0\] ranks 2, 3, 4, 5 of 6 did not come within 2 s' "$err" \
    && grep -q 'rcx error: \[5\] rank 5 did not find rank 0 at .*: 172.17.0.1:' "$err"
ok $? "where rank 0 listens at that address alone, other nodes say so"
export RCX_SOCKET_IFNAME=down0
run 4 "${all[@]}" env RCX_ROOT="file:$scratch/root" "$main" sum \
    && grep -q 'RCX_SOCKET_IFNAME=down0: no such interface is up .*eth0' "$err"
ok $? "an interface that is down is refused"

end_tests
