#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks of rcx_init() among ranks before they send: a kernel that does not
# allow to read a rank's memory, too little shared memory, and settings that
# differ. The result is one warning per node, or an error on every rank; no rank
# is killed later. Usage: test_start.sh RCXRUN JOB_MAIN UNDUMPABLE FENCES
# UNTHREADED FABRIC BLAME_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN JOB_MAIN UNDUMPABLE FENCES UNTHREADED FABRIC BLAME_MAIN" "$@"
undumpable=$(realpath "$3")
counts=$(realpath "$4")
unthreaded=$(realpath "$5")
fabric=$(realpath "$6")
blame=$(realpath "$7")

within 120
unset "${!UCX_@}"

readonly ERR_UNSUPPORTED=3 ERR_CONFIG=4 ERR_LAUNCH=5 ERR_TRANSPORT=6 ERR_LIMIT=14 # the negated rcx_status_t

# A process that may trace all others may also read their memory: root drops
# that right.
lean=()
if [ "$(id -u)" -eq 0 ] && setpriv --bounding-set -sys_ptrace true 2>/dev/null
then
    lean=(setpriv --bounding-set -sys_ptrace)
fi

launch=("${lean[@]}" "$rcxrun")

# rank_1 WORD... -- COMMAND...: rank 1 runs COMMAND with the words before it.
rank_1=(bash "$scratch/rank_1")
cat >"$scratch/rank_1" <<'EOF'
words=()
while [ "$1" != -- ]; do
    words+=("$1")
    shift
done
shift
[ "$PMIX_RANK" = 1 ] || words=()
exec "${words[@]}" "$@"
EOF

# Whole vectors of 1 MB in one message each, by UCX's rendezvous.
large=(env RCX_UCX_RNDV_THRESH=16K
    RCX_ALLREDUCE=recursive_doubling:segment=0 RCX_REDUCE=binomial:segment=0
    "$main" quick)

# warns N WORD...: stderr has N lines, all of them warnings; one has all words.
warns() {
    local -r want=$1 warning='^(rcx warning|job_main: log level 1): '
    local lines word
    shift
    if [ "$(wc -l <"$err")" -ne "$want" ] \
        || [ "$(grep -cE "$warning" "$err")" -ne "$want" ]; then
        echo "# not $want warnings"
        return 1
    fi
    lines=$(<"$err")
    for word; do
        lines=$(grep -F -- "$word" <<<"$lines") && continue
        echo "# not said: $word"
        return 1
    done
}
says() { [ "$(grep -c -- "$2" "$err")" -eq "$1" ]; } # COUNT PATTERN

# --- memory that may not be read ---
need=9

declare -A refused=(
    [undumpable]="env LD_PRELOAD=$undumpable"
    [userns]="unshare --user --map-current-user"
)
declare -A reason=(
    [undumpable]="rank 1 is not dumpable"
    [userns]="ranks 0 and 1 have different user namespaces"
)
declare -A what=(
    [undumpable]="a rank that is not dumpable"
    [userns]="a rank in a user namespace of its own"
)

for case in undumpable userns; do
    read -ra words <<<"${refused[$case]}"
    if ! "${words[@]}" true 2>/dev/null; then
        skip "unprivileged user namespaces are not allowed" "${what[$case]}"
        continue
    fi
    run 0 "${launch[@]}" -n 3 "${rank_1[@]}" "${words[@]}" -- "${large[@]}" \
        && warns 1 "${reason[$case]}" "[0]"
    ok $? "${what[$case]}: ranks reduce without it, one warns"
    run 0 "${launch[@]}" -n 4 --nodes 2 "${rank_1[@]}" "${words[@]}" -- \
        "$main" launch && warns 1 "${reason[$case]}" "[0]"
    ok $? "${what[$case]}: only its own node is warned"
    run 0 "${launch[@]}" -n 2 --nodes 2 "${rank_1[@]}" "${words[@]}" -- \
        "$main" launch && is_silent
    ok $? "${what[$case]}: alone on its node, it does not warn"
    run 0 "${launch[@]}" -n 2 -x RCX_UCX_TLS=all "${rank_1[@]}" "${words[@]}" \
        -- "$main" launch && is_silent
    ok $? "${what[$case]}: the user's choice stays, without a warning"
done

run 0 "${launch[@]}" -n 3 "${large[@]}" && is_silent
ok $? "ranks that may read each other are not warned"

# --- memory of UCX ---

