#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rcx_abort() on one of four ranks ends the job, under each launcher: in time,
# with a status that is not 0, with its text in the output, and with no process
# left. Usage: test_abort.sh RCXRUN ABORT_MAIN

# test_abort.sh --watch FOLDER COMMAND...: exit with COMMAND's status, and print
# on stderr the ranks that still live after it. FOLDER has a file with the
# process id of each rank. Under Slurm this must run inside the job's Slurm, as
# no process outlives that.
if [ "${1-}" = --watch ]; then
    folder=$2
    "${@:3}"
    status=$?
    lives() {
        local line
        read -r line 2>/dev/null <"/proc/$1/stat" && [[ ${line##*) } != Z* ]]
    }
    for file in "$folder"/*; do
        pid=$(<"$file")
        for ((i = 0; i < 200; i++)); do # launchers need a moment
            lives "$pid" || continue 2
            sleep 0.1
        done
        echo "left: rank ${file##*/} (pid $pid)" >&2
    done
    exit $status
fi

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN ABORT_MAIN" "$@"
self=$(realpath "$0")
slurm=$(dirname "$self")/with_slurm
readonly SKIP=77 LATE=124

# ends SENTENCE LINE HOW LAUNCHER...: the job ends; LINE is what rank 2 logs
ends() {
    local -r sentence=$1 line=$2 how=$3
    local -r pids=$scratch/$number.pids
    local before=()
    shift 3
    mkdir "$pids"
    if [ "$1" = "$slurm" ]; then
        before=("$1")
        shift
    fi
    timeout -k 5 60 "${before[@]}" "$self" --watch "$pids" "$@" "$main" \
        "$how" "$pids" >"$out" 2>"$err" </dev/null
    local -r status=$?
    if [ $status -eq $SKIP ]; then
        ok 0 "$sentence # SKIP Slurm does not run here"
        return
    fi
    echo "# exit status $status"
    [ $status -ne 0 ] && [ $status -ne $LATE ] &&
        [ "$(find "$pids" -type f | wc -l)" -eq 4 ] &&
        cat "$out" "$err" | grep -q "rcx error: \[2\] $line" &&
        ! grep -q -e '^left:' -e ' rcx_abort returned' "$err"
    ok $? "$sentence"
}

says="rcx_abort: code 7: the matrix is singular$"
ends "rcxrun ends a job in which a rank calls rcx_abort" "$says" call \
    "$rcxrun" -n 4
ends "also after the world has failed" "$says" failed "$rcxrun" -n 4
ends "also from a thread beside a blocking call" "$says" thread "$rcxrun" -n 4
ends "also from a user's op" "$says" op "$rcxrun" -n 4
ends "also with code 0 and no text" "rcx_abort: code 0$" zero "$rcxrun" -n 4
ends "also where it would go on without a rank that fails" "$says" call \
    "$rcxrun" -k -n 4

mpirun=$(command -v mpirun.openmpi)
root=()
[ "$(id -u)" -ne 0 ] || root=(--allow-run-as-root)
if [ -n "$mpirun" ]; then
    ends "so does mpirun" "$says" call "$mpirun" --map-by :oversubscribe "${root[@]}" -n 4
else
    ok 0 "so does mpirun # SKIP Open MPI's mpirun is not installed"
fi
if command -v prterun >/dev/null; then
    ends "so does prterun" "$says" call prterun --map-by :oversubscribe \
        "${root[@]}" -n 4
else
    ok 0 "so does prterun # SKIP prterun is not installed"
fi
ends "so does srun, on two nodes" "$says" call "$slurm" srun -N2 -n4 --mpi=pmix

end_tests
