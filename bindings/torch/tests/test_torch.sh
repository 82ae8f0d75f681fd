#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# torch.distributed over RCX: the example, every function, PyTorch's own tests, and failures.
# Usage: test_torch.sh RCXRUN PYTHON FOLDER quick|full

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../../tests/support/tap.sh"
takes "RCXRUN PYTHON FOLDER EXTENT" "$@"
rcxrun=$(realpath "$1")
python=$2
export PYTHONPATH=$3 PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
export USE_LIBUV=0 # Debian's PyTorch 2 is built without libuv
unset CI # with CI set, PyTorch's tests print another report
extent=$4
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
within 120

# --- training ---

for n in 1 3; do
    run 0 "$rcxrun" -n $n "$python" "$here/../examples/train.py" "$scratch/$n" \
        && grep -q "^$n ranks: 9[0-9][0-9] of 960 right, 1 set of parameters" "$out"
    ok $? "the example, on $n ranks, which have the same parameters to the bit"
done
run 0 "$python" -c "import torch
difference = (torch.load('$scratch/1') - torch.load('$scratch/3')).abs().max().item()
print(difference)
assert difference < 1e-6"
ok $? "three ranks learn what one learns from all data, within 1e-6"
MASTER_ADDR=localhost MASTER_PORT=0 WORLD_SIZE=1 RANK=0 run 0 "$python" "$here/../examples/train.py" && grep -q '^1 ranks' "$out"
ok $? "by env://, as torchrun has it"

run 0 "$python" "$here/../examples/spawn.py" 3 && [ "$(cat "$out")" = "3 ranks: 2.000000 + 3.000000 x" ]
ok $? "the example that starts its processes by torch.multiprocessing"

# --- every function ---

run 0 "$rcxrun" -n 3 "$python" "$here/against.py" rcx 1 && [ "$(grep -c '^done$' "$err")" -eq 3 ]
ok $? "every function, on 3 ranks, started by PMIx"
run 0 "$rcxrun" -n 2 -x HOST_SIZE=2 "$python" "$here/against.py" "file://$scratch/store" 2 \
    && [ "$(grep -c '^done$' "$err")" -eq 2 ]
ok $? "every function, twice in a process, on 2 ranks, started by a store"
run 0 "$rcxrun" -n 3 "$python" "$here/layers.py" && [ "$(grep -c ' layers$' "$out")" -eq 3 ]
ok $? "PyTorch features built on them: an optimizer in parts; in version 2 meshes, FSDP, compiled calls"

run 0 "$rcxrun" -n 3 "$python" "$here/views.py" views hooks interrupted
ends=$?
for what in views hooks interrupted; do
    [ $ends -eq 0 ] && [ "$(grep -cx "$what done" "$out")" -eq 3 ]
    ok $? "tensors that are views of their memory, and hooks that wait or throw: $what"
done

# upstream TAKEN_FOR RESULT [TEST...]: run these tests of PyTorch, or all, and expect RESULT
upstream() {
    TAKEN_FOR=$1 run 0 "$python" "$here/upstream.py" "${@:3}" && grep -qxE "$2" "$err"
    ok $? "PyTorch's own tests, as $1's: ${*:3}"
}
if [ "$extent" = full ]; then
    within 3000
    upstream gloo 'OK .*'
    upstream mpi OK T.test_all_to_all{,_complex,_full_group,_group} \
        T.test_all_to_all_single_{equal,unequal}_split{,_complex,_full_group,_group}
else
    upstream gloo OK T.test_DistributedDataParallelCPU
fi
within 60

# --- failures ---

run 137 "$rcxrun" -k -n 3 "$python" "$here/ends.py" late loader killed && [ "$(grep -cx 'it was rank 1' "$out")" -eq 2 ]
ok $? "a rank that is killed is an exception on the others, in calls and in futures"
[ "$(grep -cx 'it came' "$out")" -eq 3 ]
ok $? "a wait that times out breaks nothing"
[ "$(grep -cx 'loaded' "$out")" -eq 3 ]
ok $? "data loaders fork beside it"
run 0 "$rcxrun" -n 2 -x RCX_CHECK=full "$python" "$here/ends.py" differs \
    && [ "$(grep -cx 'they differ' "$out")" -eq 2 ]
