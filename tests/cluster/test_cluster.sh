#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# RCX on 3 emulated nodes of 2 ranks each: memory inside a node, TCP between
# nodes. Skipped, with the reason, where with_cluster cannot run.
# Usage: test_cluster.sh WITH_CLUSTER RCX_PERF JOB_MAIN FINISH_MAIN FAIL_MAIN
#                        DEADLINE_MAIN MISMATCH_MAIN RUNS

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "WITH_CLUSTER RCX_PERF JOB_MAIN FINISH_MAIN FAIL_MAIN DEADLINE_MAIN \
MISMATCH_MAIN RUNS" "$@"
perf=$2 job=$3 finish=$4 fail=$5 deadline=$6 mismatch=$7 runs=$8

# The head runs this very script.
if [ "$1" != inside ]; then
    "$1" 3 200mbit "$0" inside "${@:2}" 2>"$err"
    status=$?
    if [ $status -eq 77 ]; then
        echo "1..0 # SKIP $(sed -n 's/.*skipped: //p' "$err")"
        exit 0
    fi
    cat "$err" >&2
    exit $status
fi

export RCX_WAIT=yield # six ranks that poll would have two cores to themselves
bound=(timeout -k 5 60)
all=(srun -Q -N3 --ntasks-per-node=2 --mpi=pmix)

quiet() { [ ! -s "$out" ] && [ ! -s "$err" ]; }

# clean SENTENCE COMMAND...: a clean run prints nothing, not UCX either, which
# prints on stdout
clean() {
    run 0 "${@:2}" && quiet
    ok $? "$1"
}

# --- the cluster is one ---

run 0 "${all[@]}" sh -c 'hostname; readlink /proc/self/ns/ipc; stat -c %d /dev/shm' \
    && [ "$(grep -c '^n[123]$' "$out")" -eq 6 ] \
    && [ "$(sort -u "$out" | wc -l)" -eq 9 ]
ok $? "three nodes have names, IPC and /dev/shm of their own"

# received NODE: bytes that came from it over its link
received() { cat "/sys/class/net/$1/statistics/rx_bytes"; }

# What UCX says of the ways to peers.
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
for methods in "ring rabenseifner pairwise" \
    "rabenseifner binomial circulant"; do
    read -r allreduce reduce scatter <<<"$methods"
    clean "every collective by $methods" env RCX_ALLREDUCE="$allreduce" \
        RCX_REDUCE="$reduce" RCX_REDUCE_SCATTER="$scatter" \
        "${all[@]}" "$job" quick
done

# --- coming and going ---

clean "contexts come and go" "${all[@]}" "$job" cycles
for ((i = 1; i <= runs; i++)); do
    run 0 "${all[@]}" "$finish" once && quiet || break
done
[ $i -gt "$runs" ]
ok $? "ranks come and go $runs times"
# Four pollers on a node, two of which may have a core: they leave far apart.
crowd=(env RCX_WAIT=poll srun -Q -N3 --ntasks-per-node=4 --mpi=pmix)
for ((i = 1; i <= runs; i++)); do
    run 0 "${crowd[@]}" "$finish" once && quiet || break
done
[ $i -gt "$runs" ]
ok $? "a crowd comes and goes $runs times"
clean "a rank may leave 2 s after the others" "${all[@]}" "$finish" skew 2

# --- what goes wrong: UCX has its own words on a peer that is gone ---

export UCX_LOG_LEVEL=fatal

# fails STATUS SENTENCE COMMAND...: Slurm says what it knows of rank 2
fails() {
    run "$1" "${all[@]}" --no-kill "${@:3}" && [ ! -s "$out" ] \
        && ! grep -v -e '^srun: ' -e '^slurmstepd-n[123]: ' "$err"
    ok $? "$2"
}

fails 137 "a rank that is killed" "$fail" kill allreduce
fails 137 "a rank that is stopped" "$fail" stop reduce
fails 0 "a rank that comes late" "$fail" late reduce_scatter_block
fails 0 "a rank that aborts" "$fail" abort dup
fails 142 "a rank that dies while it leaves" "$finish" dies 1000
fails 0 "a rank that comes late to rcx_finalize" "$deadline" leave
fails 0 "calls that do not match" "$mismatch" differ

end_tests
