#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# RCX on 3 emulated nodes of 2 ranks each: memory inside a node, TCP between
# nodes. Skipped, with the reason, where with_cluster cannot run.
# Usage: test_cluster.sh WITH_CLUSTER RCX_PERF RCX_TUNE JOB_MAIN FINISH_MAIN FAIL_MAIN
#                        DEADLINE_MAIN MISMATCH_MAIN P2P_MAIN NODE_MAIN RECOVER_MAIN
#                        RUNS [full]

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "WITH_CLUSTER RCX_PERF RCX_TUNE JOB_MAIN FINISH_MAIN FAIL_MAIN DEADLINE_MAIN \
MISMATCH_MAIN P2P_MAIN NODE_MAIN RECOVER_MAIN RUNS [full]" "$@"
perf=$2 tune=$3 job=$4 finish=$5 fail=$6 deadline=$7 mismatch=$8 p2p=$9
node=${10} recover=${11} runs=${12} full=${13-}

# The head of the cluster runs this script again.
[ "$1" = inside ] || on_cluster "$1" 3 200mbit "$0" inside "${@:2}"

within 60
export NETWORK_REPORTS=1 # the network reports deaths before a deadline does
all=(srun -Q -N3 --ntasks-per-node=2 --mpi=pmix)

quiet() { [ ! -s "$out" ] && is_silent; }

# clean SENTENCE COMMAND...: COMMAND succeeds and prints nothing; UCX would
# print on stdout
clean() {
    run 0 "${@:2}" && quiet
    ok $? "$1"
}

# --- the cluster is one ---

run 0 "${all[@]}" sh -c 'hostname; readlink /proc/self/ns/ipc; stat -c %d /dev/shm' \
    && [ "$(grep -c '^n[123]$' "$out")" -eq 6 ] \
    && [ "$(sort -u "$out" | wc -l)" -eq 9 ]
ok $? "three nodes have names, IPC and /dev/shm of their own"

# received NODE: number of bytes that came from NODE over its link
received() { cat "/sys/class/net/$1/statistics/rx_bytes"; }

# The transports to peers, as UCX prints them.
lanes() { grep -o 'ep_cfg\[.*' "$out" | sed 's/.*: //' | sort -u; }

# moves OPTION...: two ranks exchange 10 times 1 MiB; sets bytes that left n1
moves() {
    local -r before=$(received n1)
    UCX_LOG_LEVEL=info run 0 srun -Q --mpi=pmix -n2 "$@" \
        "$perf" --mode loop --min 1M --max 1M -n 10 --warmup 0
    local -r status=$?
    bytes=$(($(received n1) - before))
    return $status
}

moves -N1 -w n1 && [ "$bytes" -lt 1000000 ] \
    && lanes | grep -q memory && ! lanes | grep -q tcp
ok $? "ranks of one node share memory"
moves -N2 -w n1,n2 && [ "$bytes" -gt 10000000 ] \
    && lanes | grep -q tcp/eth0 && ! lanes | grep -q memory
ok $? "ranks of two nodes have TCP"

# --- collectives ---

clean "every collective, ranks in blocks" "${all[@]}" "$job" quick
clean "every collective, ranks dealt round" \
    "${all[@]}" -m cyclic "$job" quick
clean "every collective by others than chosen" env \
    RCX_ALLREDUCE=ring RCX_REDUCE=rabenseifner RCX_REDUCE_SCATTER=pairwise \
    RCX_BARRIER=dissemination RCX_BCAST=scatter_allgather RCX_GATHER=tree \
    RCX_SCATTER=linear RCX_ALLGATHER=circulant RCX_ALLTOALL=bruck \
    RCX_ALLTOALLV=linear RCX_SCAN=doubling RCX_EXSCAN=linear \
    "${all[@]}" "$job" quick
clean "every collective by others again" env \
    RCX_ALLREDUCE=rabenseifner RCX_REDUCE=binomial RCX_REDUCE_SCATTER=circulant \
    RCX_BARRIER=double_ring RCX_BCAST=circulant RCX_GATHER=linear \
    RCX_SCATTER=tree RCX_ALLGATHER=direct RCX_ALLTOALL=ring \
    RCX_ALLTOALLV=pairwise RCX_SCAN=tree RCX_EXSCAN=recursive_doubling \
    "${all[@]}" "$job" quick
clean "calls of all collectives and messages, mixed and compared" \
    env RCX_CHECK=full "${all[@]}" "$job" mixed
clean "messages of all lengths" "${all[@]}" "$p2p" ring
if [ "$full" = full ]; then
    clean "every collective of 16 MiB, and a message" "${all[@]}" "$job" long
    clean "the same, ranks dealt round" "${all[@]}" -m cyclic "$job" long
fi

# --- measuring ---

