#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# RCX between two kernels over RDMA (rxe): the device works, results are right over rc and
# over ud, and the ranks go on when a node's ranks die. Skipped, with the reason, where
# with_guest cannot run.
# Usage: test_guest.sh WITH_GUEST BUILD RCX_PERF NODE_MAIN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "WITH_GUEST BUILD RCX_PERF NODE_MAIN" "$@"
perf=$3 node=$4

# Node 1 runs this script again.
[ "$1" = inside ] || on_cluster "$1" --build "$2" --nodes 2 --rxe --ranks 0 --limit 1500 \
    "$0" inside "${@:2}"

within 30

run 0 on 1 cat /proc/sys/kernel/random/boot_id && mv "$out" "$scratch/first" \
    && run 0 on 2 cat /proc/sys/kernel/random/boot_id && ! cmp -s "$out" "$scratch/first"
ok $? "the nodes have a kernel each"

# The device before RCX, so that a failure of RCX is one of RCX
for transport in rc ud; do
    for gid in 0 1; do
        begin server on 2 "ibv_${transport}_pingpong" -d rxe0 -g $gid
        while kill -0 "${begun[server]}" \
            && ! run 0 "ibv_${transport}_pingpong" -d rxe0 -g $gid n2; do
            sleep 0.2 # the server does not listen yet
        done >/dev/null
        end server 0
        ok $? "ibv_${transport}_pingpong passes between the nodes, by GID $gid"
    done
done

# right SENTENCE VARIABLE...: results are right, and UCX, which prints on stdout, warns of
# nothing
right() {
    run 0 env "${@:2}" ranks "$perf" --check --max 64K --factor 8 -n 5 \
        && is_silent && ! grep -q UCX "$out"
    ok $? "an allreduce is right $1"
}
right "over rc" UCX_TLS=rc,ud,self
right "over ud" UCX_TLS=ud,self
right "over what UCX chooses"
right "over ud, with a deadline that UCX follows" UCX_TLS=ud,self RCX_TIMEOUT=100s
right "over all of the device, with a deadline" UCX_NET_DEVICES=rxe0:1 RCX_TIMEOUT=100s

export UCX_LOG_LEVEL=fatal
for transports in rc,ud,self ud,self; do
    UCX_TLS=$transports run 137 ranks -k -n 4 "$node" dies && is_silent
    ok $? "the ranks of a node die, and the others go on, over $transports"
done

end_tests
