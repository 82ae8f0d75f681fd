#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# run_job.sh LAUNCHER N [NAME=VALUE...] PROGRAM [ARGUMENT...]
#
# One test in TAP: PROGRAM as N ranks under LAUNCHER exits with 0, in time, and
# prints nothing (UCX would print on stdout). LAUNCHER is one of
#
#   PATH/rcxrun        RCX's own, also with options: "PATH/rcxrun --nodes 2"
#   mpirun             Open MPI's
#   prterun            PRRTE's
#   "PATH/with_slurm srun OPTIONS"
#   alone              none, for N = 1
#
# Skipped, with the reason, if the launcher is not installed, or the machine has
# less memory than JOB_GIB in the environment. JOB_SECONDS limits the time, to
# end a hang: up to eight times as long where other programs use the cores, and
# that rcx_init waits is no failure then.

set -u

if [ $# -lt 3 ]; then
    echo "usage: $0 LAUNCHER N [NAME=VALUE...] PROGRAM [ARGUMENT...]" >&2
    exit 2
fi
read -ra launcher <<<"$1"
n=$2
shift 2

variables=()
while [[ ${1-} == [A-Z]*=* ]]; do
    export "${1?}"
    variables+=("$1")
    shift
done
what="${launcher[*]##*/} n=$n${variables[*]:+ ${variables[*]}} ${1##*/} ${*:2}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

echo "1..1"

skip() {
    echo "ok 1 - $what # SKIP $1"
    exit 0
}

gib=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
((gib >= ${JOB_GIB:-0})) || skip "needs $JOB_GIB GiB of memory, $gib are available"

# Find the mpirun of Open MPI, whatever others are installed.
find_mpirun() {
    local name
    for name in mpirun.openmpi mpirun; do
        if "$name" --version 2>/dev/null | grep -q 'Open MPI'; then
            mpirun=$name
            return 0
        fi
    done
    return 1
}

case ${launcher[0]##*/} in
mpirun)
    find_mpirun || skip "Open MPI's mpirun is not installed"
    command=("$mpirun" --map-by :oversubscribe -n "$n")
    if [ "$(id -u)" -eq 0 ]; then
        command+=(--allow-run-as-root)
    fi
    for variable in "${variables[@]}"; do
        command+=(-x "${variable%%=*}")
    done
    ;;
prterun)
    command -v prterun >/dev/null || skip "prterun is not installed"
    command=(prterun --map-by :oversubscribe -n "$n")
    if [ "$(id -u)" -eq 0 ]; then
        command+=(--allow-run-as-root)
    fi
    ;;
alone)
    command=(env)
    ;;
with_slurm)
    command=("${launcher[@]}" --mpi=pmix -n "$n")
    ;;
*)
    command=("${launcher[@]}" -n "$n")
    ;;
esac

# As many times longer as there are processes for a core.
read -r load _ </proc/loadavg
slow=$((1 + ${load%.*} / $(nproc)))
seconds=$((${JOB_SECONDS:-120} * (slow < 8 ? slow : 8)))
timeout -k 5 $seconds "${command[@]}" "$@" \
    >"$scratch/out" 2>"$scratch/err" </dev/null
status=$?
if [ $status -eq 0 ] && [ ! -s "$scratch/out" ] \
    && ! grep -qv 'rcx_init has waited [0-9.]* s: ' "$scratch/err"; then
    echo "ok 1 - $what"
    exit 0
fi
if [ $status -eq 77 ] && [ "${launcher[0]##*/}" = with_slurm ]; then
    skip "$(sed -n 's/.*skipped: //p' "$scratch/err")"
fi
if grep -q 'pmix_ifinit: unable to find network interfaces' "$scratch/err"; then
    skip "no interface has an IPv4 address, which PMIx's server needs"
fi
# Open MPI 5.0 fails if another library of the process has initialized PMIx.
if [ "${launcher[0]##*/}" = mpirun ] && [[ $* == *"neighbour_mpi rcx "* ]] \
    && "$mpirun" --version | grep -q ' 5\.0\.' && grep -q 'Returned "Not found"' "$scratch/err"; then
    echo "not ok 1 - $what # TODO Open MPI 5.0: MPI_Init() fails after PMIx_Init()"
    exit 0
fi
[ $status -ne 124 ] || echo "# did not end in $seconds seconds"
echo "# exit status $status"
sed 's/^/# stdout: /' "$scratch/out" | head -40
sed 's/^/# stderr: /' "$scratch/err" | head -40
echo "not ok 1 - $what"
exit 1
