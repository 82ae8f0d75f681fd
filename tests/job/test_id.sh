#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs that start without a PMIx server: by a shell, by an id over a channel of
# the program's own, by other launchers; and their bad days. Usage: test_id.sh
# RCXRUN ID_MAIN TORCH_PYTHON [full]

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN ID_MAIN TORCH_PYTHON [full]" "$@"
python=$3
has_ipv4_loopback || {
    echo "1..0 # SKIP no interface has the address 127.0.0.1"
    exit 0
}
here=$(dirname -- "$(realpath "${BASH_SOURCE[0]}")")

# The launcher that runs this test must not affect it.
unset "${!PMIX_@}" "${!PMI_@}" "${!SLURM_@}" "${!OMPI_@}" "${!TORCHELASTIC_@}" RANK WORLD_SIZE \
    MASTER_ADDR MASTER_PORT JOB_COMPLETION_INDEX

export UCX_VFS_ENABLE=n # a thread of UCX 1.18 that forked ranks may wait for: docs/dev/quirks.md

readonly ERR_CONFIG=4 ERR_LAUNCH=5 ERR_TIMEOUT=7 # the negated rcx_status_t

free_port() { "$main" port; }
listens() { grep -q ":$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp; }

# ranks N COMMAND...: as a shell starts them, each with its RCX_RANK; their
# exit statuses are in codes, and their output is in out and err
ranks() {
    local -r n=$1
    local rank pids=()
    shift
    codes=()
    for ((rank = n - 1; rank >= 0; rank--)); do
        RCX_RANK=$rank RCX_SIZE=${size:-$n} "${bound[@]}" "$@" \
            >"$scratch/out.$rank" 2>"$scratch/err.$rank" </dev/null &
        pids[rank]=$!
    done
    for ((rank = 0; rank < n; rank++)); do
        wait "${pids[rank]}" 2>/dev/null
        codes[rank]=$?
    done
    cat "$scratch"/out.[0-9]* >"$out"
    cat "$scratch"/err.[0-9]* >"$err"
    rm -f "$scratch"/out.[0-9]* "$scratch"/err.[0-9]*
}

# good [N]: all exited with 0, printed nothing on stderr, and N jobs of ranks
# had a sum
good() {
    local code
    for code in "${codes[@]}"; do
        [ "$code" -eq 0 ] || return 1
    done
    is_silent && [ "$(grep -cx '[0-9]* ranks' "$out")" -eq "${1:-1}" ]
}
says() { [ "$(grep -c -- "$2" "$err")" -eq "$1" ]; } # COUNT PATTERN

# --- by a shell ---

port=$(free_port)
ranks 4 env RCX_ROOT=127.0.0.1:"$port" "$main" sum
good
ok $? "ranks of a shell meet at a host and a port"
ranks 3 env RCX_ROOT=127.0.0.1:"$port" sh -c "$main sum 3 && $main sum"
good 2
ok $? "contexts and programs one after the other meet at the same port"
ranks 1 env RCX_ROOT=127.0.0.1:"$port" "$main" sum
good
ok $? "a single rank has no use for the port"
ranks 3 env RCX_ROOT=localhost:"$port" RCX_SECRET=c4b1d0e9a7 "$main" sum
good
ok $? "a host may have a name, and the job a secret"
ranks 3 env RCX_ROOT=file:"$scratch/root" "$main" sum
good && [ ! -e "$scratch/root" ]
ok $? "ranks of a shell meet by a file, which is gone afterwards"
ranks 3 env RCX_ROOT=file:"$scratch/root" sh -c "$main sum 3 && $main sum"
good 2 && [ ! -e "$scratch/root" ]
ok $? "and by the same file again"
echo "rcx1:00000000000000000000000000000000:1.3.00000000:$port:127.0.0.1" >"$scratch/root"
ranks 3 env RCX_ROOT=file:"$scratch/root" "$main" sum
good
ok $? "a file that an earlier job left is waited past"
ranks 3 env RCX_ROOT=127.0.0.1:"$port" RCX_SOCKET_IFNAME=lo "$main" sum
good
ok $? "an interface may be named"
ranks 2 env RCX_ROOT=127.0.0.1:"$port" RCX_TIMEOUT=30s "$main" threads 3
[ "${codes[*]}" = "0 0" ] && is_silent
ok $? "contexts of several threads are told apart by their names"

# --- by an id ---

run 0 "$main" pipe 1 && run 0 "$main" pipe 5
ok $? "an id reaches the other processes by pipes"
run 0 "$main" pipe 12 127.0.0.1:0 && run 0 "$main" pipe 3 "$(free_port)"
ok $? "and says where its process listens"
run 0 "$main" pipe 4 "file:$scratch/id" && [ ! -e "$scratch/id" ]
ok $? "or that it will be in a file"
if grep -q '^0*1 ' /proc/net/if_inet6 2>/dev/null; then
    run 0 "$main" pipe 10 '[::1]:0'
    ok $? "over IPv6"
else
    skip "no IPv6 here" "over IPv6"
fi
[ "${4-}" != full ] || within 600
run 0 "$main" again 8 "$([ "${4-}" = full ] && echo 1000 || echo 40)"
ok $? "processes open contexts by new ids, old and new together, and nothing is left"
run 0 env RCX_ERR_MODE=peer UCX_TLS=tcp,self UCX_NET_DEVICES=lo "$main" pipe 3
ok $? "over UCX's TCP"

# --- by launchers ---

run 0 "$rcxrun" -n 3 -x RCX_LOG=info "$main" sum && says 1 'bootstrap pmix'
ok $? "a PMIx server is used where RCX_ROOT is not set"
run 0 "$rcxrun" -n 3 -x RCX_LOG=info -x RCX_ROOT=file:"$scratch/root" \
    sh -c "RCX_RANK=\$PMIX_RANK RCX_SIZE=3 exec $main sum" && says 1 'bootstrap socket'
ok $? "RCX_ROOT precedes it"

# launched SENTENCE PROGRAM ARGUMENT...: a job of 3 ranks by the file
launched() {
    local -r sentence=$1 program=$2
    shift 2
    if ! [ -x "$(command -v "$program")" ]; then
        skip "$program is not installed" "$sentence"
        return
    fi
    RCX_ROOT=file:$scratch/root RCX_LOG=info run 0 "$program" "$@" "$main" sum \
        && [ "$(grep -cx '3 ranks' "$out")" -eq 1 ] && says 1 'bootstrap socket'
    ok $? "$sentence"
}
launched "Open MPI's launcher" mpirun.openmpi --allow-run-as-root --map-by :oversubscribe -n 3
launched "Hydra, of MPICH, has no PMIx" mpiexec.hydra -n 3
RCX_ROOT=file:$scratch/root run 0 "$here/with_slurm" srun -N2 -n3 --mpi=none "$main" sum
case $? in
    0) grep -qx '3 ranks' "$out" && is_silent; ok $? "srun without PMIx" ;;
    *) if says 1 skipped; then skip "no Slurm here" "srun without PMIx"; else ok 1 "srun without PMIx"; fi ;;