# buffers: those that UCX has made for its queues in shared memory, on all ranks
buffers() {
    sed -n 's/.*mpool mm_recv_desc: allocated chunk .* with \([0-9]*\) elements.*/\1/p' "$scratch"/ucx.* | paste -s -d +
}
run 0 "${launch[@]}" -n 2 -x UCX_LOG_LEVEL=debug -x UCX_LOG_FILE="$scratch/ucx.%p" "$main" launch \
    && [ $(($(buffers))) -eq $((2 * 2 * 96)) ]
ok $? "a rank starts with 96 buffers of UCX for each of two kinds of shared memory"

# --- little shared memory ---
need=17

# with_shm SIZE COMMAND...
# shellcheck disable=SC2016  # bash -c expands them
with_shm=(unshare --mount bash -c
    'mount -t tmpfs -o "size=$0" tmpfs /dev/shm && exec "$@"')
[ "$(id -u)" -eq 0 ] || with_shm=(unshare --map-root-user "${with_shm[@]:1}")

if "${with_shm[@]}" 1m true 2>/dev/null; then
    run 0 "${with_shm[@]}" 1m "${launch[@]}" -n 3 "$main" quick && warns 1 \
        "/dev/shm" "3 ranks" " bytes needed" "1048576 available" "[0]"
    ok $? "1 MB of shared memory: ranks reduce without it, one warns"
    run 0 "${with_shm[@]}" 1m "${launch[@]}" -n 4 --nodes 2 "$main" launch \
        && warns 2 "/dev/shm" "2 ranks" "1048576 available"
    ok $? "1 MB of shared memory: one rank of each node warns"
    run 0 "${with_shm[@]}" 64m "${launch[@]}" -n 3 "$main" quick && is_silent
    ok $? "64 MB of shared memory are enough for 3 ranks"
    # without this failure the tests above would show nothing
    ! run 0 "${with_shm[@]}" 1m "${launch[@]}" -n 2 -x RCX_UCX_TLS=posix,self \
        "$main" launch >/dev/null && ! grep -q '^rcx warning' "$err"
    ok $? "1 MB of shared memory: it is an error where the user requires it"
    run 0 "${with_shm[@]}" 1m "${launch[@]}" -n 2 "${rank_1[@]}" \
        env LD_PRELOAD="$undumpable" -- "${large[@]}" \
        && warns 2 "rank 1 is not dumpable" && warns 2 "1048576 available"
    ok $? "neither shared memory nor a rank that may be read: two warnings"
else
    skip "mount namespaces are not allowed" "1 MB of shared memory"
fi

# --- settings that differ ---
need=16

for setting in RCX_ALLREDUCE=ring RCX_ALLREDUCE=auto:segment=64K \
    RCX_REDUCE=binomial:window=3 RCX_REDUCE_SCATTER=ring RCX_ORDER=rank RCX_SHM=ring=1M RCX_MACHINE=usual; do
    run $ERR_CONFIG "${launch[@]}" --keep-going -n 4 "${rank_1[@]}" \
        env $setting -- "$main" launch \
        && says 1 "^rcx " && says 1 "^rcx error: \[0\] ${setting%%=*} of rank 1 \
differs from that of rank 0: .* must be equal on all ranks"
    ok $? "$setting on one rank is an error on all, logged once"
done
run 0 "${launch[@]}" -n 4 "${rank_1[@]}" env RCX_ORDER=same RCX_WAIT=yield \
    RCX_PLAN_CACHE=0 RCX_ISA=baseline RCX_LOG=error -- "$main" launch \
    && is_silent
ok $? "settings that change no message may differ"

# --- messages that are logged once ---
need=

# all_fail N COMMAND...: every rank exits with the status of a failed rcx_init()
all_fail() { # N COMMAND...
    local -r n=$1
    shift
    run $ERR_CONFIG "${launch[@]}" --keep-going -n "$n" \
        bash -c '"$@"; echo "status $?"; exit '$ERR_CONFIG bash "$@" \
        && [ "$(grep -cx "status $ERR_CONFIG" "$out")" -eq "$n" ]
}

all_fail 4 env RCX_WAIT=blcok "$main" launch && says 1 "^rcx " \
    && says 1 '^rcx error: \[0\] RCX_WAIT=blcok: .*; did you mean block?$'
ok $? "a value that is wrong everywhere is logged once"
all_fail 4 "${rank_1[@]}" env RCX_TIMEOUT=500 -- "$main" launch && says 1 "^rcx " \
    && says 1 '^rcx error: \[1\] RCX_TIMEOUT=500: '
