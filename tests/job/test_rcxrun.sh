#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of rcxrun. Usage: test_rcxrun.sh RCXRUN CLIENT
# (tests/job/rcxrun_client.c)
#
# All waits poll with a generous limit: on a slow machine the tests are slow,
# but do not fail. TMPDIR is a folder of the test, so files that rcxrun leaves
# behind are found there.

set -m # background jobs get a process group and the default SIGINT

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN CLIENT" "$@"
rcxrun=$(realpath "$1")
client=$(realpath "$2")
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$(dirname -- "${BASH_SOURCE[0]}")/../../meson.build")
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
pids=$scratch/pids

# A variable in the environment marks all processes of this test.
export RCXRUN_TEST_MARK=mark-$$-$RANDOM

# Run rcxrun in the background, and set $job to its pid. Not for a subshell,
# where job control is off and background jobs ignore SIGINT. The suite itself
# may run under nohup.
start() {
    : >"$out"
    env --default-signal=HUP "$rcxrun" --timeout 300 "$@" >"$out" 2>"$err" </dev/null &
    job=$!
}

# Wait for $job, without the shell's message about its signal.
finish() {
    wait "$job" 2>/dev/null
}

# Processes with the mark, except for this shell and its helpers.
strays() {
    local env pid
    for env in /proc/[0-9]*/environ; do
        pid=${env#/proc/}
        pid=${pid%/environ}
        case $(tr '\0' '\n' <"$env" 2>/dev/null) in
        *"IS_RANK=yes"*"$RCXRUN_TEST_MARK"* | *"$RCXRUN_TEST_MARK"*"IS_RANK=yes"*) echo "$pid" ;;
        esac
    done 2>/dev/null
}

no_strays() { [ -z "$(strays)" ]; }
no_files() { [ -z "$(ls -A "$TMPDIR")" ]; }
lines() { [ "$(grep -c "$1" "$out")" -eq "$2" ]; }
says() { grep -q -e "$1" "$err"; }

# nothing_left: no process and no file is left, now; left_soon: polls for it.
nothing_left() { no_strays && no_files; }
left_soon() { until_true no_strays && until_true no_files; }

# --- the job's data ---

for n in 1 2 4 8 33; do
    run 0 "$rcxrun" -n $n "$client" fence && is_silent && [ ! -s "$out" ]
    ok $? "$n ranks exchange data by a fence"
done

run 0 "$rcxrun" -n 6 --nodes 3 "$client" fence
ok $? "ranks on different virtual nodes exchange data"

host=$(uname -n)
run 0 "$rcxrun" -n 2 "$client" info && lines . 2 \
    && grep -qx "rank 1 size 2 universe 2 nodes 1 node 0 app 0 local_size 2 peers 0,1 map 0:$host:0:0 1:$host:1:1" "$out"
ok $? "the job's keys describe one node"

# named LETTERS COMMAND...: where the host name is so long
# shellcheck disable=SC2016
named() { unshare --uts sh -c 'hostname "$(printf "%0$0d" 0 | tr 0 h)" && exec "$@"' "$@"; }
if named 4 true 2>"$err"; then
    name=$(printf '%049d' 0 | tr 0 h)
    run 0 named 63 "$rcxrun" -n 2 "$client" info && grep -q " map 0:$name:0:0 1:$name:1:1$" "$out" && is_silent
    ok $? "PMIx gets as much of a long host name as it has room for"
    run 1 named 64 "$rcxrun" -n 2 "$client" info && says '^rcxrun: the host name has 64 letters, and UCX'
    ok $? "a host name that is too long for UCX is refused"
else
    for what in "a long host name" "a host name that is too long"; do
        number=$((number + 1))
        echo "ok $number - $what # SKIP no host name of one's own"
    done
fi

map="map 0:vnode0:0:0 1:vnode0:1:1 2:vnode1:0:0 3:vnode1:1:1 4:vnode1:2:2"
run 0 "$rcxrun" -n 5 --nodes 2 "$client" info && lines . 5 \
    && grep -qx "rank 1 size 5 universe 5 nodes 2 node 0 app 0 local_size 2 peers 0,1 $map" "$out" \
    && grep -qx "rank 4 size 5 universe 5 nodes 2 node 1 app 0 local_size 3 peers 2,3,4 $map" "$out"
ok $? "--nodes 2 shows each rank its virtual node"

run 0 "$rcxrun" -n 5 --nodes 5 "$client" info && grep -q "^rank 3 .* nodes 5 node 3 app 0 local_size 1 peers 3 " "$out"
ok $? "--nodes N gives every rank a node"

