# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Sourced by the shell tests: their arguments, a scratch folder, the output of
# the last command in it, and TAP. What the shell has set of RCX is not what
# they test, but for TEST_LANES: which RCX_LANES ranks have.

set -u
unset "${!RCX_@}"
unset PYTHONUNBUFFERED # ranks in Python write whole lines
[ -z "${TEST_LANES-}" ] || export RCX_LANES=$TEST_LANES

# takes "NAME... [NAME]" "$@": ends the test unless it got these arguments. One that
# got RCXRUN is skipped where that starts nothing.
takes() {
    local names i
    read -ra names <<<"$1"
    local -r most=${#names[@]} optional=${1//[^[]/}
    (($# - 1 <= most && $# - 1 >= most - ${#optional})) || {
        echo "usage: $0 $1" >&2
        exit 2
    }
    for i in "${!names[@]}"; do
        [ "${names[i]}" != RCXRUN ] || has_server "${@:i+2:1}" || {
            echo "1..0 # SKIP no interface has an IPv4 address, which PMIx's server needs"
            exit 0
        }
    done
}

# has_server RCXRUN: false where PMIx's server has no IPv4 address to listen on, and
# rcxrun starts nothing.
has_server() {
    grep -qs 'host LOCAL' /proc/net/fib_trie \
        || ! "$1" -n 1 true 2>&1 | grep -q 'unable to find network interfaces'
}

scratch=$(mktemp -d)
out=$scratch/out
err=$scratch/err
trap 'rm -rf "$scratch"' EXIT
: >"$out" >"$err"

number=0
failed=0

need= # of tests/README.md, the number that ok prints

output() {
    sed 's/^/# stdout: /' "$out" | tail -30
    sed 's/^/# stderr: /' "$err" | tail -30
}

# wrong: one of the commands of a test failed, and what it printed will be replaced
wrong() {
    # shellcheck disable=SC2034 # for the test
    bad=1
    echo "# one command failed:"
    output
}

# ok STATUS SENTENCE
ok() {
    local -r sentence="${need:+need $need: }$2"
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $sentence"
    else
        echo "not ok $number - $sentence"
        output
        failed=$((failed + 1))
    fi
}

# known REASON SENTENCE: what just failed by a fault of somebody else's, which is
# seen in its output: no success, and no failure of RCX.
known() {
    number=$((number + 1))
    echo "not ok $number - $2 # TODO $1"
    grep -m 3 . "$err" | sed 's/^/# stderr: /'
}

# skip REASON SENTENCE
skip() {
    number=$((number + 1))
    echo "ok $number - $2 # SKIP $1"
}

# What UCX 1.13 does to a connection that fails may end the process by an assertion
# of its own (docs/dev/quirks.md); no rank has a word on RCX then.
failed_in_ucx() {
    grep -q -e 'uct_iface\.h:[0-9]* *Assertion .comp->count > 0. failed' \
        -e 'ucp_request\.c:[0-9]* *Assertion .*wireup\.type' \
        -e 'wireup_ep\.c:[0-9]* *Assertion .*pending_count' "$err" \
        && ! grep -q '^rank [0-9]*: ' "$err"
}

# UCX 1.13 may also abort a rank whose connection is being made, while the others
# go on and have their words.
aborted_while_connecting() {
    grep -q -e 'ucp_request\.c:[0-9]* *Assertion .*wireup\.type' \
        -e 'wireup_ep\.c:[0-9]* *Assertion .*pending_count' \
        -e 'tcp_ep\.c:[0-9]* *Assertion .*CTX_TYPE_TX' "$err"
}

# split_options WORD... -- WORD...: the words before the dashes are in options,
# those behind in rest
split_options() {
    options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    rest=("${@:2}")
}

# on_cluster COMMAND...: run with_cluster, and exit with its status; all is
# skipped if this machine does not allow it
on_cluster() {
    "$@" 2>"$err"
    local -r status=$?
    if [ $status -eq 77 ]; then
        echo "1..0 # SKIP $(sed -n 's/.*skipped: //p' "$err")"
        exit 0
    fi
    cat "$err" >&2
    exit $status
}

bound=() # a command that bounds the time of those that follow
slow=    # how many times as long as on a free core of 2020 a process takes, up to 20

# A loop may get a core at once where programs with a lower priority have it, and the
# ranks that follow do not: so the load counts, above what tests in two lanes make.

measure_slow() {
    local TIMEFORMAT=%R took i load
    read -r load _ </proc/loadavg
    took=$({ time for ((i = 0; i < 20000; i++)); do :; done; } 2>&1)
    slow=$(awk -v took="$took" -v load="$load" -v cores="$(nproc)" 'BEGIN {
        n = int(took / 0.08)
        if (n < load / cores / 2)
            n = int(load / cores / 2)
        print (n < 1 ? 1 : n > 20 ? 20 : n)
    }')
    export TEST_SLOW=$slow # for rank_limit_ns()
}

# within SECONDS: the commands that follow end in that time, or as much longer as
# the machine is slow now. A hang is a failure, not a wait.
within() {
    [ "$slow" ] || measure_slow
    bound=(timeout -k 5 $(($1 * slow)))
}

# until_true COMMAND...: polls until it succeeds, for up to a minute, so that a test is slow
# on a slow machine, but does not fail.
until_true() {
    local tenths # of a second
    for ((tenths = 0; tenths < 600; tenths++)); do
        "$@" && return 0
        sleep 0.1
    done
    echo "# never came true: $*"
    return 1
}

# said: the messages of the last command, but that rcx_init waits: a slow start says so
said() { grep -v 'rcx_init has waited [0-9.]* s: ' "$err"; }
is_silent() { [ -z "$(said)" ]; }

has_ipv4_loopback() { grep -qs '127\.0\.0\.1$' /proc/net/fib_trie; }

# run STATUS COMMAND...: true if it exits with that status.
run() {
    local -r want=$1
    shift
    "${bound[@]}" "$@" >"$out" 2>"$err" </dev/null
    local -r got=$?
    [ $got -eq "$want" ] && return 0
    echo "# $*: exit status $got, not $want"
    return 1
}

declare -A begun=()

# begin NAME COMMAND...: run it beside others, which suits what mostly sleeps.
begin() {
    local -r name=$1
    shift
    "${bound[@]}" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err" \
        </dev/null &
    begun[$name]=$!
}

# end NAME STATUS: wait for it; true if it exits with that status.
end() {
    wait "${begun[$1]}"
    local -r got=$?
    out=$scratch/$1.out
    err=$scratch/$1.err
    [ $got -eq "$2" ] && return 0
    echo "# $1: exit status $got, not $2"
    return 1
}

# The plan, and the exit status.
end_tests() {
    echo "1..$number"
    exit $((failed > 0))
}