ok $? "a value that is wrong on one rank is logged by it, and an error on all"
run 0 "${launch[@]}" -n 4 -x RCX_ALREDUCE=ring "$main" launch && says 1 "" \
    && says 1 '\[0\] RCX_ALREDUCE: .*; did you mean RCX_ALLREDUCE?$'
ok $? "an unknown RCX variable is logged once"
run 0 "${launch[@]}" -n 4 "${rank_1[@]}" env RCX_ALREDUCE=ring -- "$main" \
    launch && says 1 "" && says 1 '\[1\] RCX_ALREDUCE: no such variable'
ok $? "an unknown RCX variable on one rank is logged by it"

# With more ranks, one rank of each node compares the settings for the others.
many=("${launch[@]}" --keep-going -n 10 --nodes 2)
run 0 "${many[@]}" "$main" launch && is_silent
ok $? "ten ranks on two nodes start, and log nothing"
run $ERR_CONFIG "${many[@]}" "${rank_1[@]}" env RCX_ORDER=canonical -- "$main" \
    launch && says 1 "^rcx " && says 1 '^rcx error: \[0\] RCX_ORDER of rank 1 '
ok $? "a setting of one rank of ten is an error on all, logged once"
all_fail 10 "${rank_1[@]}" env RCX_TIMEOUT=500 -- "$main" launch && says 1 "^rcx " \
    && says 1 '^rcx error: \[1\] RCX_TIMEOUT=500: '
ok $? "a value that is wrong on one rank of ten is logged by it, and an error on all"
run 0 "${many[@]}" "${rank_1[@]}" env RCX_ALREDUCE=ring -- "$main" launch \
    && says 1 "" && says 1 '\[1\] RCX_ALREDUCE: no such variable'
ok $? "a warning of one rank of ten is logged by it"

# Rank 0 logs "rcx info: [0] TEXT" for each of these; the other ranks log
# nothing
chosen=("RCX [0-9.]*: 3 ranks, 3 on this node; bootstrap pmix, network UCX "
    "UCX may use tcp,self (set by the user); rendezvous from 32K on (set by"
    "a waiting rank sleeps after [0-9]* empty polls; threads serialized; kernels "
    "started in [0-9.]* ms: launcher [0-9.]*, network [0-9.]*, peers [0-9.]*$"
    "RCX_WAIT=block is set by the environment$"
    "lanes to rank [12]: tcp/"
    "allreduce of 1 float64, sum on communicator 1 (world) of 3 ranks: direct$")
info() { # LEVEL RANKS
    run 0 "${launch[@]}" -n 3 -x RCX_LOG="$1" -x RCX_WAIT=block \
        -x RCX_UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo \
        -x RCX_UCX_RNDV_THRESH=32K "$main" launch || return 1
    local line
    for line in "${chosen[@]}"; do
        grep -q "^rcx info: \[0\] $line" "$err" && continue
        echo "# not said: $line"
        return 1
    done
}
# lane STATUS LANES UCX_TLS PATTERN: ranks make a reduction, and the log has
# PATTERN
lane() {
    run "$1" "${launch[@]}" -n 2 -x RCX_LOG=info -x RCX_LANES="$2" \
        -x RCX_UCX_TLS="$3" -x UCX_NET_DEVICES=lo "$main" launch &&
        grep -q "$4" "$err"
}
lane 0 node all "2 ranks of this node send through mapped memory"
ok $? "RCX_LANES=node: memory is mapped"
lane 0 auto all "2 ranks of this node send through mapped memory"
ok $? "RCX_LANES=auto: memory is mapped where that can be"
lane 0 auto tcp,self "no mapped memory inside the node: "
ok $? "RCX_LANES=auto: the reason is logged where it is not"
lane 0 ucp all "no mapped memory inside the node: RCX_LANES=ucp"
ok $? "RCX_LANES=ucp: by UCX's messages alone"
lane 4 node tcp,self "RCX_LANES=node: mapped memory cannot be used: "
ok $? "RCX_LANES=node: without mapped memory it is an error"