# --- exit status ---

run 7 "$rcxrun" -n 3 "$client" exit 7 1 && says "^rcxrun: rank 1 (pid [0-9]*) exited with status 7$" && lines_err=$(wc -l <"$err") \
    && [ "$lines_err" -eq 1 ] && nothing_left
ok $? "a rank's exit status is rcxrun's, in one line, and ends the rest"

run 137 "$rcxrun" -n 3 "$client" die 9 2 && says "^rcxrun: rank 2 (pid [0-9]*) killed by signal 9 (Killed)$" && nothing_left
ok $? "a rank killed by a signal gives 128 plus its number"

run 134 "$rcxrun" -n 2 "$client" die 6 0 && says "killed by signal 6 (Aborted)"
ok $? "a rank that aborts is reported as such"

run 0 "$rcxrun" -n 3 "$client" leave && is_silent
ok $? "leaving without PMIx_Finalize is no failure"

run 17 "$rcxrun" -n 4 "$client" abort 17 2 && says "rank 2 (pid [0-9]*) called PMIx_Abort with status 17: no more flux" && nothing_left
ok $? "PMIx_Abort ends the job with its status and message"

run 1 "$rcxrun" -n 2 "$client" abort 0 1 && says "called PMIx_Abort with status 0"
ok $? "PMIx_Abort with status 0 is a failure still"

run 9 "$rcxrun" -n 3 sh -c 'trap "" TERM; [ $PMIX_RANK = 1 ] && exit 9; while :; do sleep 0.2; done'
ok $? "ranks that ignore SIGTERM are killed"
nothing_left
ok $? "and leave nothing"

run 5 "$rcxrun" -k -n 3 sh -c '[ $PMIX_RANK = 1 ] && exit 5; until [ -e "$1" ]; do sleep 0.1; done; echo done' - /proc/self/stat \
    && lines '^done$' 2 && says "rank 1 .* exited with status 5"
ok $? "--keep-going lets the others run on and keeps the status"

rm -f "$pids"
run 3 "$rcxrun" -k -n 2 sh -c 'if [ $PMIX_RANK = 0 ]; then touch "$0"; exit 3; fi; until [ -e "$0" ]; do sleep 0.1; done; sleep 0.5; exit 4' "$pids" \
    && says "rank 0 .* status 3" && says "rank 1 .* status 4"
ok $? "--keep-going reports every failure and keeps the first status"

run 124 "$rcxrun" -t 0.5 -n 2 sleep 600 && says "timeout after 0.5 s" && nothing_left
ok $? "--timeout ends the job with status 124"

run 0 "$rcxrun" -t 600 -n 2 true && is_silent
ok $? "--timeout does nothing to a job that ends in time"

# --- programs and options ---

run 127 "$rcxrun" -n 2 no-such-program-here && says "^rcxrun: program not found: no-such-program-here$" && no_files
ok $? "a missing program gives 127"

run 127 "$rcxrun" ./no/such/program && says "program not found"
ok $? "a missing path gives 127"

echo data >"$scratch/plain"
run 126 "$rcxrun" -n 2 "$scratch/plain" && says "cannot run .*: Permission denied"
ok $? "a file that is not executable gives 126"

chmod +x "$scratch/plain"
run 126 "$rcxrun" -n 2 "$scratch/plain" && says "cannot run the program: Exec format error" && nothing_left
ok $? "a file that the kernel refuses gives 126"

run 126 "$rcxrun" / && says "cannot run /: not a file"
ok $? "a folder gives 126"

bad=0
for options in "-n 0" "-n x" "-n 1000000" "-n 2 --nodes 3" "--nodes 0" "-t -1" "-t x" "-x NAME" "--what" "-q"; do
    # shellcheck disable=SC2086 # options are words
    run 2 "$rcxrun" $options true && [ -s "$err" ] || wrong
done
run 2 "$rcxrun" && says "no program given" || wrong
[ $bad -eq 0 ] && no_files
ok $? "wrong options give 2 and a message"

here=0
for options in "-H a,b -n 2" "-Ha" "--host a" "--host=a" "--hostfile f" "-host a" "-hostfile f" "--machinefile f"; do
    # shellcheck disable=SC2086 # options are words
    run 2 "$rcxrun" $options true && says "^rcxrun: -.*this machine only; .*srun, mpirun .*RCX_ROOT" || here=1