# At 200 Mbit/s a byte takes 40 ns, of which 0.15 ns count as time within a
# node. The token bucket of a link passes the first 64 KiB of a MiB at once.
rules=$scratch/rules
run 0 "${all[@]}" "$tune" -o "$rules" -c barrier --rounds 3 --time 1ms \
    && grep -q '^barrier ranks=6 nodes=3 per-node=2 ' "$rules" \
    && sed -n 's/^machine .* far-beta=\(.*\)ns$/\1/p' "$rules" | awk '{ exit !(34 < $1 && $1 < 80) }'
ok $? "rcx_tune finds what a byte takes between nodes"
cp "$rules" "$scratch/before" 2>/dev/null
RCX_TUNING=$rules run 0 "${all[@]}" "$perf" --coll barrier -n 10 \
    && run 0 "${all[@]}" "$tune" -o "$rules" -c barrier && cmp "$rules" "$scratch/before"
ok $? "jobs take its file, and it leaves alone what is there"

# --- coming and going ---

clean "contexts are created and finalized in turn" "${all[@]}" "$job" cycles
for ((i = 1; i <= runs; i++)); do
    run 0 "${all[@]}" "$finish" once && quiet || break
done
[ $i -gt "$runs" ]
ok $? "ranks initialize and finalize $runs times"
# Four ranks of a node poll, two of which may have a core, so they finalize far
# apart. Ranks are cyclic: the lowest rank of a node publishes for ranks that
# are not adjacent to it.
oversubscribed=(env RCX_WAIT=poll srun -Q -N3 --ntasks-per-node=4 -m cyclic --mpi=pmix)
for ((i = 1; i <= runs; i++)); do
    run 0 "${oversubscribed[@]}" "$finish" once && quiet || break
done
[ $i -gt "$runs" ]
ok $? "an oversubscribed job initializes and finalizes $runs times"
clean "a rank may finalize 2 s after the others" "${all[@]}" "$finish" skew 2

# --- what goes wrong: UCX has its own words on a peer that is gone ---

export UCX_LOG_LEVEL=fatal

# ends STATUS COMMAND...: the job has this status, and only Slurm prints lines,
# about rank 2
ends() {
    run "$1" "${all[@]}" --no-kill "${@:2}" && [ ! -s "$out" ] \
        && ! grep -v -e '^srun: ' -e '^slurmstepd-n[123]: ' "$err"
}

# fails STATUS SENTENCE COMMAND...
fails() {
    if ends "$1" "${@:3}"; then
        ok 0 "$2"
    elif failed_in_ucx; then
        known "UCX cannot fail a connection in that state" "$2"
    else
        ok 1 "$2"
    fi
}

fails 137 "a rank that is killed, in every collective" "$fail" kill every
fails 137 "a rank that is stopped" "$fail" stop every
fails 0 "a rank that comes late" "$fail" late every
fails 0 "a rank that aborts" "$fail" abort every
fails 0 "a rank that aborts during an internal call" "$fail" abort dup
fails 137 "a rank that is stopped while others wait for its message" \
    "$p2p" stop
fails 142 "a rank that dies in rcx_finalize" "$finish" dies 1000
fails 0 "a rank that comes late to rcx_finalize" "$deadline" leave
fails 0 "calls that do not match" "$mismatch" differ
fails 137 "a node of which all ranks die" "$node" dies
fails 0 "a node with a link that is down for a while" "$node" cut
fails 0 "the same, where both parts go on" env RCX_QUORUM=any "$node" cut
fails 0 "a node with a link that becomes slow" "$node" slow


# --- ranks that go on ---

clean "ranks agree" "${all[@]}" "$recover" agree 50
# A member of a communicator that was revoked may leave a connection half made.
if run 0 "${all[@]}" "$recover" loop 200 && quiet; then
    ok 0 "ranks revoke and shrink"
elif aborted_while_connecting; then
    known "UCX cannot fail a connection in that state" "ranks revoke and shrink"
else
    ok 1 "ranks revoke and shrink"
fi
fails 137 "a rank dies, and the world is shrunk" "$recover" world 1
fails 3 "a rank that is stopped is excluded" "$recover" stop 3
for ((seed = 1; seed <= runs; seed++)); do
    # ends() expects slurmstepd's lines about rank 2 only
    if run 137 "${all[@]}" --no-kill "$recover" deaths 2 $seed \
        && [ ! -s "$out" ] && ! grep -q '^rank ' "$err"; then
        ok 0 "two ranks die, $seed"
    elif failed_in_ucx || grep -q 'Assertion .*CTX_TYPE_TX' "$err"; then
        known "UCX cannot fail a connection in that state" "two ranks die, $seed"
    else
        ok 1 "two ranks die, $seed"
    fi
done

end_tests