# settings N OPTION...: each of N ranks logs the figures and settings of its
# node, and all log the same
settings() {
    local -r n=$1
    shift
    run 0 "${launch[@]}" -n "$n" -x RCX_LOG=debug "$@" "$main" launch || return 1
    local what
    for what in 'figures of this node, ' 'settings of mapped memory: RCX_SHM='; do
        grep "$what" "$err" | sed 's/^rcx [a-z]*: \[[0-9]*\] //' >"$out"
        [ "$(wc -l <"$out")" -eq "$n" ] && [ "$(sort -u "$out" | wc -l)" -eq 1 ] || return 1
    done
}
settings 3 && settings 5
ok $? "all ranks of a node have the same figures, and decide alike by them"
settings 2 -x RCX_SHM=ring=64K,chunk=8K,eager=4K,direct=16K,cma=off,cico=64K,stream=1M,polls=9 \
    && grep -q 'RCX_SHM=ring=64K,chunk=8K,eager=4K,direct=16K,cma=off,cico=64K,stream=1M,polls=9$' "$err"
ok $? "RCX_SHM decides instead"
run 0 "${launch[@]}" -n 2 -x RCX_LOG=info "$main" launch \
    && [ "$(grep -c 'figures of this node\|settings of mapped memory' "$err")" -eq 2 ]
ok $? "RCX_LOG=info logs figures and settings once"

info info && ! grep -q '\[[12]\]' "$err"
ok $? "RCX_LOG=info logs what was chosen, once"
info debug && grep -q '\[1\] a waiting rank' "$err" \
    && grep -q '^rcx debug: \[2\] allreduce of ' "$err"
ok $? "RCX_LOG=debug logs it on all ranks"

# The launcher ends all ranks once one has failed; the error must be printed
# before.
lost=0
for _ in 1 2 3 4 5 6 7 8; do
    run $ERR_CONFIG "${launch[@]}" -n 4 "${rank_1[@]}" \
        env RCX_TIMEOUT=500 -- "$main" launch \
        && says 1 '^rcx error: \[1\] RCX_TIMEOUT=500: ' || lost=1
done
ok $lost "the error of one rank is printed before the job ends"

# --- requests of rcx_init to PMIx ---
need=28

run 0 "${launch[@]}" -n 3 env LD_PRELOAD="$counts" "$main" launch \
    && is_silent \
    && [ "$(grep -cx 'rcx_init: 1 fences, 1 with data' "$out")" -eq 3 ]
ok $? "rcx_init enters one fence, which carries data"

# exchanges COUNT LINE: COUNT ranks print LINE.
exchanges() { [ "$(grep -cx "rcx_init: $2" "$out")" -eq "$1" ]; }

# The lowest rank of a node puts the data of all its ranks, and reads all
# values: first records of the network, then addresses. To measure the network,
# ranks connect, for which they read the addresses of those that they send to.
run 0 "${launch[@]}" -n 12 --nodes 3 env RCX_MACHINE=usual LD_PRELOAD="$counts" "$main" launch && is_silent \
    && exchanges 3 "2 values put, 6 had" && exchanges 9 "0 values put, 0 had" \
    && exchanges 12 "2 fences, 2 with data"
ok $? "on several nodes, one value a node is put and read"
# Twelve ranks want 61 MB of shared memory, which is not everywhere.
run 0 "${launch[@]}" -n 12 env LD_PRELOAD="$counts" "$main" launch \
    && ! said | grep -qv '/dev/shm is too small for 12 ranks: ' && exchanges 1 "1 values put, 11 had" && exchanges 11 "1 values put, 0 had"
ok $? "on one node, each rank puts its own"

# Altered bytes of a node's value: the rank of its first part, and the length of
# that part. The lowest ranks of three nodes read it, and all other ranks get it
# from them.
accepted=0
for change in "0 1" "0 200" "3 255" "4 255" "6 1" "7 255"; do
    run $ERR_LAUNCH "${launch[@]}" --keep-going -n 12 --nodes 3 \
        env LD_PRELOAD="$counts" ALTER="$change" "$main" launch \
        && says 12 "the addresses that rank 0 published for its node are corrupt" || accepted=1
done
ok $accepted "a node's value that was altered is an error on every rank"

# --- a UCX without thread support ---
need=21

run $ERR_UNSUPPORTED "${launch[@]}" --keep-going -n 2 \
    env LD_PRELOAD="$unthreaded" "$main" launch \
    && says 2 "^rcx error: .*thread mode single"
ok $? "a UCX that grants less than RCX needs is an error on every rank"

# --- job sizes for UCX, and a network that does not open ---
need=28

run 0 "${launch[@]}" -n 12 --nodes 3 env LD_PRELOAD="$fabric" "$main" launch && is_silent \
    && [ "$(grep -cx '10 endpoints' "$out")" -eq 12 ] && [ "$(grep -cx '4 on a node' "$out")" -eq 12 ]