done
[ $here -eq 0 ]
ok $? "options for other machines give 2, and name what starts ranks there"
TMPDIR=/nonexistent run 1 "$rcxrun" true && says "cannot make the folder /nonexistent/rcxrun.* (TMPDIR)$"
ok $? "a TMPDIR that does not exist is named"

run 0 "$rcxrun" --help && grep -q "^Usage: rcxrun" "$out" && run 0 "$rcxrun" --version && grep -qx "rcxrun (RCX) $version" "$out"
ok $? "--help and --version work"
run 0 sh -c 'ulimit -Ss 128; "$1" -n 2 sh -c "ulimit -Ss"' sh "$rcxrun" && [ "$(sort -u "$out")" = 128 ]
ok $? "a small stack is made larger for rcxrun alone"
limited=() # root may raise limits
[ "$(id -u)" -ne 0 ] || limited=(setpriv --bounding-set -sys_resource)
if "${limited[@]}" true 2>/dev/null; then
    run 1 "${limited[@]}" sh -c 'ulimit -s 128; "$1" -n 2 true' sh "$rcxrun" && says 'ulimit -s 512'
    ok $? "a stack that must stay small is an error, and no signal"
fi
run 0 "$rcxrun" -np 2 echo here && [ "$(grep -c here "$out")" -eq 2 ] && run 2 "$rcxrun" -np && run 2 "$rcxrun" -n p true \
    && run 0 "$rcxrun" -V && grep -q "^rcxrun (RCX) " "$out"
ok $? "-np N is -n N, and -V is --version"
run 1 sh -c '"$1" -p -n 2 echo here >/dev/full' sh "$rcxrun" && says 'output of ranks could not be written' \
    && run 0 sh -c '"$1" -p -n 2 echo here | head -n 1' sh "$rcxrun" && is_silent
ok $? "output that cannot be written is an error, unless the reader has closed the pipe"

run 0 "$rcxrun" -n 2 echo -n 3 --prefix -k && [ "$(cat "$out")" = "3 --prefix -k3 --prefix -k" ]
ok $? "options after the program are the program's"

# --- output and input ---

run 0 "$rcxrun" -p -n 3 sh -c 'echo out $PMIX_RANK; echo err $PMIX_RANK >&2; printf "no newline"' \
    && lines '^\[\([0-2]\)\] out \1$' 3 && lines '^\[[0-2]\] no newline$' 3 && lines . 6 \
    && [ "$(grep -c '^\[\([0-2]\)\] err \1$' "$err")" -eq 3 ]
ok $? "--prefix marks each line of both streams, and a last partial one"

run 0 "$rcxrun" -p -n 2 sh -c 'head -c 3000000 /dev/zero | tr "\0" $PMIX_RANK; echo; seq 20000' \
    && [ "$(grep -c '^\[[01]\] [0-9]' "$out")" -eq "$(wc -l <"$out")" ] \
    && [ "$(sed -n 's/^\[0\] //p' "$out" | grep -v '^00' | grep -v '^0$' | cmp - <(seq 20000) && echo same)" = same ] \
    && [ "$(sed -n 's/^\[1\] \(1111*\)$/\1/p' "$out" | tr -d '\n' | wc -c)" -ge 3000000 ]
ok $? "--prefix keeps long lines and much output whole"

"$rcxrun" -p -n 2 yes 2>"$err" | head -n 3 >"$out"
[ "${PIPESTATUS[0]}" -eq 141 ] && lines '^\[[01]\] y$' 3 && nothing_left
ok $? "a reader that goes away ends the ranks by SIGPIPE"

echo hello | "$rcxrun" -n 3 sh -c 'echo "$PMIX_RANK $(readlink /proc/self/fd/0) $(cat)"' >"$out" 2>"$err"
grep -q "^0 pipe:.* hello$" "$out" && grep -qx "1 /dev/null " "$out" && grep -qx "2 /dev/null " "$out"
ok $? "rank 0 reads the input, the others read none"

# --- environment ---

(unset UCX_HANDLE_ERRORS && run 0 "$rcxrun" "$client" env UCX_HANDLE_ERRORS && lines '^none$' 1) \
    && (UCX_HANDLE_ERRORS=bt run 0 "$rcxrun" "$client" env UCX_HANDLE_ERRORS && lines '^bt$' 1)
ok $? "UCX_HANDLE_ERRORS is none unless it is set"

run 0 "$rcxrun" -x A_B=c=d -n 2 "$client" env A_B && lines '^c=d$' 1
ok $? "-x sets a variable"

