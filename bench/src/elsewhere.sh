#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures RCX and its peers on this machine, with what is in this folder alone: made
# by bench_elsewhere, which says what is measured. Needs a shell and coreutils.
#
# usage: run [-o FILE] [-t SECONDS] [-r ROUNDS] [-p "RANKS..."] [-c "COLL..."]
#            [-s "BYTES..."]
#
#   -o   where to write the times (rcx_times.csv)
#   -t   time for all of it (420)
#   -r   most rounds (50)
#   -p   numbers of ranks (those of "16 8 4 2" that have a hardware thread
#        each, on cores first)
#   -c   collectives (allreduce bcast reduce barrier allgather alltoall)
#   -s   bytes of a vector or of a block (8 to 16777216); blocks of all ranks together
#        have at most 16777216
#
# Rounds go over all numbers of ranks and all libraries, in an order that rotates. No
# round begins that the time would not suffice for, except the first.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
file=rcx_times.csv budget=420 most_rounds=50 wanted=
colls="allreduce bcast reduce barrier allgather alltoall"
sizes="8 512 4096 16384 65536 262144 1048576 4194304 16777216"
seconds=0.01    # of a size
limit=60        # of a run

usage()
{
    echo "usage: $0 [-o FILE] [-t SECONDS] [-r ROUNDS] [-p \"RANKS...\"]" \
        "[-c \"COLL...\"] [-s \"BYTES...\"]" >&2
    exit 2
}

while getopts o:t:r:p:c:s: option; do
    case $option in
        o) file=$OPTARG ;;
        t) budget=$OPTARG ;;
        r) most_rounds=$OPTARG ;;
        p) wanted=$OPTARG ;;
        c) colls=$OPTARG ;;
        s) sizes=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 0 ] || usage

# A job or a shell may have set what libraries read.
for name in $(env | cut -d= -f1); do
    case $name in
        *[!A-Za-z0-9_]*) ;;
        PMI_* | PMIX_* | PRTE_* | OMPI_* | OPAL_* | MPIR_* | MPICH_* | HYDRA_* | \
            SLURM_* | UCX_* | UCC_* | RCX_* | BENCH_* | MPI_*) unset "$name" ;;
    esac
done
export UCX_HANDLE_ERRORS=none UCX_WARN_UNUSED_ENV_VARS=n
export OMPI_MCA_btl_base_warn_component_unused=0

# $variants, and launch VARIANT RANKS ARGUMENT..., which $bound bounds
# shellcheck disable=SC2034
bound="timeout -k 5 $limit"
# shellcheck source=/dev/null
. "$here/libraries"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
# libraries put sockets here, whose paths are short
export TMPDIR="$scratch"

comma() { (IFS=,; set -f; echo "$*"); }

# field NAME FILE: the value of a line "NAME : VALUE" or "NAME: VALUE"
field()
{
    while IFS=: read -r key value; do
        case $key in
            "$1" | "$1"[!a-zA-Z\ ]*)
                # without blanks around it
                set -f
                # shellcheck disable=SC2086
                echo $value
                set +f
                return
                ;;
        esac
    done <"$2" 2>/dev/null
    echo unknown
}

# The hardware threads that this process may use, or fewer by the limit of a
# container, and how many are the first one of a core.
count_cores()
{
    cores=0 threads=0 quota=max period=1
    launch limit 1 --coll barrier --time 0.001 >"$scratch/out" 2>"$scratch/err" ||
        {
            echo "$0: this machine does not run the programs:" >&2
            cat "$scratch/out" "$scratch/err" >&2
            exit 1
        }
    while read -r hash name value _ more _; do
        [ "$hash $name" != "# cores" ] || { cores=$value threads=$more; }
    done <"$scratch/out"
    if [ -r /sys/fs/cgroup/cpu.max ]; then
        read -r quota period </sys/fs/cgroup/cpu.max
    fi
    if [ "$quota" != max ] && [ $((quota / period)) -lt "$threads" ]; then
        threads=$((quota / period))
    fi
}

describe()
{
    echo "# $(field "model name" /proc/cpuinfo), $cores cores," \
        "$threads threads," \
        "$(field MemTotal /proc/meminfo) of memory, $(uname -sr)," \
        "$(date -u +%Y-%m-%d)"
    echo "# /dev/shm: $(df -h --output=size,avail /dev/shm 2>&1 | tail -n 1);" \
        "ptrace_scope $(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null ||
            echo none)"
    cat "$here/description"
    echo "p,coll,bytes,library,setting,round,seconds"
}

elapsed() { echo $(($(date +%s) - begun)); }

# rows VARIANT RANKS: append the rows of a program's output
rows()
{
    library=${1%%:*} setting=
    case $1 in *:*) setting=${1#*:} ;; esac
    while read -r one two three four; do
        case $one,$two in
            \#,coll) coll=$three ;;
            \#,version) tell_version "$library" "$three $four" ;;
            \#,*) ;;
            [0-9]*) echo "$2,$coll,$one,$library,$setting,$round,$four" ;;
        esac
    done <"$scratch/out" >>"$file"
}

told=
tell_version()
{
    case "$told" in *" $1 "*) return ;; esac
    told="$told $1 "
    echo "# $1: $2"
}

failed=
# measure VARIANT RANKS
measure()
{
    case "$failed" in *" $1@$2 "*) return ;; esac
    # where ranks share hardware threads, Open MPI's have to yield
    OMPI_MCA_mpi_yield_when_idle=$(($2 > threads))
    export OMPI_MCA_mpi_yield_when_idle
    # shellcheck disable=SC2086  # lists of words
    launch "$1" "$2" --coll "$(comma $colls)" --sizes "$(comma $sizes)" \
        --total 16777216 --time $seconds --limit $((limit - 5)) \
        >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    rows "$1" "$2"
    [ $status -ne 0 ] && [ $status -ne 3 ] || return
    failed="$failed $1@$2 "
    echo "# failed: $1, $2 ranks, round $round: status $status:" \
        "$(tail -n 3 "$scratch/err" | tr '\n' ' ')" >>"$file"
    echo "$1 with $2 ranks failed (status $status):" >&2
    tail -n 5 "$scratch/err" >&2
}

count_cores
ranks=$wanted
if [ -z "$ranks" ]; then
    for p in 16 8 4 2; do
        [ $p -gt "$threads" ] || ranks="$ranks $p"
    done
fi
[ -n "$ranks" ] || {
    echo "$0: one hardware thread only; -p 2 makes ranks share it" >&2
    exit 1
}
describe >"$file" || exit 1
begun=$(date +%s)
round=0 last=0
while [ $round -lt "$most_rounds" ]; do
    before=$(elapsed)
    [ $((before + last)) -lt "$budget" ] || break
    for p in $ranks; do
        for variant in $variants; do
            [ "$(elapsed)" -lt "$budget" ] || break 3
            printf '\rround %d, %2d ranks, %-30s %4d s ' $((round + 1)) "$p" \
                "$variant" "$(elapsed)" >&2
            measure "$variant" "$p"
        done
    done
    last=$(($(elapsed) - before))
    round=$((round + 1))
    variants="${variants#* } ${variants%% *}"
done
echo "# $round rounds in $(elapsed) s" >>"$file"
printf '\n%s: %d rounds in %d s\n' "$file" $round "$(elapsed)" >&2
