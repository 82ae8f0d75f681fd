#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs on 3 emulated nodes that have a second interface with the same address,
# docker0, and a third one that is down: under a PMIx server, and without one by
# a host and a port, and by a file. Usage:
# test_id_cluster.sh WITH_CLUSTER ID_MAIN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "WITH_CLUSTER ID_MAIN" "$@"
main=$2

# The head of the cluster runs this script again.
[ "$1" = inside ] || on_cluster "$1" --docker 3 200mbit "$0" inside "$(realpath "$2")"

readonly ERR_TIMEOUT=7 # the negated rcx_status_t
within 60
export RCX_TIMEOUT=30s
all=(srun -Q -N3 --ntasks-per-node=2 --mpi=none)

# sums ROOT: two contexts one after the other have a sum, and print nothing else
sums() {
    run 0 "${all[@]}" env RCX_ROOT="$1" "$main" sum 2 \
        && [ "$(<"$out")" = "6 ranks" ] && is_silent
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

# chooses: rank 0 says which devices UCX uses
chooses() {
    grep -qF 'rcx info: [0] UCX may use the network devices eth0, but not docker0 (172.17.0.1): they do not reach the other nodes' "$err"
}
nodes_know 10.77.1.1:5000 && chooses
ok $? "by an id, UCX uses the device that reaches the other nodes, and rank 0 logs it"
run 0 srun -Q -N3 --ntasks-per-node=2 --mpi=pmix env RCX_LOG=info "$main" sum && chooses
ok $? "under a PMIx server as well"
run 0 srun -Q -N3 --ntasks-per-node=4 --mpi=pmix "$main" sum && is_silent
ok $? "also with more ranks, whose records are one value per node"
run 0 srun -Q -N1 --ntasks-per-node=2 --mpi=pmix env RCX_LOG=info "$main" sum && ! grep -q 'network devices' "$err"
ok $? "on one node RCX leaves UCX's choice alone"
run 0 "${all[@]}" env UCX_NET_DEVICES=eth0 RCX_LOG=info RCX_ROOT=10.77.1.1:5000 "$main" sum && ! grep -q 'network devices' "$err"
ok $? "and where the user has set UCX_NET_DEVICES"
# Rank 0's node comes first, so its ranks are parents of others, though they may
# have reached rank 0 by docker0.
run 0 srun -Q -N3 --ntasks-per-node=4 --mpi=none sh -c \
    "[ \$(hostname) = n1 ] || sleep 1; exec env RCX_ROOT=file:$scratch/root $main sum" \
    && [ "$(<"$out")" = "12 ranks" ] && is_silent
ok $? "a parent on rank 0's node is found by other nodes"
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