(
    export PMIX_RANK=77 PMIX_NAMESPACE=outer PMIX_SERVER_URI2="outer.0;tcp4://127.0.0.1:1" PMI_RANK=5 PMI_SIZE=9 \
        OMPI_COMM_WORLD_SIZE=9 OMPI_COMM_WORLD_RANK=5 PRTE_X=1 SLURM_PROCID=5 SLURM_NTASKS=9 SLURM_STEP_ID=0 \
        SLURM_JOB_ID=12 PMIX_MCA_rcx_test=1
    run 0 "$rcxrun" -n 2 "$client" fence && run 0 "$rcxrun" -n 1 env && lines '^PMIX_RANK=0$' 1 && lines '^SLURM_JOB_ID=12$' 1 \
        && lines '^PMIX_MCA_rcx_test=1$' 1 && lines '^\(PMI_\|OMPI_COMM\|PRTE_\|SLURM_PROCID\|SLURM_NTASKS\|SLURM_STEP\)' 0 \
        && lines outer 0
)
ok $? "variables of an outer launcher do not reach the ranks"

run 0 "$rcxrun" -n 2 "$rcxrun" -n 3 "$client" fence && is_silent && run 0 "$rcxrun" -n 2 "$rcxrun" -n 3 sh -c 'echo $PMIX_RANK' \
    && lines '^2$' 2 && nothing_left
ok $? "rcxrun runs under rcxrun"

run 0 "$rcxrun" -b -n 3 grep Cpus_allowed_list /proc/self/status && lines '^Cpus_allowed_list:[[:space:]]*[0-9]*$' 3
ok $? "--bind pins each rank to one cpu"

# Linux divides a core among sessions first, so yielding it to a rank of another
# session would have no effect.
run 0 "$rcxrun" -n 3 sh -c 'ps -o pgid=,sid= -p $$' </dev/null &&
    [ "$(awk '{ print $1 }' "$out" | sort -u | wc -l)" -eq 3 ] && [ "$(awk '{ print $2 }' "$out" | sort -u | wc -l)" -eq 1 ]
ok $? "ranks have process groups of their own, and a session in common"

# The terminal echoes what is typed, and closes a while later.
# shellcheck disable=SC2016 # sh expands it
run 0 timeout -k 5 60 sh -c '{ echo typed; sleep 2; } | script -qec "\"$0\" -n 2 head -n 1" /dev/null' "$rcxrun" && lines '^typed' 2
ok $? "rank 0 reads the terminal that rcxrun has"

# --- nothing stays behind ---

export IS_RANK=yes # marks rcxrun and its processes from here on

# stopped_by SIGNAL STATUS
stopped_by() {
    start -n 3 "$client" sleep 600
    until_true lines '^ready' 3
    kill -"$1" "$job"
    finish
    [ $? -eq "$2" ]
}

stopped_by INT 130 && nothing_left
ok $? "Ctrl-C ends all ranks and leaves nothing"
stopped_by TERM 143 && nothing_left
ok $? "SIGTERM ends all ranks and leaves nothing"
stopped_by HUP 129 && nothing_left
ok $? "SIGHUP ends all ranks and leaves nothing"
stopped_by KILL 137 && left_soon
ok $? "kill -9 of rcxrun leaves neither processes nor files"

start -n 3 "$client" sleep 600
until_true lines '^ready' 3
kill -9 "$(sed -n 's/^ready //p' "$out" | head -1)"
finish
[ $? -eq 137 ] && says "killed by signal 9" && nothing_left
ok $? "kill -9 of a rank ends the job and leaves nothing"

# Two generations below the ranks, one of them in its own session.
family='sleep 600 & setsid sleep 600 & echo ready; wait'
start -n 2 sh -c "$family"
until_true lines '^ready' 2
kill -INT "$job"
finish
[ $? -eq 130 ] && nothing_left
ok $? "Ctrl-C ends the ranks' own children as well"

start -n 2 sh -c 'sleep 600 & echo ready; wait'
until_true lines '^ready' 2
kill -9 "$job"
finish
left_soon
ok $? "kill -9 of rcxrun ends the ranks' own children as well"

run 0 "$rcxrun" -n 2 sh -c 'sleep 600 & setsid sleep 600 & exit 0' && nothing_left
ok $? "a job that ends well leaves no children either"

left=/dev/shm/ucx_shm_posix_rcxrun_$$_left
run 137 "$rcxrun" -n 2 sh -c ': >"$0"; kill -9 $$' "$left" && [ ! -e "$left" ]
ok $? "shared memory of killed ranks is removed"