ok $? "calls that do not match are an exception on all ranks"

# --- the flight recorder ---

# The analyser has said what README.md shows.
as_in_readme() {
    local line
    sed -n '/^    \$ python3 tools\/flight_recorder/,/^$/{/^    [^$]/s/^    //p}' "$here/../README.md" >"$scratch/shown"
    while IFS= read -r line; do grep -qxF "$line" "$err" || return; done <"$scratch/shown"
    [ -s "$scratch/shown" ]
}
# analysed CASE EXPECTED: PyTorch's analyser finds EXPECTED, and nothing for "", in the dumps of CASE
fr_trace=${FR_TRACE:-}
analysed() {
    [ -n "$fr_trace" ] || return 0
    local root=${fr_trace%/tools/flight_recorder/fr_trace.py}
    PYTHONPATH=${root%/torch/distributed/flight_recorder/fr_trace.py} run 0 "$python" "$fr_trace" "$scratch/$1" -p rank_ \
        && if [ "$1" = missing ]; then as_in_readme; fi \
        && if [ -n "$2" ]; then grep -qE "$2" "$err"; else ! grep -qE 'missing ranks|Culprit' "$err"; fi
}
# recorded CASE EXPECTED SENTENCE [OPTION...]: the dumps of a case
recorded() {
    mkdir "$scratch/$1"
    run 0 "$rcxrun" -n 3 -x "TORCH_FR_DUMP_TEMP_FILE=$scratch/$1/rank_" "${@:4}" "$python" "$here/flight.py" "$1" \
        "$scratch/$1/rank_" && run 0 "$python" "$here/flight.py" check "$scratch/$1/rank_" "$1" && analysed "$1" "$2"
    ok $? "the flight recorder: $3${fr_trace:+, and PyTorch says so}"
}
recorded healthy '' "dumps of a job in which all is well"
recorded missing 'missing ranks: \{2\}' "a rank does not make a call, and writes its dump all the same"
recorded mismatch 'COLLECTIVE_TYPE_MISMATCH' "a rank makes another call" -x RCX_CHECK=full
mkdir "$scratch/functions"
run 0 "$rcxrun" -n 3 "$python" "$here/flight.py" functions "$scratch/functions/rank_" \
    && run 0 "$python" "$here/flight.py" check "$scratch/functions/rank_" functions
ok $? "the flight recorder: every function has NCCL's name and shapes"
for size in 0 2; do
    TORCH_FR_BUFFER_SIZE=$size run 0 "$rcxrun" -n 3 "$python" "$here/flight.py" off "$scratch/off" \
        && [ "$(cat "$out" "$err" | grep -o 'off done' | wc -l)" -eq 3 ]
    ok $? "the flight recorder keeps TORCH_FR_BUFFER_SIZE=$size operations"
done

# --- the store of the world ---

cases=(reset killed)
if "$python" -c 'import torch; assert torch.__version__ < "2.1"' 2>"$err"; then
    cases+=(unaccepted outlived functions waits strangers slow kept group forked) # RCX's own store
fi
run 0 "$python" "$here/store.py" "${cases[@]}"
ends=$?
# held CASE SENTENCE
held() {
    [[ " ${cases[*]} " == *" $1 "* ]] || return
    [ $ends -eq 0 ] && grep -qx "$1 held" "$out"
    ok $? "the store that rank 0 serves: $2"
}
held reset "a connection that is reset is an exception, and ends no process"
held killed "rank 0 is killed: calls that wait are exceptions, and later ones"
held unaccepted "it is killed before it has accepted a connection"
held outlived "it is killed, and a forked child of it lives on"
held functions "functions do what those of PyTorch's store do"
held waits "calls that wait end when the keys come, block no other thread, and time out"
held strangers "connections without its secret, and malformed requests, are closed"
held slow "a client that does not receive keeps nobody waiting"
held kept "it lives as long as it is used, and leaves nothing behind"
held group "a group uses it after the program has dropped it"
held forked "forked children may use it, and end"
ok $ends "the store that rank 0 serves: the process may exit while threads wait for a key"