ok $? "UCX expects 2 ceil(lg p) + 2 endpoints, and the number of ranks of a node"

run 0 "${launch[@]}" -n 2 env LD_PRELOAD="$fabric" "$main" launch && [ "$(grep -cx '2 endpoints' "$out")" -eq 2 ]
ok $? "and no more endpoints than there are ranks"

run $ERR_TRANSPORT "${launch[@]}" --keep-going -n 2 env LD_PRELOAD="$fabric" FABRIC=closed "$main" launch \
    && says 2 "^rcx error: .*ucp_worker_create .*set RCX_UCX_TLS=tcp,self)" \
    && run 0 "${launch[@]}" -n 2 -x RCX_UCX_TLS=tcp,self env LD_PRELOAD="$fabric" FABRIC=closed "$main" launch
ok $? "a network that does not open is an error, and the setting that it recommends works"

run 0 "${launch[@]}" -n 2 -x RCX_ERR_MODE=peer env LD_PRELOAD="$fabric" FABRIC=blink "$main" stress
ok $? "a peer that one liveness probe misses has not failed"

run 137 "${launch[@]}" -k -n 2 -x RCX_TIMEOUT=1s env LD_PRELOAD="$fabric" FABRIC=dies \
    FABRIC_VICTIM="$scratch/victim" "$blame" mapped
ok $? "a peer that is killed while its memory is mapped is named, and no other rank crashes"

opens_not() { # STATUS PATTERN COMMAND...: both ranks fail, and say this
    run "$1" "${launch[@]}" --keep-going -n 2 "${@:3}" && says 2 "^rcx error: .*$2"
}
opens_not $ERR_TRANSPORT 'ucp_init (with RCX_UCX_TLS=nosuch): ' -x RCX_UCX_TLS=nosuch "$main" launch \
    && opens_not $ERR_TRANSPORT 'ucp_init (with UCX_TLS=nosuch, RCX_UCX_NET_DEVICES=lo): ' \
        -x UCX_TLS=nosuch -x RCX_UCX_NET_DEVICES=lo "$main" launch
ok $? "a setting by which UCX finds no transport is named"
# shellcheck disable=SC2016  # the ranks' shell expands them
opens_not $ERR_LIMIT 'fewer than [0-9]* further descriptors (ulimit -n), which UCX may need$' \
    sh -c 'ulimit -n 18; exec "$@"' sh "$main" launch
ok $? "too few descriptors for UCX are named"
# shellcheck disable=SC2016  # sh -c expands them
no_shm=(unshare --mount sh -c 'mkdir "$0" && mount -t tmpfs dev "$0" && for f in null zero urandom random; do
    touch "$0/$f" && mount --bind "/dev/$f" "$0/$f" || exit; done && mount --rbind "$0" /dev && exec "$@"' "$scratch/dev")
if "${no_shm[@]}" true 2>"$err"; then
    rmdir "$scratch/dev"
    run 0 "${no_shm[@]}" "$rcxrun" -n 2 "$main" launch && says 1 '^rcx ' \
        && says 1 '^rcx warning: \[0\] /dev/shm: No such file or directory; UCX uses System V' && says 0 'available, please'
    ok $? "/dev/shm that does not exist is named, and no other cause"
else
    skip "no mounts of one's own" "/dev/shm that does not exist is named"
fi

# a machine with an RDMA device, simulated by its /sys
with_rdma=(unshare --mount sh -c 'mkdir -p "$0/net" "$0/infiniband/mlx5_0" &&
    mount --bind /sys/class/net "$0/net" && mount --rbind "$0" /sys/class &&
    exec "$@"' "$scratch/class")
nodes=(--nodes 2 -n 2 -x RCX_LOG=info -x RCX_UCX_TLS=tcp,self)
threshold() { [ "$(grep -c "rendezvous from $1 on" "$err")" -ge 1 ]; }
if "${with_rdma[@]}" true 2>"$err"; then
    run 0 "${with_rdma[@]}" "$rcxrun" "${nodes[@]}" "$main" launch && threshold auto \
        && run 0 "$rcxrun" "${nodes[@]}" "$main" launch && threshold '[0-9]*K' \
        && run 0 "${with_rdma[@]}" "$rcxrun" "${nodes[@]}" -x RCX_UCX_RNDV_THRESH=3K "$main" launch && threshold 3K
    ok $? "between nodes with RDMA the rendezvous threshold is UCX's own, or the user's"
else
    skip "no mounts of one's own" "between nodes with RDMA the rendezvous threshold is UCX's own"
fi

end_tests
