#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# RCX over RDMA (rxe) between two kernels: every collective, every way of waiting, and
# faults of network and nodes. For the full check: it takes half an hour.
# Usage: test_rdma.sh WITH_GUEST BUILD RCX_PERF JOB_MAIN P2P_MAIN RECOVER_MAIN NODE_MAIN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "WITH_GUEST BUILD RCX_PERF JOB_MAIN P2P_MAIN RECOVER_MAIN NODE_MAIN" "$@"
perf=$3 job=$4 p2p=$5 recover=$6 node=$7

# Node 1 runs this script again.
[ "$1" = inside ] || on_cluster "$1" --build "$2" --nodes 2 --rxe --ranks 0 --limit 7200 \
    "$0" inside "${@:2}"

within 60

# clean SENTENCE COMMAND...: it succeeds and prints nothing; UCX would print on stdout
clean() {
    run 0 "${@:2}" && [ ! -s "$out" ] && is_silent
    ok $? "$1, over $UCX_TLS"
}

# right SENTENCE OPTION...: rcx_perf finds no wrong element
right() {
    run 0 ranks -n 4 "$perf" --check --max 64K --factor 16 -n 5 "${@:2}" && is_silent \
        && ! grep -q UCX "$out"
    ok $? "$1, over $UCX_TLS"
}

readonly COLLS="allreduce allreduce_many reduce reduce_scatter reduce_scatter_block barrier
bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv scan exscan
sendrecv"

for UCX_TLS in rc,ud,self ud,self rc,ud,sm,self; do
    export UCX_TLS
    for coll in $COLLS; do
        right "$coll is right" --coll "$coll"
    done
    for way in RCX_WAIT=block RCX_WAIT=yield RCX_WAIT=poll RCX_PROGRESS=thread UCX_RNDV_THRESH=0 \
        RCX_CHECK=full RCX_LANES=ucp; do
        export "${way?}"
        right "an allreduce is right with $way"
        right "an alltoall is right with $way" --coll alltoall
        unset "${way%=*}"
    done
    clean "every collective" ranks -n 4 "$job" quick
    clean "all, mixed and compared" ranks -n 4 -x RCX_CHECK=full "$job" mixed
    clean "contexts are created and finalized in turn" ranks -n 4 "$job" cycles
    clean "messages of all lengths" ranks -n 4 "$p2p" ring
    clean "ranks agree" ranks -n 4 "$recover" agree 50
    clean "ranks revoke and shrink" ranks -n 4 "$recover" loop 50
done

# --- faults ---

both() { on 1 "$@" && on 2 "$@"; }

# through SENTENCE SECONDS RANKS-DEADLINE COMMAND: calls that were begun before the fault,
# which COMMAND makes on node 1, succeed after it
through() {
    RCX_TIMEOUT=$3 begin job ranks "$perf" --check --min 1K --max 1K -n 3000 --warmup 0
    sleep "$2" # rcx_init has ended
    bash -c "$4"
    end job 0 && is_silent
    ok $? "$1, over $UCX_TLS"
}

for UCX_TLS in rc,ud,self ud,self; do
    export UCX_TLS
    both tc qdisc add dev eth0 root netem loss 1%
    right "an allreduce is right where 1 % of the packets are lost" -n 100
    both tc qdisc change dev eth0 root netem delay 5ms
    right "the same where each takes 5 ms"
    both tc qdisc del dev eth0 root
    through "a cable is out for 3 s" 6 60s \
        "host 2 set_link data off; sleep 3; host 2 set_link data on"
    through "a node is paused for 2 s" 6 60s "host 2 stop; sleep 2; host 2 cont"
    through "a node is paused for 60 s" 6 120s "host 2 stop; sleep 60; host 2 cont"
    through "the device is removed, which ranks have open" 6 60s \
        "on 2 rdma link delete rxe0; sleep 10; on 2 rdma link add rxe0 type rxe netdev eth0"
done

# UCX has its own words on a peer that is gone.
export UCX_LOG_LEVEL=fatal
for UCX_TLS in rc,ud,self ud,self; do
    export UCX_TLS
    for i in 1 2 3 4 5; do
        run 137 ranks -k -n 4 "$node" dies && is_silent
        ok $? "the ranks of a node die, and the others go on, $i, over $UCX_TLS"
    done
done
export UCX_TLS=ud,self
begin job ranks -k "$perf" --check --min 1K --max 1K -n 100000 --warmup 0
sleep 6
host 2 quit
end job 255
grep -q 'rank 0: RCX_ERR_PEER_FAILED' "$err"
ok $? "a node vanishes, which is found without a deadline"

end_tests