# --- recovery ---

# went_on CASE COUNT: COUNT of 4 ranks went on
went_on() { [ "$(grep -cx "$1 went on" "$out")" -eq "$2" ]; }
# recovers "CASE [ARGUMENT]" STATUS COUNT SENTENCE: COUNT of 4 ranks go on
recovers() {
    local words
    read -ra words <<<"$1"
    run "$2" "$rcxrun" -k -n 4 "$python" "$here/recovery.py" "${words[@]}" && went_on "${words[0]}" "$3"
    ok $? "$4"
}
delays=(12)
[ "$extent" = full ] && mapfile -t delays < <(seq 0 30)
for delay in "${delays[@]}"; do
    recovers "during $delay" 137 2 "a rank is killed, and another one while the others shrink, after $delay ms"
done
recovers killed 137 2 "two ranks are killed, one of them with the store, and the others go on and train"
recovers excluded 0 4 "a rank that was stopped is excluded, and gets an exception for it"
recovers "aborted moved $scratch/members" 0 4 "a rank that leaves the others' loop ends their calls, and all go on"
went_on moved 4
ok $? "worlds of other members, and one whose members are missing"
recovers group 137 3 "groups shrink, as in PyTorch 2"

# as_printed N: the N-th command in the head of the example
as_printed() {
    grep -m "$1" '^    python3 elastic_train.py' "$here/../examples/elastic_train.py" | sed -n "$1s/^    python3 //p"
}
read -ra killed < <(as_printed 1)
read -ra alone < <(as_printed 2)
run 0 "$python" "$here/../examples/${alone[0]}" "${alone[@]:1}" && loss=$(grep -o 'loss 0\.[0-9]\{9\}' "$out") \
    && run 0 "$python" "$here/../examples/${killed[0]}" "${killed[@]:1}" && grep -q "^100 steps, 4 workers, 1 set .*$loss" "$out" \
    && [ "$(sed 's/, [0-9.]* s after .*//; /^100/d' "$out")" = 'step 30: 3 workers go on
step 50: 4 workers, with new ones
step 60: 3 workers go on
step 80: 4 workers, with new ones' ]
ok $? "the elastic example, as its head prints it: two workers are killed and replaced, and the loss is the same"

# torchrun FOLDER [killed]: in PyTorch 1.13 with Python 3.11 it needs values for both outputs
torchrun() {
    mkdir "$1"
    run 0 "$python" -m torch.distributed.run --redirects=9:1 --tee=9:1 --nnodes=1:2 \
        --nproc_per_node=2 --max_restarts=3 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 \
        --rdzv_conf=last_call_timeout=1 "$here/elastic.py" "$@"
}
# Debian 13's PyTorch has none, and torchrun takes it whatever is set.
if "$python" -c 'import torch.distributed as dist
dist.TCPStore("127.0.0.1", 0, is_master=True)' 2>"$err"; then
    torchrun "$scratch/whole" && weights=$(grep '^weights' "$out") \
        && [ "$(<"$out")" = "2 workers, from step 0"$'\n'"$weights" ]
    ok $? "torchrun starts a job"
    torchrun "$scratch/killed" killed \
        && [ "$(<"$out")" = "2 workers, from step 0
step 12: RuntimeError in worker 0
2 workers, from step 10
$weights" ]
    ok $? "a worker of torchrun is killed: the other gets an exception, and the restart goes on from the checkpoint"
else
    skip "PyTorch has no libuv" "torchrun"
fi

if [ "$extent" = full ]; then
    run 0 "$rcxrun" -n 2 "$python" "$here/ends.py" again "$scratch/world" && [ "$(grep -cx 'a hundred' "$out")" -eq 2 ]
    ok $? "a hundred worlds, one after the other, leave nothing behind"
    slurm=$here/../../../tests/job/with_slurm
    run 0 "$slurm" srun -N2 -n2 "$python" "$here/../examples/train.py" && grep -q '^2 ranks' "$out"
    ok $? "the example under srun"
fi

end_tests