esac
size=
for rank in 0 1 2; do
    begin index$rank env JOB_COMPLETION_INDEX=$rank RCX_SIZE=3 RCX_ROOT=file:"$scratch/root" "$main" sum
done
all=0
for rank in 2 1 0; do
    end index$rank 0 || all=1
done
[ $all -eq 0 ] && grep -qx '3 ranks' "$out"
ok $? "the variable of an indexed job of Kubernetes"
out=$scratch/out err=$scratch/err

# PyTorch 1.13 on Python 3.11 fails without --redirects and --tee.
torchrun=("$python" -m torch.distributed.run --log_dir "$scratch/logs" --redirects 1 --tee 1 --no_python)
# Debian 13's PyTorch 2.6 has no libuv, which the store of torchrun takes.
if "$python" -c 'import torch.distributed.run, torch.distributed as dist
dist.TCPStore("127.0.0.1", 0, is_master=True)' 2>"$err"; then
    mkdir "$scratch/logs"
    export OMP_NUM_THREADS=1
    run 0 "${torchrun[@]}" --standalone --nproc_per_node 3 "$main" sum 2 && grep -q '3 ranks$' "$out"
    ok $? "torchrun, beside its store"
    port=$(free_port)
    for node in 0 1; do
        begin node$node "${torchrun[@]}" --nnodes 2 --node_rank $node --master_addr 127.0.0.1 \
            --master_port "$port" --nproc_per_node 2 "$main" sum
    done
    both=0
    end node1 0 || both=1
    end node0 0 || both=1
    [ $both -eq 0 ] && grep -q '4 ranks$' "$out"
    ok $? "two of torchrun's agents"
    out=$scratch/out err=$scratch/err
    # shellcheck disable=SC2016  # bash -c expands them
    run 0 "${torchrun[@]}" --standalone --nproc_per_node 3 --max_restarts 2 bash -c \
        '[ $TORCHELASTIC_RESTART_COUNT$RANK != 01 ] || kill -9 $$; exec "$0" sum' "$main" && grep -q '3 ranks$' "$out"
    ok $? "torchrun's restart after a worker was killed"
else
    skip "no PyTorch here, or one without libuv" "torchrun"
fi

# --- bad days ---

size=4 ranks 3 env RCX_ROOT=file:"$scratch/root" RCX_TIMEOUT=2s "$main" sum
[ "${codes[*]}" = "7 7 7" ] && says 3 '^' && says 3 '^rcx error: \[[012]\] rank 3 of 4 did not come within 2 s$'
ok $? "a rank that never comes is named by all others in one line"
[ ! -e "$scratch/root" ]
ok $? "and the file is gone"
unset size
port=$(free_port)
# The first still listens when the time of the second, which begins later, is over.
begin first env RCX_RANK=0 RCX_SIZE=2 RCX_ROOT=127.0.0.1:"$port" RCX_SECRET=a RCX_TIMEOUT=6s "$main" sum
while ! listens "$port" && kill -0 "${begun[first]}"; do
    sleep 0.05
