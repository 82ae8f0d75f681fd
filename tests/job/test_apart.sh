#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A blocking call completes without progress by ranks that have returned from
# it. Usage: test_apart.sh RCXRUN APART_MAIN CALLS BLOCKS
#
# CALLS: number of calls of each collective in each case. BLOCKS: number of
# calls of reduce_scatter in the cases of long blocks.

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN APART_MAIN CALLS BLOCKS" "$@"
calls=$3
blocks=$4
within $((240 + blocks / 20))
tcp=(RCX_UCX_TLS=tcp,self RCX_UCX_NET_DEVICES=lo)
ring=(RCX_ALLREDUCE=ring RCX_REDUCE=ring RCX_REDUCE_SCATTER=ring)
tree=(RCX_ALLREDUCE=tree RCX_REDUCE=tree RCX_REDUCE_SCATTER=reduce_then_scatter)
halving=(RCX_ALLREDUCE=rabenseifner RCX_REDUCE=rabenseifner
         RCX_REDUCE_SCATTER=recursive_halving)

largest=$((4 << 20))
how=() # options of apart_main
each=() # a command in front of every rank

# try RANKS SENTENCE VARIABLE=VALUE...
try() {
    local -r ranks=$1 sentence=$2
    shift 2
    : >"$scratch/host"
    run 0 env "$@" "$rcxrun" -n "$ranks" "${each[@]}" "$main" "$scratch/host" \
        "$calls" "$largest" "${how[@]}" && is_silent
    ok $? "$ranks ranks, $sentence"
}

try 2 "default lanes"
try 3 "default lanes"
try 4 "default lanes"
try 3 "ring" "${ring[@]}"
try 3 "tree" "${tree[@]}"
try 4 "halving" "${halving[@]}"
try 3 "all is rendezvous" UCX_RNDV_THRESH=0
try 3 "rendezvous from 1 KB on" RCX_UCX_RNDV_THRESH=1K
try 3 "UCX decides on rendezvous" UCX_RNDV_THRESH=auto
try 3 "all is eager" UCX_RNDV_THRESH=inf
try 2 "no CMA" RCX_UCX_TLS=^cma
# Small FIFOs: messages may still wait in a queue of UCX when a call returns.
try 4 "a FIFO of four" UCX_POSIX_FIFO_SIZE=4 UCX_SYSV_FIFO_SIZE=4 \
    UCX_RNDV_THRESH=0
try 3 "a FIFO of four, all is eager" UCX_POSIX_FIFO_SIZE=4 \
    UCX_SYSV_FIFO_SIZE=4 UCX_RNDV_THRESH=inf
try 2 "TCP" "${tcp[@]}"
try 3 "TCP" "${tcp[@]}"
try 3 "TCP, ring" "${tcp[@]}" "${ring[@]}"
try 3 "TCP, tree" "${tcp[@]}" "${tree[@]}"
try 3 "TCP, all is rendezvous" "${tcp[@]}" UCX_RNDV_THRESH=0
try 3 "TCP, all is eager" "${tcp[@]}" UCX_RNDV_THRESH=inf

# shellcheck disable=SC2016 # every rank's own
each=(sh -c 'RCX_UCX_RNDV_THRESH=$((1 << 2 * PMIX_RANK))K exec "$0" "$@"')
try 3 "thresholds differ between ranks"
each=()

how=(polls)
try 3 "rcx_test() says when" UCX_RNDV_THRESH=16K
try 3 "TCP, rcx_test() says when" "${tcp[@]}"
calls=$blocks
for ranks in 2 3 4; do
    how=(second blocks)
    try $ranks "long blocks, a second context between"
    try $ranks "TCP, long blocks, a second context between" "${tcp[@]}"
    how=(polls blocks)
    try $ranks "long blocks, rcx_test() says when"
    try $ranks "TCP, long blocks, rcx_test() says when" "${tcp[@]}"
done

how=()
calls=$3
largest=65536 # slow: a rank that waits for a small socket waits for a timer
try 3 "TCP, small sockets" "${tcp[@]}" UCX_TCP_SNDBUF=32K UCX_TCP_RCVBUF=32K

end_tests