held=/dev/shm/ucx_shm_posix_rcxrun_$$_held
rm -f "$held"
sleep 600 8<>"$held" &
holder=$!
touch_it='until [ -e "$0" ]; do sleep 0.1; done; : >>"$0"; sleep 0.1; touch "$0"'
run 0 "$rcxrun" -n 1 sh -c "$touch_it" "$held" && [ -e "$held" ]
ok $? "shared memory that a process has open is kept"
kill "$holder"
wait "$holder" 2>/dev/null
run 0 "$rcxrun" -n 1 touch "$held" && [ ! -e "$held" ]
ok $? "shared memory of this job that no process has open is removed"

# Segments that do not belong to the job.
run 0 "$rcxrun" -n 2 sh -c 'ipcmk -M 4096 >"$0.$PMIX_RANK"' "$scratch/segment"
kept=0
for rank in 0 1; do
    id=$(tr -cd 0-9 <"$scratch/segment.$rank")
    ipcs -m -i "$id" >"$out" 2>&1 && kept=$((kept + 1))
    ipcrm -m "$id"
done
[ $kept -eq 2 ]
ok $? "shared memory with a key, which is the program's, is kept"

run 0 bash -c 'exec "$0" -n 2 echo hello > >(sleep 1; sed s/hello/world/ >"$1")' \
    "$rcxrun" "$scratch/sed" && sleep 2 && [ "$(grep -c world "$scratch/sed")" = 2 ]
ok $? "a process that the shell had started before it became rcxrun goes on"

# In a pid namespace: rank 0 has ended, and another process gets its process id,
# which is also the id of its process group.
cat >"$scratch/reuse" <<'EOF'
mkfifo "$2.fifo"
"$1" -k -n 2 sh -c 'if [ "$PMIX_RANK" = 0 ]; then echo $$ >"$0.pid"; else read -r x <"$0.fifo"; fi' "$2" &
rcxrun=$!
until [ -s "$2.pid" ]; do sleep 0.1; done
pid=$(<"$2.pid")
while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid
setsid sleep 600 &
[ $! = "$pid" ] || echo "$!, not $pid"
kill -9 "$rcxrun" # the processes that it leaves are killed by process group
wait "$rcxrun"
while pgrep -x rcxrun-watch >/dev/null; do sleep 0.1; done
kill "$pid" && echo alive
EOF
apart=(unshare --pid --fork --mount-proc)
if "${apart[@]}" sh -c 'echo 99 >/proc/sys/kernel/ns_last_pid' 2>"$err"; then
    run 0 "${apart[@]}" bash "$scratch/reuse" "$rcxrun" "$scratch/reused" && [ "$(cat "$out")" = alive ]
    ok $? "a process that has got the number of a rank that ended is left alone"
else
    number=$((number + 1))
    echo "ok $number - a process with the number of a rank that ended # SKIP no process ids of one's own"
fi

# --- other users ---

# another COMMAND...: as another user, with the environment of the first rank of
# the job, who may have read anything, and with the claim to be the job's user
another() {
    local variables
    mapfile -d '' -t variables < <(grep -z '^PMIX_' "/proc/$(sed -n 's/^ready //p' "$out" | head -1)/environ")
    env -i "${variables[@]}" TMPDIR=/tmp RCXRUN_CLIENT_CLAIMS=1 timeout -k 5 60 \
        setpriv --reuid=65533 --regid=65533 --clear-groups "$@" >"$scratch/another" 2>&1
}

if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65533 --regid=65533 --clear-groups true 2>"$err"; then
    chmod 755 "$scratch"
    cp "$client" "$scratch/client"
    start -k -n 2 "$client" sleep 5
    until_true lines '^ready' 2
    sentence="another user that knows all names of a job does not get in, and one line says so"
    another "$scratch/client" abort 9 0
    first=$?
    another "$scratch/client" fence
    statuses="$first $?"
    said=$(grep -c '^rcxrun_client: .*PMIx_Init' "$scratch/another")
    finish && [ "$(cat "$err")" = 'rcxrun: refused a connection of user 65533 to this job of user 0' ]
    refused=$?
    if [ $refused -eq 0 ] && [[ $statuses == *139* ]]; then
        known "PMIx 5.0.7 crashes a process that is refused" "$sentence"
    else
        [ $refused -eq 0 ] && [ "$statuses" = "90 90" ] && [ "$said" -gt 0 ]
        ok $? "$sentence"
    fi
else
    number=$((number + 1))
    echo "ok $number - another user does not get in # SKIP only root can be another user"
fi

end_tests