done
begin second env RCX_RANK=1 RCX_SIZE=2 RCX_ROOT=127.0.0.1:"$port" RCX_SECRET=b RCX_TIMEOUT=2s "$main" sum
end first $ERR_TIMEOUT && grep -q 'rank 1 of 2 did not come.*; rank 0 has refused a process on 127.0.0.1, which has another secret' "$err"
ok $? "a process with another RCX_SECRET does not get in"
end second $ERR_TIMEOUT && grep -q 'has another secret' "$err"
ok $? "and is told so"
out=$scratch/out err=$scratch/err
run $ERR_LAUNCH env RCX_SIZE=2 "$main" sum && says 1 'RCX_SIZE=2 .*set RCX_ROOT'
ok $? "RCX_SIZE without RCX_ROOT is no job of singletons"
run $ERR_CONFIG env RCX_ROOT=127.0.0.1:"$port" "$main" sum && says 1 'needs RCX_RANK and RCX_SIZE'
ok $? "RCX_ROOT without a rank is an error"
half() { # SET MISSING
    run $ERR_CONFIG env "$1" RCX_ROOT=127.0.0.1:"$port" "$main" sum && says 1 "$1, and $2 is not set$"
}
half JOB_COMPLETION_INDEX=0 RCX_SIZE && half RCX_RANK=0 RCX_SIZE && half RCX_SIZE=2 RCX_RANK \
    && half PMI_RANK=0 PMI_SIZE && half RANK=0 WORLD_SIZE
ok $? "a rank without a size names the variable that is missing, and the reverse"

if [ "$(id -u)" -eq 0 ]; then
    ranks 3 env RCX_ROOT=127.0.0.1:"$port" "$main" users
    [ "${codes[*]}" = "4 4 4" ] && says 1 '^rcx error: ' \
        && says 1 'ranks 0 and 1 share a node and belong to users 0 and 65533'
    ok $? "ranks of two users on a node are an error on all"
else
    skip "only root can be another user" "ranks of two users on a node are an error on all"
fi
# zero NAME ROOT TIMEOUT: begin a process that is rank 0 of 2
zero() {
    begin "$1" env RCX_RANK=0 RCX_SIZE=2 RCX_ROOT="$2" RCX_TIMEOUT="$3" "$main" sum
}
both_say() { # STATUS PATTERN
    end zero1 "$1" && grep -q "$2" "$err" && end zero2 "$1" && grep -q "$2" "$err"
}
measure_slow
first=$((4 * slow))
port=$(free_port)
zero zero1 127.0.0.1:"$port" "$first"s
zero zero2 127.0.0.1:"$port" "$first"s
both_say $ERR_LAUNCH 'rank 0 came twice: process [0-9]* on .* and process [0-9]* on .*; are two jobs started at one address?$'
ok $? "two processes that are rank 0 of one host and port learn of each other"
# The second replaces the file of the first, and waits for longer: each then finds
# the other's trace.
zero zero1 file:"$scratch/root" "$first"s
until [ -e "$scratch/root" ] || ! kill -0 "${begun[zero1]}"; do sleep 0.01; done
zero zero2 file:"$scratch/root" $((first + 2))s
both_say $ERR_TIMEOUT 'rank 1 of 2 did not come within [0-9]* s; .*process [0-9]*.*: is \(it\|that\) rank 0, too?$'
ok $? "and those of one file"
out=$scratch/out err=$scratch/err
# Real time passes: the first warning is due after 5 s.
port=$(free_port)
begin late1 env RCX_RANK=1 RCX_SIZE=2 RCX_ROOT=127.0.0.1:"$port" "$main" sum
until grep -q 'has waited' "$scratch/late1.err" || ! kill -0 "${begun[late1]}"; do sleep 0.1; done
begin late0 env RCX_RANK=0 RCX_SIZE=2 RCX_ROOT=127.0.0.1:"$port" "$main" sum
end late0 0 && grep -qx '2 ranks' "$out" && end late1 0 \
    && says 1 "^rcx warning: \[1\] rcx_init has waited [0-9.]* s: rank 0 at 127.0.0.1:$port is not reached: " && says 1 ''
ok $? "a rank that waits for rank 0 says so"
out=$scratch/out err=$scratch/err

ranks 3 env RCX_ROOT=file:"$scratch/root" RCX_TIMEOUT=2s "$main" abort
[ "${codes[*]}" = "3 134 3" ]
ok $? "rcx_abort ends its process, and the others find out by their deadlines"
for rank in 0 1 2; do
    begin killed$rank env RCX_RANK=$rank RCX_SIZE=3 RCX_ROOT=file:"$scratch/root" RCX_TIMEOUT=2s \
        bash -c "echo \$\$ >$scratch/pid.$rank; exec $main wait"
done
until grep -q ready "$scratch/killed1.out"; do sleep 0.05; done
kill -9 "$(<"$scratch/pid.1")"
wait "${begun[killed1]}" 2>/dev/null
end killed0 3 && end killed2 3
ok $? "a rank that is killed is an error on the others in rcx_finalize"
out=$scratch/out err=$scratch/err

end_tests
