#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks of one machine in containers, which share more or less with each other:
# which of them RCX takes for one node, that all calls are right, and that a
# death is found. Usage: test_containers.sh RCXRUN ID_MAIN JOB_MAIN FAIL_MAIN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN ID_MAIN JOB_MAIN FAIL_MAIN" "$@"
rcxrun=$(realpath "$1")
id=$(realpath "$2")
job=$(realpath "$3")
fail=$(realpath "$4")
within 200
unset "${!PMIX_@}" "${!PMI_@}" "${!SLURM_@}" "${!OMPI_@}"

if [ "$(id -u)" -ne 0 ] || ! unshare --uts --ipc --mount --pid --fork true 2>"$err"; then
    echo "1..0 # SKIP needs root, and namespaces of its own"
    exit 0
fi

readonly RANKS=3

# container WHAT COMMAND...: what a rank runs, in namespaces of its own:
#   names      with a host name of its own
#   pod        the same, with a /dev/shm of its own
#   users      the same as names, with a user namespace of its own
#   processes  the same as names, with a process id namespace of its own
#   memory     with an IPC namespace of its own, and the same host name
#   apart      the same, with a host name and a /dev/shm of its own
#   docker     the same, with a process id namespace of its own
#   strange    as names, of a kernel that does not tell its boot id
# shellcheck disable=SC2016
named='hostname "node${PMIX_RANK-$RCX_RANK}" &&'
# shellcheck disable=SC2016
run='exec "$@"'
own_shm='mount -t tmpfs -o mode=1777 none /dev/shm &&'
no_boot_id='mount --bind /dev/null /proc/sys/kernel/random/boot_id &&'
container() {
    local -r what=$1
    shift
    case $what in
        names) each=(unshare --uts sh -c "$named $run" sh "$@") ;;
        pod) each=(unshare --uts --mount sh -c "$named $own_shm $run" sh "$@") ;;
        users) each=(unshare --uts sh -c "$named exec unshare --user --map-root-user \"\$@\"" sh "$@") ;;
        processes) each=(unshare --uts --pid --fork --kill-child sh -c "$named $run" sh "$@") ;;
        memory) each=(unshare --ipc "$@") ;;
        apart) each=(unshare --uts --ipc --mount sh -c "$named $own_shm $run" sh "$@") ;;
        docker) each=(unshare --uts --ipc --mount --pid --fork --kill-child --mount-proc
                      sh -c "$named $own_shm $run" sh "$@") ;;
        strange) each=(unshare --uts --mount sh -c "$named $no_boot_id $run" sh "$@") ;;
    esac
}

free_port() { "$id" port; }

# alone STATUS VARIABLE=VALUE...: run each, as a shell starts ranks; true if the
# last one exits with this status, and the others with 0
alone() {
    local -r want=$1 port=$(free_port)
    local rank pids=() codes=()
    shift
    for ((rank = 0; rank < RANKS; rank++)); do
        env RCX_ROOT=127.0.0.1:"$port" RCX_SECRET=b7e151628a RCX_SIZE=$RANKS RCX_RANK=$rank "$@" "${bound[@]}" \
            "${each[@]}" >"$scratch/out.$rank" 2>"$scratch/err.$rank" </dev/null &
        pids[rank]=$!
    done
    for ((rank = 0; rank < RANKS; rank++)); do
        wait "${pids[rank]}" 2>/dev/null
        codes[rank]=$?
    done
    cat "$scratch"/out.* >"$out"
    cat "$scratch"/err.* >"$err"
    rm -f "$scratch"/out.* "$scratch"/err.*
    [ "${codes[*]}" = "0 0 $want" ]
}

# launched STATUS VARIABLE=VALUE...: the same, under rcxrun
launched() { run "$1" env "${@:2}" "$rcxrun" -k -n $RANKS "${each[@]}"; }

# sees HERE MAPPED: rank 0 has seen so many ranks on its node, and with how many
# it has mapped memory; 0: none
sees() {
    grep -q " $RANKS ranks, $1 on this node" "$err" && {
        if [ "$2" -eq 0 ]; then
            grep -q 'no mapped memory inside the node' "$err"
        else
            grep -q " $2 ranks of this node send through mapped memory" "$err"
        fi
    }
}

# is_quiet: nothing was said but on CMA, which processes in namespaces of their
# own cannot use
is_quiet() { [ ! -s "$out" ] && ! grep -qv 'cross-memory attach (CMA) is not used' "$err"; }

# meet START WHAT HERE MAPPED: ranks in containers of a kind meet, HERE of them on
# a node
meet() {
    container "$2" "$id" sum
    "$1" 0 RCX_LOG=info RCX_TIMEOUT=60s && sees "$3" "$4"
    ok $? "$1, $2: $3 of $RANKS ranks are on a node"
}

# try START WHAT HERE MAPPED: and make all calls
try() {
    meet "$@"
    container "$2" "$job" quick
    "$1" 0 && is_quiet
    ok $? "$1, $2: every collective"
}

export UCX_LOG_LEVEL=fatal # it has its own words on a boot id, and on a peer that is gone
for start in alone launched; do
    try $start names 3 3
    try $start pod 3 3
    try $start processes 3 0
    try $start memory 1 0
    try $start docker 1 0
done
try alone users 3 0 # a PMIx server has no other user's process
meet alone strange 1 0

# --- deaths, without a deadline ---

for what in names pod memory apart; do
    container "$what" "$fail" dead allreduce
    alone 137 && is_quiet
    ok $? "alone, $what: a death is found"
    launched 137 && ! grep -qv '^rcxrun: rank 2 (pid [0-9]*) killed by signal 9' "$err"
    ok $? "launched, $what: a death is found"
done

end_tests
